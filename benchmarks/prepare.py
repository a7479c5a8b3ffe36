"""Memory and time of `python -m train prepare` by the number of pairs, extrapolated to 36 million pairs.

    python -m benchmarks.prepare [--pairs 625000 1250000 2500000 5000000] [--extrapolate 36000000]

Prepares synthetic texts in a process each, with all filters, and samples its resident memory four times per second.
Sentences have 2 to 100 words, drawn from a lexicon of 200,000 by Zipf's law. Memory is extrapolated by a line fitted to
the peaks. Only the filter of duplicates keeps data for every pair, which it sorts at the end: its peak is measured on
synthetic hashes at full size.
"""

import multiprocessing
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks import ratios
from train.data.filters import Filters, PairFilter

LEXICON = 200_000
CHUNK = 100_000  # pairs written at once
EVERY = 0.25  # seconds between samples of the memory


def write_synthetic(folder: Path, name: str, pairs: int, seed: int) -> list[Path]:
    """Write a source and a target file."""
    random = np.random.default_rng(seed)
    words = ["".join(letters) for letters in random.choice(list("abcdefghijklmnoprstuvw"), (LEXICON, 9))]
    lexicon = np.array([word[: random.integers(1, 10)] for word in words], dtype=object)
    paths = [folder / f"{name}.{side}" for side in ("source", "target")]
    with paths[0].open("w") as source, paths[1].open("w") as target:
        for start in range(0, pairs, CHUNK):
            lengths = random.lognormal(mean=2.9, sigma=0.6, size=min(CHUNK, pairs - start)).clip(2, 100).astype(int)
            for file in (source, target):
                drawn = lexicon[np.minimum(random.zipf(1.2, lengths.sum()), LEXICON) - 1].tolist()
                ends = lengths.cumsum()
                words = (drawn[end - length : end] for end, length in zip(ends, lengths, strict=True))
                file.writelines(" ".join(each) + "\n" for each in words)
    return paths


def prepare(folder: Path, pairs: int) -> tuple[float, float]:
    """Prepare a text of this many pairs; return peak resident memory in GB, and seconds."""
    source, target = write_synthetic(folder, "train", pairs, seed=1)
    valid_source, valid_target = write_synthetic(folder, "valid", 1_000, seed=2)
    text = ["--source", str(source), "--target", str(target)]
    text += ["--valid-source", str(valid_source), "--valid-target", str(valid_target)]
    filters = ["--max-words", "100", "--max-ratio", "3", "--no-identical", "--no-duplicates"]
    began = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", "train", "prepare", str(folder / "data"), *text, *filters], stdout=subprocess.DEVNULL
    )
    peak = 0.0
    while process.poll() is None:
        peak = max(peak, resident(process.pid))
        time.sleep(EVERY)
    if process.returncode:
        raise RuntimeError(f"prepare ended with status {process.returncode}")
    return peak, time.monotonic() - began


def resident(process_id: int) -> float:
    """Return the resident memory of a process in GB, mapped files included."""
    try:
        status = Path(f"/proc/{process_id}/status").read_text(encoding="utf-8")
    except FileNotFoundError:
        return 0.0
    return next((int(line.split()[1]) / 1e6 for line in status.splitlines() if line.startswith("VmRSS")), 0.0)


def duplicate_filter_peak(pairs: int) -> float:
    """Return the peak resident memory of the filter of duplicates in GB; call it in a new process."""
    pair_filter, random = PairFilter(Filters(duplicates=True)), np.random.default_rng(1)
    for start in range(0, pairs, CHUNK):
        count = min(CHUNK, pairs - start)
        pair_filter._keep.frombytes(b"\1" * count)  # pyright: ignore[reportPrivateUsage]
        pair_filter._hashes.frombytes(random.integers(-(2**62), 2**62, count).tobytes())  # pyright: ignore[reportPrivateUsage]
    pair_filter.kept()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def main() -> None:
    """Prepare texts of increasing size and print the curve."""
    parser = ratios.parser(__doc__, "little text: only checks that it works", extrapolate=36_000_000)
    parser.add_argument("--pairs", type=int, nargs="+", default=[625_000, 1_250_000, 2_500_000, 5_000_000])
    options = parser.parse_args()
    if options.quick:
        options.pairs, options.extrapolate = [10_000, 20_000], 1_000_000
    peaks: list[float] = []
    for pairs in options.pairs:
        with tempfile.TemporaryDirectory() as folder:
            peak, seconds = prepare(Path(folder), pairs)
        peaks.append(peak)
        print(f"{pairs:>11,} pairs: {peak:.2f} GB at most, {seconds:.0f} s, {pairs / seconds:,.0f} pairs/s", flush=True)
    if len(peaks) > 1:
        slope, constant = np.polyfit(options.pairs, peaks, 1)
        at = constant + slope * options.extrapolate
        line = f"{at:.2f} GB on the line of {constant:.2f} GB and {slope * 1e9:.0f} bytes a pair"
        line = line if slope > 0 else "no line, as the peaks do not grow with the pairs"
        print(f"{options.extrapolate:>11,} pairs: {line}")
    by_pairs = zip(options.pairs, peaks, strict=True)
    ratios.save(options.json, {f"prepare, {pairs} pairs: GB at most": [peak] for pairs, peak in by_pairs})
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        peak = pool.apply(duplicate_filter_peak, (options.extrapolate,))
    print(f"{options.extrapolate:>11,} pairs: {peak:.2f} GB at most for the filter of duplicates alone")


if __name__ == "__main__":
    main()
