"""Speed of `python -m core translate` with one process per core, beside a single process with one thread per core.

    python -m benchmarks.translate_file source.txt [--lines 2000] [--rounds 2] [--quick]

Both translate the first lines of a file with the shipped checkpoint and beam 4. A file with fewer lines is extended by
pairs of its sentences, so that start-up time does not dominate. They take turns, so that other load affects both alike.
Times are of the whole command, loading the model included.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import chain, islice, product
from pathlib import Path

from benchmarks import ratios, turns
from core.text.text_files import read_text, split_lines

CORES = len(os.sched_getaffinity(0))
SIDES = {  # options, threads of each process
    "processes": (["--workers", str(CORES)], 1),
    "threads": (["--workers", "1"], CORES),
}


def seconds(side: str, checkpoint: Path, source: Path, output: Path) -> float:
    """Translate once and return the seconds it took."""
    arguments, threads = SIDES[side]
    output.unlink(missing_ok=True)
    files = "--checkpoint", checkpoint, "--input", source, "--output", output
    command = [sys.executable, "-m", "core", "translate", *files, *arguments]
    began = time.perf_counter()
    subprocess.run(command, check=True, env={**os.environ, "OMP_NUM_THREADS": str(threads)}, stderr=subprocess.DEVNULL)
    return time.perf_counter() - began


def main() -> None:
    """Run both sides in turns, and print the speeds, their ratio, and the number of differing lines."""
    parser = ratios.parser(__doc__, "16 lines and one round: only checks that it works", lines=2000, rounds=2)
    parser.add_argument("source", type=Path, help="one sentence a line")
    parser.add_argument("--checkpoint", type=Path, default=Path("checkpoints/en-de.safetensors"))
    options = parser.parse_args()
    if options.quick:
        options.lines, options.rounds = 16, 1
    times: dict[str, list[float]] = {side: [] for side in SIDES}
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "source.txt"
        sentences = split_lines(read_text(options.source))
        pairs = (f"{first} {second}" for first, second in product(sentences, repeat=2))
        lines = islice(chain(sentences, pairs), options.lines)
        source.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        for _ in range(options.rounds):
            for side in SIDES:
                times[side].append(seconds(side, options.checkpoint, source, Path(folder) / side))
        outputs = [(Path(folder) / side).read_bytes().splitlines() for side in SIDES]
    count = len(outputs[0])
    for side, each in times.items():
        rate = f"{count / statistics.median(each):6.1f} lines/s"
        print(f"{CORES} {side:<10} {rate} ({min(each):.1f} to {max(each):.1f} s)")
    per_turn = [threads / processes for processes, threads in zip(*times.values(), strict=True)]
    print(f"processes are {turns.spread(per_turn)} times as fast; {ratios.processor()}")
    print(f"{sum(a != b for a, b in zip(*outputs, strict=True))} of {count} lines differ")
    ratios.save(options.json, {"core translate: processes / threads": per_turn})


if __name__ == "__main__":
    main()
