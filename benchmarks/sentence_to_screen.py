"""Where the time goes from a sentence to the screen, at 10, 20 and 40 words.

Run it with `python benchmarks/sentence_to_screen.py`.

Encoding, decoding steps, the pass that scores the hypotheses, the one that explains the best, and the data of the
drawings are timed in this process; the time from Enter to translation and grid in headless Chromium, where the
remainder is the request's and the browser's. Run it on an otherwise idle machine.
"""

import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import ratios
import torch
from browser import GRID, SUBJECTS, heads_page, settle, waited
from playwright.sync_api import Page, sync_playwright

from core import Translator
from core.analysis.heads.mean_and_maximum import with_combined
from core.analysis.tokens.words import merge_words, without_special_tokens
from viz_app.components.attention_map import map_payload
from viz_app.components.head_grid import grid_payload
from viz_app.components.sentence_bar import sentence_payload
from viz_app.drawing.theme import LIGHT
from viz_app.server.launch import CHROMIUM_FLAGS, find_chromium
from viz_app.server.serving import set_threads
from viz_app.session.chosen_heads import default_head
from viz_app.session.models import ROOT, shipped_path
from viz_app.session.readings import Search

V = TypeVar("V")
WORDS = "The old {} from the house near the river told us that there had never been much snow in winter and that"
LENGTHS = (10, 20, 40)
COLUMNS = ("encode", "steps", "scores", "explanation", "drawing, server", "request and browser", "Enter to screen")


def sentence(subject: str, length: int) -> str:
    """A sentence of this many words."""
    words = WORDS.format(subject).split()
    return " ".join((words * (length // len(words) + 1))[:length])


def main() -> None:
    """Measure and print the table."""
    parser = ratios.parser(__doc__)
    parser.add_argument("--checkpoint", type=Path, default=shipped_path(), help="instead of the shipped one")
    parser.add_argument(
        "--runs", type=int, default=5, help=f"sentences of each length, at most {len(SUBJECTS) - 1} (default 5)"
    )
    arguments = parser.parse_args()
    set_threads()
    translator = Translator.from_checkpoint(arguments.checkpoint)
    print(f"medians in milliseconds, {torch.get_num_threads()} threads, beam {Search.beam_size}")
    print("words", "tokens", *COLUMNS, sep=" | ")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=CHROMIUM_FLAGS)
        with heads_page(browser, arguments.checkpoint, ROOT) as page:
            for length in LENGTHS:
                texts = [sentence(subject, length) for subject in SUBJECTS[: min(arguments.runs, len(SUBJECTS) - 1)]]
                rows = [(*in_process(translator, text), on_screen(page, text)) for text in texts]
                *parts, whole = (statistics.median(column) for column in zip(*rows, strict=True))
                columns = (*parts, whole - sum(parts), whole)
                tokens = statistics.median(len(translator.tokenizer.encode(text)) for text in texts)
                print(length, f"{tokens:.0f}", *(f"{1000 * column:.0f}" for column in columns), sep=" | ", flush=True)
        browser.close()


def in_process(translator: Translator, text: str) -> tuple[float, float, float, float, float]:
    """Seconds for the parts that need no browser, in the order of `COLUMNS`."""
    translator.translate(text)  # computes what all sentences share
    moments: list[float] = []
    started = time.perf_counter()
    translation, translate = timed(
        lambda: translator.translate(text, progress=lambda done, most: moments.append(time.perf_counter()))
    )
    # before the first step, and that as long as the others
    encode = moments[0] - started - (moments[-1] - moments[0]) / max(1, len(moments) - 1)
    steps = moments[-1] - started - encode
    explanation, explain = timed(lambda: translator.explain(translation.source, translation.hypotheses[0].token_ids))

    def draw() -> None:
        maps = [without_special_tokens(merge_words(attention)) for attention in explanation.maps["cross"]]
        layer, head = default_head(explanation.maps["cross"])
        sentence_payload(explanation)
        grid_payload(with_combined(maps, [(layer, head)]), LIGHT, [(layer, head)])
        map_payload(maps[layer], head, LIGHT)

    drawing = statistics.median(timed(draw)[1] for _ in range(3))
    return encode, steps, translate - encode - steps, explain, drawing


def timed(call: Callable[[], V]) -> tuple[V, float]:
    """Result of a call, and the seconds it took."""
    started = time.perf_counter()
    value = call()
    return value, time.perf_counter() - started


def on_screen(page: Page, text: str) -> float:
    """Seconds from Enter until the words and the grid of a new sentence are on the screen."""
    box = page.locator(".stMain .stTextInput input").first
    box.fill(text)
    last = text.split()[-1]
    seconds = waited(page, GRID, lambda: box.press("Enter"), f'[aria-label="Source"] .word[aria-label="{last}"]')
    settle(page)
    return seconds


if __name__ == "__main__":
    main()
