"""Take the README's picture of the app: python docs/screenshots.py"""

import argparse
from pathlib import Path
from urllib.parse import urlencode

from playwright.sync_api import Page, expect, sync_playwright

from viz_app.launch import CHROMIUM_FLAGS, find_chromium, running_app

HERE = Path(__file__).parent
SENTENCE = "A little girl in a pink dress is climbing up a set of stairs."


def main() -> None:
    """Start the app, open a page, wait until it stands still, and save what is seen."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=HERE / "app.png")
    parser.add_argument("--page", default="heads", help="as in the address: heads, positions, or nothing for Translate")
    parser.add_argument("--text", default=SENTENCE)
    parser.add_argument("--setting", nargs="*", default=[], metavar="NAME=VALUE", help="as in the address, such as kind=Encoder")
    parser.add_argument("--size", default="1280x860", help="of the window, in pixels")
    parser.add_argument("--dark", action="store_true")
    parser.add_argument("--checkpoint", type=Path, help="instead of the shipped one")
    arguments = parser.parse_args()
    width, height = map(int, arguments.size.split("x"))
    query = urlencode([("text", arguments.text), *(setting.split("=", 1) for setting in arguments.setting)])
    with running_app(arguments.checkpoint) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=CHROMIUM_FLAGS)
        scheme = "dark" if arguments.dark else "light"
        page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme, device_scale_factor=2)
        page.goto(f"{address}/{arguments.page}?{query}")
        wait_until_still(page)
        page.screenshot(path=arguments.output)
        browser.close()
    print(arguments.output)


def wait_until_still(page: Page) -> None:
    """Until the script has run and two looks in a row see the same."""
    expect(page.locator(".stSelectbox").first).to_be_visible(timeout=60_000)
    expect(page.locator(".stApp")).to_have_attribute("data-test-script-state", "notRunning", timeout=60_000)
    before = b""
    while (now := page.screenshot()) != before:
        before = now
        page.wait_for_timeout(500)


if __name__ == "__main__":
    main()
