"""Time and memory of beam search over sentence, beam, batch and vocabulary.

    python -m benchmarks.scaling [--preset en-de] [--axis length beam batch vocabulary] [--threads 1] [--quick]

Along each axis one size grows and the others stay. Beside every time stands the local exponent: from one row to the
next it grew as size^exponent. A translation has as many tokens as its source, so along `length` the number of steps
grows with it, and 2 is the limit for attention alone. An exponent that jumps is a cliff: look for its reason. Random
weights, `</s>` excluded. Every row has a process of its own; memory is its peak beyond that before the search.
"""

import itertools
import math
import multiprocessing
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

import torch

from benchmarks import ratios
from core import PRESETS, Transformer
from core.decoding import SearchOptions, beam_search
from core.inference.shared_model import SharedModel
from train.runs.checkpointing import peak_memory


@dataclass(frozen=True)
class Size:
    """Sizes of one search; `length` counts the tokens of the source, and of the translation."""

    length: int = 64
    beam: int = 4
    batch: int = 1
    vocabulary: int = 8_000


AXES: dict[str, tuple[int, ...]] = {
    "length": (32, 64, 128, 256, 512, 1024),
    "beam": (1, 2, 4, 8, 16, 21),
    "batch": (1, 2, 4, 8, 16, 32, 64),
    "vocabulary": (4_000, 8_000, 16_000, 32_000, 64_000),
}


def measure(preset: str, size: Size, threads: int, repeats: int) -> tuple[float, float]:
    """Search `repeats` times in a fresh process; return the fastest search's seconds, and megabytes at its peak."""
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    config = replace(PRESETS[preset], vocab_size=size.vocabulary, positions="sinusoidal")
    model = Transformer(config).half().float().requires_grad_(False)
    shared = SharedModel(model, "exact")
    generator = torch.Generator().manual_seed(0)
    sources = torch.randint(3, size.vocabulary, (size.batch, size.length), generator=generator).tolist()
    options = SearchOptions(
        bos_id=config.bos_id, eos_id=config.eos_id, never=(config.pad_id, config.eos_id), beam_size=size.beam
    )

    @torch.inference_mode()
    def search(num_tokens: int) -> float:
        began = time.perf_counter()
        hypotheses = beam_search(shared.next_logits(sources), [num_tokens] * size.batch, options)
        assert all(len(best.token_ids) == num_tokens for (best,) in hypotheses)
        return time.perf_counter() - began

    search(2)  # warm-up: work that is done once for all searches
    before = peak_memory(model.device)
    seconds = min(search(size.length) for _ in range(repeats))
    return seconds, (peak_memory(model.device) - before) / 2**20


def exponents(values: Mapping[int, float]) -> list[float]:
    """Local growth exponents: from each row to the next, value ~ size^exponent.

    NaN for the first row, and where a value is not positive.
    """
    pairs = list(values.items())
    return [math.nan] + [
        math.log(value / value_before) / math.log(size / size_before) if value > 0 and value_before > 0 else math.nan
        for (size_before, value_before), (size, value) in itertools.pairwise(pairs)
    ]


def main() -> None:
    """Print a table for each axis."""
    parser = ratios.parser(__doc__, "the first three rows of each axis, one search each", threads=1)
    parser.add_argument("--preset", choices=sorted(PRESETS), default="en-de")
    parser.add_argument("--axis", nargs="+", choices=list(AXES), default=list(AXES), help="default: all")
    parser.add_argument("--repeats", type=int, default=3, help="searches, the fastest counts")
    arguments = parser.parse_args()
    measured: dict[str, list[float]] = {}
    print(f"{arguments.preset}, {arguments.threads} threads; elsewhere {Size()}; {ratios.processor()}")
    for axis in arguments.axis:
        sizes = AXES[axis][:3] if arguments.quick else AXES[axis]
        rows: dict[int, tuple[float, float]] = {}
        for number in sizes:
            size = replace(Size(), **{axis: number})
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                repeats = 1 if arguments.quick else arguments.repeats
                rows[number] = pool.apply(measure, (arguments.preset, size, arguments.threads, repeats))
        in_time = exponents({number: seconds for number, (seconds, _) in rows.items()})
        in_memory = exponents({number: megabytes for number, (_, megabytes) in rows.items()})
        print(f"\n{axis:>10}  {'seconds':>8}  exponent  {'MB':>7}  exponent")
        for (number, (seconds, megabytes)), *powers in zip(rows.items(), in_time, in_memory, strict=True):
            time_power, memory_power = ("        " if math.isnan(power) else f"{power:8.2f}" for power in powers)
            print(f"{number:>10}  {seconds:8.3f}  {time_power}  {megabytes:7.1f}  {memory_power}", flush=True)
        measured[f"scaling over {axis}: greatest exponent of time"] = [max(in_time[1:])]
    ratios.save(arguments.json, measured)


if __name__ == "__main__":
    main()
