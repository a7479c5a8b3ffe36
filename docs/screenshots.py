"""Take the pictures of the app: python docs/screenshots.py

Without options: the README's picture of Heads, and one of every page in docs/pages/.
"""

import argparse
from pathlib import Path
from urllib.parse import urlencode

from playwright.sync_api import Browser, Page, expect, sync_playwright

from viz_app.pages import PAGES
from viz_app.server.launch import CHROMIUM_FLAGS, find_chromium, running_app

HERE = Path(__file__).parent
SENTENCE = "A little girl in a pink dress is climbing up a set of stairs."


def main() -> None:
    """Start the app, open a page, wait until it stands still, and save what is seen."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--page", nargs="*", help="as in the address: heads, positions, ... (default: all, and the README's picture)"
    )
    parser.add_argument(
        "--output", type=Path, default=HERE / "pages", help="folder of the pages' pictures (default: docs/pages)"
    )
    parser.add_argument("--text", default=SENTENCE)
    parser.add_argument(
        "--setting", nargs="*", default=[], metavar="NAME=VALUE", help="as in the address, such as kind=Encoder"
    )
    parser.add_argument("--size", default="1280x860", help="of the window, in pixels")
    parser.add_argument(
        "--scale", type=float, default=1.0, help="pixels of the picture for one of the window (the README's has 2)"
    )
    parser.add_argument("--whole", action="store_true", help="the whole page, however long, rather than the window")
    parser.add_argument("--dark", action="store_true")
    parser.add_argument("--checkpoint", type=Path, help="instead of the shipped one")
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    with running_app(arguments.checkpoint) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=CHROMIUM_FLAGS)
        for name in arguments.page or [name for name, _ in PAGES]:
            take(browser, address, name, arguments, arguments.output / f"{name}.png", arguments.scale)
        if not arguments.page:
            take(browser, address, "heads", arguments, HERE / "app.png", scale=2.0)
        browser.close()


def take(browser: Browser, address: str, name: str, arguments: argparse.Namespace, output: Path, scale: float) -> None:
    """Save a picture of one page."""
    width, height = map(int, arguments.size.split("x"))
    scheme = "dark" if arguments.dark else "light"
    page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme, device_scale_factor=scale)
    query = urlencode(
        [("tour", "off"), ("text", arguments.text), *(setting.split("=", 1) for setting in arguments.setting)]
    )
    page.goto(f"{address}/{'' if name == PAGES[0][0] else name}?{query}")
    wait_until_still(page)
    if arguments.whole:
        tall = page.locator(".stMain").evaluate("main => main.scrollHeight")
        page.set_viewport_size({"width": width, "height": max(height, tall)})
        wait_until_still(page)
    page.screenshot(path=output)
    page.close()
    print(output)


def wait_until_still(page: Page) -> None:
    """Until the script has run and two looks in a row see the same."""
    expect(page.locator(".stTextInput").first).to_be_visible(timeout=60_000)
    expect(page.locator(".stApp")).to_have_attribute("data-test-script-state", "notRunning", timeout=60_000)
    before = b""
    while (now := page.screenshot()) != before:
        before = now
        page.wait_for_timeout(500)


if __name__ == "__main__":
    main()
