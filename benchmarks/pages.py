"""Every page of the app with a sentence of twenty words, beside an empty Streamlit page and one translation.

    python -m benchmarks.pages [--only NAME ...] [--runs N] [--checkpoint FILE] [--json FILE]

Each page is opened by its address in a new tab of a server that has been used before, with a sentence that it has not
seen. Two times are measured in the browser, from the request on: until the first picture is there, and until the last
change of a picture. Two ratios tell whether a page is quick, both of times of the same run, in turns:

- first: the first picture, compared with an empty Streamlit page; at most 5.
- last: the last change, compared with the page Heads, a translation with all its heads; at most 8. A page may take
  longer if it grows meanwhile, with a button to stop it: then the line says so, and it is not followed to its end.

Build one has a second line: its default training, from the click on Start to the first new picture and to its end, at
most as long as ten times the page Heads.

The server's processor time, compared with that of the page Heads, too, says the same on a shared machine.
"""

import os
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from urllib.parse import urlencode

from playwright.sync_api import Browser, sync_playwright

from benchmarks import ratios
from benchmarks.browser import SENTENCE, SUBJECTS, app_folder, new_page, server_seconds
from viz_app.page_list import VIEWS
from viz_app.server.launch import CHROMIUM_FLAGS, find_chromium, running_app

MOST_FIRST, MOST_LAST, MOST_TRAINED = 5.0, 8.0, 10.0
REFERENCE = "heads"  # a translation with all its heads
EMPTY_PAGE = 'import streamlit as st\n\nst.text("Hello")\n'
EMPTY = "an empty page"
BUILD, TRAINED = "build_one", "build_one, trained"
QUIET = 2_000  # milliseconds without a change, after which a page is finished
LONGEST, GROWN = 120, 15  # seconds to wait for a page, and for one that grows
WEATHER = (
    *("snow", "rain", "wind", "ice", "sun", "work", "food", "noise", "light", "water", "wood", "money", "time"),
    "news",
)
# Runs in the page from its beginning: notes when the first picture is there, and when pictures have changed last.
WATCH = """(() => {
  const PICTURES = "canvas, svg, iframe, img, table, .js-plotly-plot, .katex-display, .maps, [data-testid=stDataFrame]";
  const seen = (window.seen = { first: 0, last: 0, ran: 0, grew: false, shape: "" });
  const roots = (root) => [root, ...[...root.querySelectorAll("*")].flatMap((each) =>
    each.shadowRoot ? roots(each.shadowRoot) : [])];
  const large = (each) => { const box = each.getBoundingClientRect(); return box.width >= 60 && box.height >= 24; };
  const look = () => {
    const main = document.querySelector(".stMain");
    if (!main) return;
    const shapes = [];
    for (const root of roots(main)) {
      if (root.querySelector(".tokens")) continue; // the sentence
      if (root.host && large(root.host) && root.host.getBoundingClientRect().height >= 60)
        shapes.push(root.querySelectorAll("*").length); // a drawing made of elements
      for (const each of root.querySelectorAll(PICTURES)) {
        if (large(each)) shapes.push(each.tagName, each.getElementsByTagName("*").length, each.textContent.length);
      }
      for (const each of root.querySelectorAll("[data-testid=stText]")) shapes.push(each.textContent.length);
    }
    const shape = shapes.join(" ");
    if (shape && shape !== seen.shape) {
      seen.last = performance.now();
      seen.first ||= seen.last;
      seen.shape = shape;
    }
    const buttons = [...main.querySelectorAll(".stButton button")];
    const growing = buttons.some((each) => each.textContent.trim() === "Stop");
    seen.grew ||= seen.first > 0 && growing;
    const app = document.querySelector(".stApp");
    const isRunning = growing || !app || app.dataset.testScriptState !== "notRunning";
    if (isRunning) seen.ran = performance.now();
  };
  setInterval(look, 30);
})()"""


@dataclass
class Opened:
    """Times of a page, one for each turn, in seconds."""

    first: list[float] = field(default_factory=list[float])  # until the first picture
    last: list[float] = field(default_factory=list[float])  # until the last change of a picture
    cpu: list[float] = field(default_factory=list[float])  # processor time of the server
    grows: bool = False  # whether it had a picture and a button to stop at the same time

    def add(self, first: float, last: float, cpu: float, name: str) -> None:
        """Add the times of a turn, and print them."""
        for times, seconds in ((self.first, first), (self.last, last), (self.cpu, cpu)):
            times.append(seconds)
        print(f"{first:7.2f} {last:7.2f} {cpu:7.2f}  {name}", flush=True)


def main() -> None:
    """Measure, and print a line for each page."""
    parser = ratios.parser(__doc__, "one turn of two pages, to see that it works")
    names = [page.name for page in VIEWS]
    parser.add_argument("--only", nargs="+", choices=names, default=names, metavar="NAME", help="default: all pages")
    parser.add_argument("--runs", type=int, default=3, help="turns")
    parser.add_argument("--checkpoint", type=Path, help="default: the shipped one")
    arguments = parser.parse_args()
    pages, runs = (["translate"], 1) if arguments.quick else (arguments.only, arguments.runs)
    opened = measured([REFERENCE, *(name for name in pages if name != REFERENCE)], runs, arguments.checkpoint)
    print(f"\n{ratios.processor()}; load {os.getloadavg()[0]:.1f}; medians of {runs} turns, seconds\n")
    print(*table(opened), sep="\n")
    ratios.save(arguments.json, {f"pages {name}": values for name, values in of_turns(opened).items()})


