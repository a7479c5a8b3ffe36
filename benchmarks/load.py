"""Load of a class: many visitors of one app at once, without browsers.

    python -m benchmarks.load [--sessions 30] [--heavy 4] [--minutes 20] [--pause 10] [--checkpoint FILE]

Every visitor enters a sentence of their own, looks at its heads, at one head and at the alignment, and enters the next
one, with pauses between. Heavy visitors enter sentences of eighty words, search with a wide beam, and open one analysis
after the other without a pause: how long the others wait is measured without them and then with them. Measured are the
seconds from a request to the end of its answer, and the memory of the server. Errors and answers about another
visitor's sentence are counted. The requests go to an app on this machine, which the command starts; the processor time
of the visitors themselves is part of the load.
"""

import argparse
import itertools
import json
import random
import statistics
import threading
import time
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks import ratios
from benchmarks.browser import SENTENCE, SUBJECTS, server_memory
from benchmarks.session import Session
from core import Translator
from viz_app.components.sentence_bar import sentence_payload
from viz_app.server.launch import running_app
from viz_app.session.models import shipped_path

SENTENCES = 40  # of each visitor, who begins again after the last one
# name of each interaction, and the page with its settings
INTERACTIONS: dict[str, dict[str, str]] = {
    "a sentence": {"page": ""},
    "page Heads": {"page": "heads"},
    "another head": {"page": "heads", "heads_cross": "L2 H3"},
    "page Alignment": {"page": "alignment"},
}
HEAVY: tuple[dict[str, str], ...] = (
    {"page": "", "beam_size": "16"},
    *({"page": page} for page in ("contributions", "contrast", "lens", "patching", "head_paths", "score_components")),
)


