"""Make docs/app.webp, ten seconds of the app for the README: `python docs/moving_picture.py`.

A sentence is typed and translated, three heads are selected, and the decoding steps of the last one are shown.
"""

import argparse
import io
from pathlib import Path

from PIL import Image
from playwright.sync_api import Locator, Page, expect, sync_playwright
from screenshots import HERE, wait_until_still

from viz_app.server.launch import CHROMIUM_FLAGS, find_chromium, running_app

FIRST = "A brown dog runs across the grass."
SENTENCE = "Two children are playing in the snow."
HEADS = ("L2 H2", "L5 H7", "L4 H3")
STEPS = 5
SIDEBAR = 257  # pixels, left out
SIZE = (1280, 860)
CLIP = {"x": SIDEBAR, "y": 45, "width": SIZE[0] - SIDEBAR, "height": 712}
# Screenshots have no pointer of the mouse: draw one.
POINTER = """() => {
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="20" height="24"><path fill="#1f2328" stroke="#fff"
    d="M2 1v18l4.6-4.2 3.1 7 3-1.3-3.1-6.8H16Z"/></svg>`;
  const pointer = Object.assign(document.createElement("div"), { innerHTML: svg });
  pointer.style.cssText = "position: fixed; z-index: 10000000; pointer-events: none; left: -99px";
  document.body.append(pointer);
  const follow = (event) => Object.assign(pointer.style, { left: `${event.clientX}px`, top: `${event.clientY}px` });
  document.addEventListener("mousemove", follow, { capture: true });
}"""


class Film:
    """Screenshots of a page, and how long each is shown."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.frames: list[Image.Image] = []
        self.milliseconds: list[int] = []

    def take(self, seconds: float, is_still: bool = True) -> None:
        """Add a frame, by default once the page has stopped changing."""
        if is_still:
            wait_until_still(self.page)
        picture = self.page.screenshot(clip=CLIP)  # type: ignore[arg-type]
        self.frames.append(Image.open(io.BytesIO(picture)).convert("RGB"))
        self.milliseconds.append(round(1000 * seconds))

    def point_at(self, place: Locator) -> None:
        """Move the mouse to the middle of an element."""
        place.hover()
        self.take(0.3)

    def save(self, path: Path) -> None:
        """Write an animated WebP that is repeated for ever."""
        first, *rest = self.frames
        first.save(path, save_all=True, append_images=rest, duration=self.milliseconds, lossless=True, method=6, loop=0)


def main() -> None:
    """Start the app, play the scene and save it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=HERE / "app.webp", help="default: docs/app.webp")
    parser.add_argument("--checkpoint", type=Path, help="default: the shipped one")
    arguments = parser.parse_args()
    with running_app(arguments.checkpoint) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=CHROMIUM_FLAGS)
        page = browser.new_page(
            viewport={"width": SIZE[0], "height": SIZE[1]}, color_scheme="light", reduced_motion="reduce"
        )
        page.goto(f"{address}/heads?text={FIRST}")
        wait_until_still(page)
        page.evaluate(POINTER)
        film = Film(page)
        play(film)
        browser.close()
    film.save(arguments.output)
    size, seconds = arguments.output.stat().st_size / 1e6, sum(film.milliseconds) / 1000
    print(f"{arguments.output}: {len(film.frames)} frames, {seconds:.1f} s, {size:.2f} MB")


def play(film: Film) -> None:
    """Type a sentence, select heads, and step through the translation."""
    page = film.page
    box = page.get_by_label("Sentence", exact=True)
    film.take(0.8)
    edit = page.get_by_role("button", name="Edit the sentence")
    film.point_at(edit)
    edit.click()
    box.fill("")
    words = SENTENCE.split(" ")
    for count in range(1, len(words) + 1):
        box.press_sequentially((" " if count > 1 else "") + words[count - 1])
        film.take(0.16, is_still=False)
    box.press("Enter")
    expect(page.get_by_label("Source", exact=True).get_by_role("button", name="children", exact=True)).to_be_visible()
    film.take(1.2)
    for name in HEADS:
        head = page.get_by_role("group", name="Heads", exact=True).get_by_role("button", name=name, exact=True)
        film.point_at(head)
        head.click()
        expect(page.locator(".head")).to_have_text([name])
        film.take(0.7)
    slider = page.get_by_role("slider", name="Decoding step")
    film.point_at(page.locator(".st-key-decoding-step").get_by_test_id("stSlider"))
    slider.focus()
    for _ in range(STEPS):
        slider.press("ArrowRight")
        film.take(0.5)
    film.milliseconds[-1] = 1500


if __name__ == "__main__":
    main()
