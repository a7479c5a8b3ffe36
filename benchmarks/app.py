"""Latency, traffic and memory of the app, in a browser: python benchmarks/app.py

Drives the app in headless Chromium on this machine and prints a table. Budgets are relative to measurements of the
same run: an empty Streamlit page, `import torch`, and with `--before` another checkout of the project, turn by turn.
A page that only repeats what is entered is the floor of entering a sentence. Every sentence and every clicked head is
new to the app. Run it on an otherwise idle machine, under Linux, whose /proc gives the server's memory.
"""

import statistics
import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import ratios
from browser import (
    BOX,
    GRID,
    MEGABYTE,
    SENTENCE,
    SUBJECTS,
    TrafficCounter,
    app_folder,
    browser_heap,
    click,
    echo,
    echo_page,
    enter,
    go_to,
    heads_page,
    new_page,
    server_memory,
    settle,
    waited,
)
from playwright.sync_api import Browser, sync_playwright

from core import Translator
from viz_app.page_list import VIEWS
from viz_app.server.launch import CHROMIUM_FLAGS, find_chromium, running_app
from viz_app.session.models import ROOT, shipped_path

LONG = 100  # tokens, `</s>` included
SWITCHES = 20
# budgets of the shell, as a factor of the empty page, and of the translation, in seconds more than page and torch
SHELL, TRANSLATION = 1.3, 1.5
MOST_ECHOES = 2.5  # budget from Enter to the grid, as a multiple of the echo of an empty page
EMPTY_PAGE = 'import streamlit as st\n\nst.text("Hello")\n'
PARTS = ("start", "clicks", "long", "memory")


@dataclass(frozen=True)
class Row:
    """One line of the table; rows without a budget are informative."""

    name: str
    unit: str
    values: list[float]
    budget: float | None = None
    before: list[float] | None = None  # the values of the other checkout

    def __str__(self) -> str:
        budget = "" if self.budget is None else f"{self.budget:.2f}"
        before = "" if self.before is None else f"{statistics.median(self.before):.2f}"
        median = statistics.median(self.values)
        verdict = "" if self.budget is None else "kept" if median <= self.budget else "MISSED"
        return f"{self.name:<62}{before:>8}{budget:>8}{median:>8.2f}{max(self.values):>8.2f} {self.unit:<4}{verdict}"


def main() -> None:
    """Measure all parts and print the table."""
    parser = ratios.parser(__doc__)
    parser.add_argument("--checkpoint", type=Path, help="default: the shipped one")
    parser.add_argument(
        "--before", type=Path, metavar="FOLDER", help="another checkout of the project to compare with, turn by turn"
    )
    parser.add_argument("--runs", type=int, default=7, help=f"repeats of each measurement, at most {len(SUBJECTS) - 1}")
    parser.add_argument(
        "--part", choices=PARTS, action="append", help="measure only this part; may be repeated (default: all)"
    )
    arguments = parser.parse_args()
    count, parts = min(arguments.runs, len(SUBJECTS) - 1), arguments.part or PARTS
    roots = [ROOT] + ([arguments.before.resolve()] if arguments.before else [])
    rows: list[Row] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=CHROMIUM_FLAGS)
        if "start" in parts:
            rows += cold_starts(browser, arguments.checkpoint, roots, min(5, count))
        if "clicks" in parts:
            rows += clicks(browser, arguments.checkpoint, roots, count)
        if "long" in parts or "memory" in parts:
            with running_app(arguments.checkpoint) as address:
                if "long" in parts:
                    texts = long_texts(arguments.checkpoint or shipped_path(), min(3, count))
                    rows += long_sentence(browser, address, texts)
                if "memory" in parts:
                    rows += page_switches(browser, address)
        browser.close()
    print(f"{'':<62}{'before':>8}{'budget':>8}{'median':>8}{'worst':>8}")
    print(*rows, sep="\n")


def cold_starts(browser: Browser, checkpoint: Path | None, roots: list[Path], count: int) -> list[Row]:
    """Measure the first screen, an empty page and `import torch`, in turns; pages are timed from the command on."""
    empty, torch = list[float](), list[float]()
    starts: dict[Path, list[tuple[float, float, float]]] = {root: [] for root in roots}
    for _ in range(count):
        empty.append(empty_page(browser))
        torch.append(import_torch())
        for root in roots:
            starts[root].append(cold_start(browser, checkpoint, root))
    floor, imported = statistics.median(empty), statistics.median(torch)
    budgets = (SHELL * floor, None, floor + imported + TRANSLATION)
    names = ("shell painted", "a text box that takes text", "first translation")
    rows = [
        Row("command to an empty Streamlit page, cold", "s", empty),
        Row("import torch, in a process of its own", "s", torch),
    ]
    for place, (name, budget) in enumerate(zip(names, budgets, strict=True)):
        own, *before = ([times[place] for times in starts[root]] for root in roots)
        rows.append(Row(f"command to {name}, cold", "s", own, budget, next(iter(before), None)))
    return rows


def cold_start(browser: Browser, checkpoint: Path | None, root: Path) -> tuple[float, float, float]:
    """Return the seconds from the command to frame, text box and first translation."""
    page = new_page(browser)
    started = time.perf_counter()
    with running_app(checkpoint, root) as address:
        page.goto(address, wait_until="commit")
        page.locator("#frame").wait_for()
        page.wait_for_function("() => performance.getEntriesByType('paint').length > 0")
        shell = time.perf_counter() - started
        page.locator(BOX).wait_for()
        box = time.perf_counter() - started
        page.locator(".tokens").wait_for()
        translation = time.perf_counter() - started
        page.context.close()
    return shell, box, translation