def measured(names: Sequence[str], runs: int, checkpoint: Path | None) -> dict[str, Opened]:
    """Open the empty page and the pages of the app in turns, each with a sentence that is new to the server."""
    found = {name: Opened() for name in (EMPTY, *names, *([TRAINED] if BUILD in names else []))}
    texts = sentences()
    with (
        sync_playwright() as playwright,
        app_folder(EMPTY_PAGE) as folder,
        running_app(root=folder, script="main.py") as empty,
        running_app(checkpoint) as app,
    ):
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=CHROMIUM_FLAGS)
        for turn in range(-1, runs):  # the first warms up
            for name, opened in found.items():
                place = BUILD if name == TRAINED else name
                address = empty if name == EMPTY else f"{app}/{place}?{urlencode({'text': next(texts)})}"
                (train if name == TRAINED else measure)(browser, address, opened if turn >= 0 else Opened())
        browser.close()
    return found


def sentences() -> Iterator[str]:
    """Sentences of 20 words, each another one."""
    for weather, subject in product(WEATHER, SUBJECTS):
        yield SENTENCE.format(subject).replace("snow", weather)


def measure(browser: Browser, address: str, opened: Opened) -> None:
    """Open an address, and add the times until it is finished, or until `LONGEST` seconds have passed."""
    page, begun, used = new_page(browser), time.monotonic(), server_seconds(address)
    page.add_init_script(WATCH)
    page.goto(address, wait_until="commit")
    seen = page.evaluate("window.seen")
    while time.monotonic() < begun + LONGEST:
        page.wait_for_timeout(200)
        seen, now = page.evaluate("[window.seen, performance.now()]")
        if not seen["first"] and seen["ran"] and now > seen["ran"] + 2 * QUIET:  # a page of text
            seen["first"] = seen["last"] = seen["ran"]
        is_finished = seen["first"] and now > max(seen["last"], seen["ran"]) + QUIET
        if is_finished or (seen["grew"] and now > GROWN * 1000):
            break
    times = ((seen[name] or LONGEST * 1000) / 1000 for name in ("first", "last"))
    opened.grows |= seen["grew"]
    page.context.close()
    opened.add(*times, server_seconds(address) - used, address)


def train(browser: Browser, address: str, opened: Opened) -> None:
    """Train the default of Build one, and add the times from the click to the first new picture and to the end."""
    page, used = new_page(browser), server_seconds(address)
    page.add_init_script(WATCH)
    page.goto(address)
    start, pause = (page.get_by_role("button", name=name, exact=True) for name in ("Start", "Pause"))
    start.wait_for()
    page.wait_for_timeout(QUIET)  # until the heads of random weights are drawn
    begun = page.evaluate("(window.seen.first = 0, performance.now())")
    start.click()
    pause.wait_for()
    pause.wait_for(state="hidden", timeout=LONGEST * 1000)
    first, end = page.evaluate("[window.seen.first, performance.now()]")
    page.context.close()
    opened.add((first - begun) / 1000, (end - begun) / 1000, server_seconds(address) - used, f"{address}, trained")


def of_turns(opened: Mapping[str, Opened]) -> dict[str, list[float]]:
    """The two ratios of each page, turn by turn."""
    found: dict[str, list[float]] = {}
    for name, page in opened.items():
        if name != EMPTY:
            found[f"{name}, first"] = [a / b for a, b in zip(page.first, opened[EMPTY].first, strict=True)]
            found[f"{name}, last"] = [a / b for a, b in zip(page.last, opened[REFERENCE].last, strict=True)]
    return found


def table(opened: Mapping[str, Opened]) -> Iterator[str]:
    """A line for each page, those that miss a budget marked."""
    turns = of_turns(opened)
    yield f"{'':<18}{'first':>8}{'x empty':>9}{'last':>8}{'x Heads':>9}{'server':>8}{'x Heads':>9}"
    for name, page in opened.items():
        first, last, cpu = (statistics.median(each) for each in (page.first, page.last, page.cpu))
        if name == EMPTY:
            yield f"{name:<18}{first:>8.2f}{'':>9}{last:>8.2f}{'':>9}{cpu:>8.2f}"
            continue
        to_empty, to_heads = (statistics.median(turns[f"{name}, {which}"]) for which in ("first", "last"))
        of_server = cpu / statistics.median(opened[REFERENCE].cpu)
        verdict = [f"first MISSED (at most {MOST_FIRST:g})"] if to_empty > MOST_FIRST else []
        if name == TRAINED:
            verdict += [f"last MISSED (at most {MOST_TRAINED:g})"] if to_heads > MOST_TRAINED else []
        elif max(to_heads, of_server) > MOST_LAST:
            verdict.append("grows, with Stop" if page.grows else f"last MISSED (at most {MOST_LAST:g})")
        yield (
            f"{name:<18}{first:>8.2f}{to_empty:>9.2f}{last:>8.2f}{to_heads:>9.2f}{cpu:>8.2f}{of_server:>9.2f}  "
            f"{', '.join(verdict)}"
        )


if __name__ == "__main__":
    main()
