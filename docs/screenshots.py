"""Take screenshots of the app: python docs/screenshots.py

Without options: docs/app.png (Heads) and one of every page in docs/pages/. With --static-page: docs/static_page.png.
"""

import argparse
import tempfile
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlencode

from PIL import Image
from playwright.sync_api import Browser, Page, TimeoutError, expect, sync_playwright

from viz_app.page_list import VIEWS
from viz_app.server.launch import CHROMIUM_FLAGS, find_chromium, running_app
from viz_app.session.address import FIRST_EXAMPLE
from web.build import build

HERE = Path(__file__).parent
TRAINED = {"build_one": {"lab_part": "no_causal_mask", "lab_steps": "200"}}  # settings of a training to be finished
BUSY = {"build_one": "Pause", "discoveries": "Stop"}  # the button of a computation that is waited for
SHOWN = {"exercises": {"exercise": "mask", "exercise_answer": "9", "exercise_checked": "mask 9"}}


def main() -> None:
    """Start the app and save a screenshot of each page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--page", nargs="*", help="names as in the address: heads, positions, ... (default: all, and docs/app.png)"
    )
    parser.add_argument("--output", type=Path, default=HERE / "pages", help="output folder (default: docs/pages)")
    parser.add_argument("--text", default=FIRST_EXAMPLE, help="the sentence (default: %(default)s)")
    parser.add_argument(
        "--setting", nargs="*", default=[], metavar="NAME=VALUE", help="as in the address, such as kind=Encoder"
    )
    parser.add_argument("--size", default="1280x860", help="size of the window, in pixels (default: %(default)s)")
    parser.add_argument(
        "--scale", type=float, default=1.0, help="device scale factor (default: %(default)s; docs/app.png has 2)"
    )
    parser.add_argument("--whole", action="store_true", help="the whole page instead of the window")
    parser.add_argument("--dark", action="store_true", help="dark colour scheme (default: light)")
    parser.add_argument("--checkpoint", type=Path, help="default: the shipped one")
    parser.add_argument("--static-page", action="store_true", help="the static page alone")
    arguments = parser.parse_args()
    if arguments.static_page:
        take_static_page(HERE / "static_page.png")
        return
    arguments.output.mkdir(parents=True, exist_ok=True)
    with running_app(arguments.checkpoint) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=CHROMIUM_FLAGS)
        for name in arguments.page or [each.name for each in VIEWS]:
            take(browser, address, name, arguments, arguments.output / f"{name}.png", arguments.scale)
        if not arguments.page:
            take(browser, address, "heads", arguments, HERE / "app.png", scale=2.0)
        browser.close()


def take(browser: Browser, address: str, name: str, arguments: argparse.Namespace, output: Path, scale: float) -> None:
    """Save a screenshot of one page."""
    width, height = map(int, arguments.size.split("x"))
    scheme = "dark" if arguments.dark else "light"
    page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme, device_scale_factor=scale)
    query = urlencode(
        [
            ("text", arguments.text),
            *(TRAINED | SHOWN).get(name, {}).items(),
            *(setting.split("=", 1) for setting in arguments.setting),
        ]
    )
    page.goto(f"{address}/{'' if name == VIEWS[0].name else name}?{query}")
    wait_until_still(page)
    if name in TRAINED:
        page.get_by_role("button", name="Start").click()
    if name in BUSY:
        busy = page.get_by_test_id("stMain").get_by_role("button", name=BUSY[name])
        with suppress(TimeoutError):  # it may be done by now
            busy.wait_for(timeout=5_000)
        busy.wait_for(state="detached", timeout=600_000)
        wait_until_still(page)
    if arguments.whole:
        tall = page.locator(".stMain").evaluate("main => main.scrollHeight")
        page.set_viewport_size({"width": width, "height": max(height, tall)})
        wait_until_still(page)
    page.screenshot(path=output)
    page.close()
    compress(output)
    print(output)


def take_static_page(output: Path) -> None:
    """Save a screenshot of the static page, of the size of a preview of links."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        build(Path(folder), ["en-de", "multi30k", "en-fr"])
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=CHROMIUM_FLAGS)
        page = browser.new_page(viewport={"width": 1440, "height": 756}, locale="en")
        page.goto(Path(folder, "headlight.html").as_uri())
        expect(page.locator(".notice")).to_be_visible(timeout=60_000)
        page.screenshot(path=output)
        browser.close()
    compress(output, (1200, 630))


def compress(output: Path, size: tuple[int, int] | None = None) -> None:
    """Write a picture again with 128 colours, which is a third of the bytes."""
    picture = Image.open(output).convert("RGB")
    resized = picture.resize(size, Image.Resampling.LANCZOS) if size else picture
    resized.quantize(128, dither=Image.Dither.NONE).save(output, optimize=True)


def wait_until_still(page: Page) -> None:
    """Wait until the script has run and two screenshots in a row are equal."""
    expect(page.get_by_test_id("stMainBlockContainer")).to_be_visible(timeout=60_000)
    # Before the script runs the state is notRunning as well; the sidebar's boxes are drawn by it.
    expect(page.get_by_test_id("stSidebar").get_by_test_id("stSelectbox").first).to_be_attached(timeout=60_000)
    expect(page.locator(".stApp")).to_have_attribute("data-test-script-state", "notRunning", timeout=60_000)
    before = b""
    while (now := page.screenshot()) != before:
        before = now
        page.wait_for_timeout(500)


if __name__ == "__main__":
    main()