def empty_page(browser: Browser) -> float:
    """Return the seconds from the command to a page of one line, served with the app's settings."""
    page = new_page(browser)
    with app_folder(EMPTY_PAGE) as folder:
        started = time.perf_counter()
        with running_app(root=folder, script="main.py") as address:
            page.goto(address, wait_until="commit")
            page.get_by_text("Hello", exact=True).wait_for()
            seconds = time.perf_counter() - started
            page.context.close()
    return seconds


def import_torch() -> float:
    """Return the seconds for `import torch` in a new process, its start included."""
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import torch"], check=True)
    return time.perf_counter() - started


def clicks(browser: Browser, checkpoint: Path | None, roots: list[Path], count: int) -> list[Row]:
    """Measure entering a sentence of twenty words and clicking a head, in both checkouts by turns."""
    entered, run, drawn, answered = ({root: list[float]() for root in roots} for _ in range(4))
    with ExitStack() as stack:
        pages = {root: stack.enter_context(heads_page(browser, checkpoint, root)) for root in roots}
        empty, echoed = stack.enter_context(echo_page(browser)), list[float]()
        for turn, subject in enumerate(SUBJECTS[:count]):
            empty.bring_to_front()
            echoed.append(echo(empty, subject))
            settle(empty)
            for root, page in list(pages.items())[:: -1 if turn % 2 else 1]:
                page.bring_to_front()  # background pages are throttled
                shown, whole = enter(page, subject)
                entered[root].append(shown)
                run[root].append(whole)
                settle(page)
                map_drawn, whole = click(page, layer=turn % 6, head=(3 * turn + 1) % 8)
                drawn[root].append(map_drawn)
                answered[root].append(whole)
                settle(page)
    ratios = {root: [own / floor for own, floor in zip(times, echoed, strict=True)] for root, times in entered.items()}
    rows = [Row("Enter to its echo on an otherwise empty page, 20 words", "s", echoed)]
    for name, times in (
        ("Enter to translation and grid, 20 words", entered),
        ("the same, as a multiple of the echo", ratios),
        ("Enter until the page has run, 20 words", run),
        ("click to head map, 20 words", drawn),
        ("click until the page names the head, 20 words", answered),
    ):
        own, *others = (times[root] for root in roots)
        before = next(iter(others), None)
        halved = before and (times is entered or times is drawn)
        unit, budget = ("x", MOST_ECHOES) if times is ratios else ("s", None)
        rows.append(Row(name, unit, own, statistics.median(before) / 2 if before and halved else budget, before))
    return rows


def long_sentence(browser: Browser, address: str, texts: list[str]) -> list[Row]:
    """Measure the first head maps of a long sentence, and the traffic for all three kinds of attention."""
    entered, drawn, sent = (list[float]() for _ in range(3))
    for text in texts:
        page = new_page(browser)
        page.goto(address)
        page.locator(".tokens").wait_for()
        bar = page.get_by_role("group", name="Source", exact=True)
        started = time.perf_counter()
        page.locator(BOX).first.fill(text)
        page.locator(BOX).first.press("Enter")
        bar.get_by_role("button").nth(len(text.split()) - 1).wait_for()
        entered.append(time.perf_counter() - started)
        settle(page)
        received = TrafficCounter(page)
        drawn.append(waited(page, GRID, page.get_by_role("link", name="Heads", exact=True).click))
        for kind in ("Encoder", "Decoder"):
            settle(page)
            waited(page, GRID, page.locator(".stMain").get_by_text(kind, exact=True).first.click)
        settle(page)
        sent.append(received.bytes / MEGABYTE)
        page.context.close()
    return [
        Row(f"Enter to translation, {LONG} tokens", "s", entered),
        Row(f"Heads to first picture, {LONG} tokens", "s", drawn),
        Row(f"sent to the browser for all heads of three kinds, {LONG} tokens", "MB", sent, 1.0),
    ]


def long_texts(checkpoint: Path, count: int) -> list[str]:
    """Return sentences of at most `LONG` tokens of this model."""
    tokenizer = Translator.from_checkpoint(checkpoint).tokenizer
    texts: list[str] = []
    for subject in SUBJECTS[:count]:
        words = f"{SENTENCE.format(subject)} and ".split() * (LONG // 10)
        while len(tokenizer.encode(" ".join(words))) >= LONG:
            words.pop()
        texts.append(" ".join(words))
    return texts


def page_switches(browser: Browser, address: str) -> list[Row]:
    """Measure memory growth over page switches, after opening every page once."""
    page = new_page(browser)
    page.goto(f"{address}/heads")
    page.locator(".tokens, .grid").first.wait_for()
    devtools = page.context.new_cdp_session(page)
    names = [each.name for each in VIEWS]
    for name in names:
        go_to(page, name)
    server, heap = server_memory(address), browser_heap(devtools)
    for switch in range(SWITCHES):
        go_to(page, names[switch % len(names)])
    grown = {"server's memory": server_memory(address) - server, "page's heap": browser_heap(devtools) - heap}
    page.context.close()
    return [Row(f"growth of the {name} over {SWITCHES} page switches", "MB", [by], 5.0) for name, by in grown.items()]


if __name__ == "__main__":
    main()