class Load:
    """Visitors of an app at an address, until a time."""

    def __init__(self, address: str, sources: dict[str, object], end: float, pause: float) -> None:
        self.seconds: dict[str, list[float]] = defaultdict(list)  # of the answers of each interaction
        self.errors: list[str] = []
        self.mixed = 0  # number of answers about another sentence than that of the visitor
        self._address, self._sources, self._end, self._pause = address, sources, end, pause
        self._lock = threading.Lock()

    def visit(self, number: int) -> None:
        """Act as one visitor until the time is up."""
        generator = random.Random(number)
        time.sleep(generator.uniform(0, self._pause))
        try:
            with Session(self._address) as session:
                for step in range(10**9):
                    text = sentence(number, step % SENTENCES)
                    for name, settings in INTERACTIONS.items():
                        if time.monotonic() > self._end:
                            return
                        self._measure(session, name, text, settings)
                        time.sleep(generator.uniform(0.5, 1.5) * self._pause)
        except Exception as error:  # every error counts
            with self._lock:
                self.errors.append(f"visitor {number}: {error!r}")

    def burden(self, number: int) -> None:
        """Act as one heavy visitor until the time is up."""
        with Session(self._address) as session:
            for step, settings in enumerate(itertools.cycle(HEAVY)):
                if time.monotonic() > self._end:
                    return
                try:
                    session.run(text=" ".join([sentence(number, step // len(HEAVY))] * 4), **settings)
                except Exception as error:  # every error counts
                    with self._lock:
                        self.errors.append(f"heavy visitor {number}, {settings}: {error!r}")
                    return

    def _measure(self, session: Session, name: str, text: str, settings: dict[str, str]) -> None:
        started = time.perf_counter()
        session.run(text=text, **settings)
        seconds = time.perf_counter() - started
        shown = session.words()
        assert isinstance(shown, dict)
        with self._lock:
            self.seconds[name].append(seconds)
            self.mixed += shown["source"] != self._sources[text]


def sentence(visitor: int, number: int) -> str:
    """A sentence of twenty words and two numbers that no other visitor enters."""
    return f"{SENTENCE.format(SUBJECTS[number % len(SUBJECTS)])} {visitor} {number}"


def source_payloads(checkpoint: Path, sessions: int) -> dict[str, object]:
    """Source words of each sentence, as the app's sentence bar gets them."""
    translator = Translator.from_checkpoint(checkpoint)
    texts = [sentence(visitor, number) for visitor in range(sessions) for number in range(SENTENCES)]
    payloads = (sentence_payload(translator.explain(text, ())) for text in texts)
    return {text: json.loads(json.dumps(payload["source"])) for text, payload in zip(texts, payloads, strict=True)}


def table(seconds: dict[str, list[float]]) -> str:
    """Count, median, 95th percentile and maximum of each interaction."""
    lines = [f"{'':<16}{'count':>8}{'p50':>8}{'p95':>8}{'max':>8} s"]
    for name, values in seconds.items():
        p95 = statistics.quantiles(values, n=20, method="inclusive")[-1] if len(values) > 1 else values[0]
        lines.append(f"{name:<16}{len(values):>8}{statistics.median(values):>8.2f}{p95:>8.2f}{max(values):>8.2f}")
    return "\n".join(lines)


def loaded(
    address: str, sources: dict[str, object], options: argparse.Namespace, first: int, heavy: int
) -> tuple[Load, list[float]]:
    """Let visitors, of whom the first has a number that the app does not know yet, use it, some of them heavy; return
    what they measured, and the memory of the server in MB.
    """
    load = Load(address, sources, time.monotonic() + 60 * options.minutes, options.pause)
    memory: list[float] = []
    with ThreadPoolExecutor(options.sessions + heavy) as pool:
        last = first + options.sessions
        visits = [pool.submit(load.visit, number) for number in range(first, last)]
        visits += [pool.submit(load.burden, last + number) for number in range(heavy)]
        while any(visit.running() for visit in visits):
            memory.append(server_memory(address))
            time.sleep(min(5.0, 6 * options.minutes))
    return load, memory


def report(load: Load, memory: Sequence[float]) -> None:
    """Print what visitors measured."""
    print(table(load.seconds))
    cuts = [len(memory) * part // 4 for part in range(5)]
    parts = [statistics.median(memory[start : max(stop, start + 1)]) for start, stop in itertools.pairwise(cuts)]
    print("memory of the server in the four quarters of the time:", ", ".join(f"{part:.0f}" for part in parts), "MB")
    print(f"{len(load.errors)} errors, {load.mixed} answers about another visitor's sentence", *load.errors, sep="\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the load and print the table; return 1 after an error or a mixed answer."""
    parser = ratios.parser(__doc__)
    parser.add_argument("--sessions", type=int, default=30, help="number of visitors")
    parser.add_argument("--heavy", type=int, default=0, help="number of heavy visitors beside them (default: none)")
    parser.add_argument("--minutes", type=float, default=20.0, help="duration")
    parser.add_argument(
        "--pause", type=float, default=10.0, help="mean seconds between an answer and the next request (default: 10)"
    )
    parser.add_argument("--checkpoint", type=Path, help="default: the shipped one")
    options = parser.parse_args(arguments)
    turns = [(0, 0), (options.sessions, options.heavy)][: 2 if options.heavy else 1]  # first visitor, heavy ones
    sources = source_payloads(options.checkpoint or shipped_path(), options.sessions * len(turns))
    loads: list[Load] = []
    with running_app(options.checkpoint) as address:
        for first, heavy in turns:
            print(f"{options.sessions} visitors, {heavy} heavy ones beside them")
            load, memory = loaded(address, sources, options, first, heavy)
            report(load, memory)
            loads.append(load)
    if options.heavy:
        alone, beside = loads
        for name, seconds in alone.seconds.items():
            ratio = statistics.median(beside.seconds[name]) / statistics.median(seconds)
            print(f"{name:<16} takes {ratio:.1f} times as long beside heavy visitors, by the medians")
    return int(any(load.errors or load.mixed for load in loads))


if __name__ == "__main__":
    raise SystemExit(main())
