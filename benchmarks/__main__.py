"""Run benchmarks and compare their ratios with those stored for this processor.

    python -m benchmarks [--only NAME ...] [--sentences FILE] [--quick] [--store]

Each benchmark is a command of its own, whose output is shown as it runs. A ratio has moved if its median differs from
the stored one by more than 5 % and the ranges of the two sets of turns do not overlap. `--quick` only checks that the
benchmarks work, without a comparison. `--store` writes the ratios to benchmarks/ratios.json, with the date. Run it on
an otherwise idle machine, not in CI.
"""

import datetime
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import ratios, turns

FOLDER = Path(__file__).parent
CHECKPOINT = FOLDER.parent / "checkpoints" / "en-de.safetensors"
STORED = FOLDER / "ratios.json"
NOISE = 0.05


@dataclass(frozen=True)
class Benchmark:
    """A command line."""

    command: tuple[str, ...]  # arguments of `python`; `SENTENCES` stands for the file of sentences
    quick: tuple[str, ...] = ("--quick",)  # options for a short run
    has_ratios: bool = True  # whether it takes `--json`


SENTENCES = "SENTENCES"
REAL = ("--checkpoint", str(CHECKPOINT), "--sentences", SENTENCES)
BENCHMARKS: dict[str, Benchmark] = {
    "decoding": Benchmark(("-m", "benchmarks.decoding")),
    "decoding-37000": Benchmark(("-m", "benchmarks.decoding", "--vocab-size", "37000")),
    "decoding-opus-mt": Benchmark(("-m", "benchmarks.decoding", "--shape", "opus-mt")),
    "decoding-shipped": Benchmark(("-m", "benchmarks.decoding", *REAL)),
    "capture": Benchmark(("-m", "benchmarks.capture")),
    "analyses": Benchmark(("-m", "benchmarks.analyses")),
    "generation": Benchmark(("-m", "benchmarks.generation"), ("--number", "2", "--rounds", "1"), has_ratios=False),
    "scaling": Benchmark(("-m", "benchmarks.scaling")),
    "training": Benchmark(("-m", "benchmarks.training")),
    "lab": Benchmark(("-m", "benchmarks.lab"), ("--seeds", "1"), has_ratios=False),
    "discoveries": Benchmark(("-m", "benchmarks.discoveries"), ("--models", "1"), has_ratios=False),
    "gpu": Benchmark(("-m", "benchmarks.gpu"), has_ratios=False),
    "loader": Benchmark(("-m", "benchmarks.loader")),
    "prepare": Benchmark(("-m", "benchmarks.prepare")),
    "copying": Benchmark(("-m", "benchmarks.copying"), has_ratios=False),
    "translate_file": Benchmark(("-m", "benchmarks.translate_file", SENTENCES)),
    "app": Benchmark(("benchmarks/app.py",), ("--runs", "1"), has_ratios=False),
    "pages": Benchmark(("-m", "benchmarks.pages")),
    "load": Benchmark(
        ("-m", "benchmarks.load"), ("--sessions", "2", "--minutes", "0.1", "--pause", "1"), has_ratios=False
    ),
}


def run(name: str, sentences: Path, quick: bool) -> dict[str, list[float]]:
    """Run one benchmark and return its ratios, turn by turn.

    Raises:
        subprocess.CalledProcessError: the benchmark failed.
    """
    benchmark = BENCHMARKS[name]
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "ratios.json"
        options = [*(benchmark.quick if quick else ()), *(("--json", str(output)) if benchmark.has_ratios else ())]
        path = os.pathsep.join([str(FOLDER.parent), *filter(None, [os.environ.get("PYTHONPATH")])])
        command = [str(sentences.resolve()) if part == SENTENCES else part for part in benchmark.command]
        subprocess.run(
            [sys.executable, *command, *options], check=True, cwd=FOLDER.parent, env={**os.environ, "PYTHONPATH": path}
        )
        return json.loads(output.read_text(encoding="utf-8")) if benchmark.has_ratios else {}


def compare(before: Mapping[str, Sequence[float]], now: Mapping[str, Sequence[float]]) -> list[str]:
    """Describe each new ratio in a line: its value, the stored one, and whether it has moved."""
    lines: list[str] = []
    for name, values in now.items():
        if name not in before:
            lines.append(f"{name}: {turns.spread(values)}, new")
            continue
        verdict = "MOVED" if moved(before[name], values) else "as before"
        lines.append(f"{name}: {turns.spread(values)}, was {turns.spread(before[name])}: {verdict}")
    return lines


def moved(before: Sequence[float], now: Sequence[float]) -> bool:
    """Whether two sets of turns differ by more than `NOISE`, without overlap."""
    apart = max(before) < min(now) or max(now) < min(before)
    return apart and abs(statistics.median(now) / statistics.median(before) - 1) > NOISE


def main() -> int:
    """Run, compare and store; return the exit status."""
    parser = ratios.parser(__doc__)
    parser.add_argument("--only", nargs="+", choices=list(BENCHMARKS), default=list(BENCHMARKS), help="default: all")
    parser.add_argument("--sentences", type=Path, default=FOLDER / "sentences.txt", help="one sentence a line")
    parser.add_argument("--quick", action="store_true", help="only check that the benchmarks work")
    parser.add_argument("--store", action="store_true", help=f"write the ratios to {STORED.name}")
    arguments = parser.parse_args()
    if arguments.quick and arguments.store:
        parser.error("ratios of --quick are not meaningful: leave out --store")
    measured: dict[str, list[float]] = {}
    failed: list[str] = []
    for name in arguments.only:
        print(f"\n=== {name}: python {' '.join(BENCHMARKS[name].command)}", flush=True)
        try:
            measured.update(run(name, arguments.sentences, arguments.quick))
        except subprocess.CalledProcessError as error:
            failed.append(f"{name} ended with status {error.returncode}")
    stored = json.loads(STORED.read_text(encoding="utf-8")) if STORED.exists() else {}
    here = stored.get(ratios.processor(), {"ratios": {}})
    if not arguments.quick:
        print(f"\n=== compared with the ratios stored on {here.get('date', 'no day')} for {ratios.processor()}")
        print(*compare(here["ratios"], measured), sep="\n")
    if arguments.store:
        date = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
        kept = {name: [round(value, 4) for value in values] for name, values in {**here["ratios"], **measured}.items()}
        stored[ratios.processor()] = {"date": date, "ratios": kept}
        STORED.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
    print(*failed, sep="\n", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
