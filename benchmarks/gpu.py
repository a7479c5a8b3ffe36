"""Checks and timings on a GPU: every command against the CPU, decoding, and training.

    python -m benchmarks.gpu [--quick] [--part commands attention decoding training ...] [--device cuda]

`commands` runs the commands of `core` on both devices and compares what they print: words as they are, numbers within
`TOLERANCE`. `attention` times one forward and backward of `train.packed.packed_attention`, at the first call with a
shape and at later ones. `decoding` translates sentences in float32 and bfloat16, in batches of 1, 32 and 256.
`training` times steps on padded batches, on packed ones, and on packed ones with compiled layers: target tokens a
second, their share of the speed that a large product reaches here, seconds to the first step, and memory. Lengths of
sentences are synthetic, distributed as in real text. `--quick` takes less than 150 seconds on a GPU; `--device cpu`
shows that all of it works.
"""

import contextlib
import io
import math
import os
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from unittest.mock import patch

import numpy as np
import torch

from benchmarks import ratios
from core.cli import commands
from core.inference.device import DEVICE_VARIABLE, best_device
from core.model.config import TransformerConfig
from core.model.preset_configs import PRESETS
from core.translator import Translator
from train.data.batches import cut
from train.data.packed_batch import PackedBatch, PackedShape
from train.data.token_shards import Batch, Side, make_batch_of
from train.distributed import World
from train.packed import Sentences, packed_attention
from train.recipe import Recipe
from train.runs.checkpointing import autocast, peak_memory
from train.runs.training_state import Training

FOLDER = Path(__file__).parent
CHECKPOINT = FOLDER.parent / "checkpoints" / "multi30k.safetensors"
SENTENCES = FOLDER / "sentences.txt"
TEXT, OTHER, TARGET = "A little girl laughs.", "A little boy laughs.", "Ein kleines Mädchen lacht."
HISTORY = FOLDER.parent / "checkpoints" / "multi30k.history.zip"
EXPLANATION, INDEX = "explanation.json", "index.corpus.npz"
TOLERANCE = 1e-3  # absolute, and relative for numbers above 1: commands print few digits
NUMBER = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")
VOCAB_SIZE = 8_000
LONGEST = 256
MODES = {"padded": ("longest", False), "packed": ("packed", False), "packed, compiled": ("packed", True)}
Row = tuple[str, ...]


@dataclass(frozen=True)
class Size:
    """How much work the timings have."""

    preset: str
    batch_tokens: int
    steps: int
    batches: tuple[int, ...]
    product: int  # rows and columns of the product that measures the device's speed


LARGE = Size("base", 25_000, 60, (1, 32, 256), 8_192)
QUICK = replace(LARGE, steps=25, batches=(1, 32))
SMALL = Size("tiny", 400, 2, (1, 4), 256)  # for a CPU


# --- commands -------------------------------------------------------------------------------------------------------


def command_lines(folder: Path) -> dict[str, list[str]]:
    """Arguments of `python -m core`, by name."""
    model, text = ["--checkpoint", str(CHECKPOINT)], ["--text", TEXT]
    lines, pair = folder / "lines.txt", folder / "pair.txt"
    lines.write_text(f"{TEXT}\n{OTHER}\n", encoding="utf-8")
    pair.write_text(f"{TARGET}\nEin kleiner Junge lacht.\n", encoding="utf-8")
    links = folder / "links.txt"
    links.write_text("0-0 1-1 2-2 3-3\n0-0 1-1 2-2 3-3\n", encoding="utf-8")
    both = ["--source", str(lines), "--target", str(pair)]
    return {
        "translate": ["translate", *model, "--input", str(lines)],
        "score": ["score", *model, "--input", str(lines)],
        "lens": ["lens", *model, *text],
        "attribute": ["attribute", *model, *text, "--token", "2"],
        "contributions": ["contributions", *model, *text, "--token", "2"],
        "lexicon": ["lexicon", *model, *text],
        "patch": ["patch", *model, *text, "--corrupted", OTHER, "--token", "2"],
        "paths": ["paths", *model, *text, "--token", "2"],
        "cut": ["cut", *model, *text, "--find", "1"],
        "step": ["step", *model, *text, "--token", "2"],
        "align": ["align", *model, *both, "--gold", str(links)],
        "faithfulness": ["faithfulness", *model, "--input", str(lines)],
        "explain": ["explain", *model, *text, "-o", str(folder / EXPLANATION)],
        "corpus": ["corpus", *model, "--input", str(lines), "-o", str(folder / INDEX)],
        "over-training": ["over-training", "--history", str(HISTORY), *text, "--score", "confidence"],
    }


def outputs(device: str) -> Iterator[tuple[str, str]]:
    """Yield the name of each command and its output on a device."""
    with patch.dict(os.environ, {DEVICE_VARIABLE: device}), tempfile.TemporaryDirectory() as folder:
        for name, arguments in command_lines(Path(folder)).items():
            written, errors = io.BytesIO(), io.StringIO()
            printed = io.TextIOWrapper(written, "utf-8")
            with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(errors):
                status = commands.main(arguments)
            printed.flush()
            text = _written_file(Path(folder)) or written.getvalue().decode()
            yield name, text if status == 0 else f"status {status}: {errors.getvalue().strip()}"


def _written_file(folder: Path) -> str:
    """Return the text of the file that a command has written, if any, and remove the file."""
    text, explanation, index = "", folder / EXPLANATION, folder / INDEX
    if explanation.exists():
        text = explanation.read_text(encoding="utf-8")
        explanation.unlink()
    if index.exists():
        with np.load(index) as arrays:
            floats = [arrays[name] for name in sorted(arrays) if arrays[name].dtype.kind == "f"]
        text = "\n".join(" ".join(f"{number:.6f}" for number in array.flat) for array in floats)
        index.unlink()
    return text


def difference(one: str, two: str) -> str:
    """Say how two outputs differ: not at all, in numbers within the tolerance, or more."""
    if one.startswith("status ") or two.startswith("status "):
        return f"FAILED: {one if one.startswith('status ') else two}"
    words = [NUMBER.sub("#", text) for text in (one, two)]
    if words[0] != words[1]:
        return "DIFFERENT WORDS"
    pairs = [tuple(map(float, both)) for both in zip(NUMBER.findall(one), NUMBER.findall(two), strict=True)]
    largest = max((abs(a - b) / max(1.0, abs(a)) for a, b in pairs), default=0.0)
    return f"{'same' if largest <= TOLERANCE else 'DIFFERENT NUMBERS'}, {len(pairs)} numbers within {largest:.1e}"


def compare_commands(device: torch.device, _: Size) -> list[Row]:
    """Compare the output of each command on the CPU and on the device."""
    on_cpu = dict(outputs("cpu"))
    return [(f"core {name}", difference(on_cpu[name], text)) for name, text in outputs(str(device))]


# --- speed ----------------------------------------------------------------------------------------------------------


def seconds(device: torch.device, function: Callable[[], object]) -> float:
    """Seconds of a call, until the device has finished."""
    began = time.perf_counter()
    function()
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter() - began


def median_seconds(device: torch.device, function: Callable[[], object], times: int) -> float:
    """Median seconds of several calls, after one that is not counted."""
    seconds(device, function)
    return statistics.median(seconds(device, function) for _ in range(times))


def random_sides(rows: int, count: int) -> tuple[Side, Side]:
    """Random ids of `count` pairs whose lengths are distributed as those of sentences."""
    random = np.random.default_rng(rows)
    targets = random.lognormal(math.log(18), 0.55, count).clip(3, 120).astype(int)
    sources = (targets * random.normal(1.0, 0.15, count)).clip(3, 120).astype(int)
    source, target = ((random.integers(3, VOCAB_SIZE, int(lengths.sum())), lengths) for lengths in (sources, targets))
    return source, target


def batches(size: Size, packed: bool) -> list[Batch | PackedBatch]:
    """Batches of the size's tokens a side."""
    source, target = random_sides(size.batch_tokens, max(40, size.batch_tokens // 4))
    lengths = np.stack([source[1], target[1]], axis=1) + 1
    shape = PackedShape(size.batch_tokens, LONGEST)
    order = np.arange(len(lengths)) if packed else lengths.max(axis=1).argsort(kind="stable")
    plan = shape.cut(order, lengths[order]) if packed else cut(order, lengths[order].max(axis=1), size.batch_tokens)
    make = shape.batch if packed else make_batch_of

    def part(side: Side, indices: np.ndarray) -> Side:
        ids, lengths = side
        ends = np.cumsum(lengths)
        return np.concatenate([ids[ends[index] - lengths[index] : ends[index]] for index in indices]), lengths[indices]

    return [make(*(part(side, indices) for side in (source, target))) for indices in plan[:-1] or plan]


def time_attention(device: torch.device, size: Size) -> list[Row]:
    """Time forward and backward of the attention of one layer, with shapes that are new to it."""
    config = PRESETS[size.preset]
    dtype = torch.bfloat16 if device.type == "cuda" else torch.float32
    rows = (size.batch_tokens, config.num_heads, config.encoder_heads.d_k)
    first: list[float] = []
    for batch in batches(size, packed=True)[:4]:
        assert isinstance(batch, PackedBatch)
        sentences = Sentences(batch.target_starts.to(device), batch.longest)
        x = [torch.randn(rows, device=device, dtype=dtype, requires_grad=True) for _ in range(3)]

        def step(x: list[torch.Tensor] = x, sentences: Sentences = sentences) -> None:
            packed_attention(*x, sentences, sentences, True).sum().backward()

        first.append(seconds(device, step))
    later = median_seconds(device, step, 20)
    times = f"{1e3 * later:.2f} ms; first calls {', '.join(f'{1e3 * s:.1f}' for s in first)} ms"
    return [("attention, forward and backward", times)]


def time_decoding(device: torch.device, size: Size) -> list[Row]:
    """Time translations of real sentences by a shipped model."""
    translator = Translator.from_checkpoint(CHECKPOINT.with_name("en-de.safetensors"), device=device)
    lines = SENTENCES.read_text(encoding="utf-8").splitlines()
    rows: list[Row] = []
    for name, enabled in (("float32", False), ("bfloat16", True)):
        for batch in size.batches:
            texts = (lines * (batch // len(lines) + 1))[:batch]
            with torch.autocast(device.type, torch.bfloat16, enabled=enabled):
                translator.translate_batch(texts)
                tokens = 0

                def translate(texts: list[str] = texts) -> None:
                    nonlocal tokens
                    tokens = sum(len(one.hypotheses[0].tokens) for one in translator.translate_batch(texts))

                taken = seconds(device, translate)
            rows.append((f"decoding, {name}, batch {batch}", f"{tokens / taken:,.0f} target tokens/s"))
    return rows


def product_speed(device: torch.device, dtype: torch.dtype, size: int) -> float:
    """FLOP per second of a product of two square matrices."""
    matrix = torch.ones(size, size, device=device, dtype=dtype)
    return 2 * size**3 / median_seconds(device, lambda: matrix @ matrix, 5)


def training_flops(config: TransformerConfig) -> float:
    """FLOP of a training step for each pair of a source and a target token, without scores and weighted sums.

    Two for each element of a matrix in the forward pass, and twice as many in the backward pass.
    """
    attention, network = 4 * config.d_model**2, 2 * config.d_model * config.d_ff
    encoder = config.num_encoder_layers * (attention + network)
    decoder = config.num_decoder_layers * (2 * attention + network)
    return 6.0 * (encoder + decoder + config.vocab_size * config.d_model)


def time_training(device: torch.device, size: Size) -> list[Row]:
    """Time training steps in each mode."""
    config = replace(PRESETS[size.preset], vocab_size=VOCAB_SIZE)
    precision = "bfloat16" if device.type == "cuda" else "float32"
    peak = product_speed(device, torch.bfloat16 if precision == "bfloat16" else torch.float32, size.product)
    rows: list[Row] = [("a large product", f"{peak / 1e12:,.2f} TFLOP/s in {precision}")]
    for mode, (bucketing, compiled) in MODES.items():
        if compiled and device.type != "cuda":
            continue
        recipe = Recipe(bucketing=bucketing, batch_tokens=size.batch_tokens, precision=precision)  # type: ignore[arg-type]
        began = time.perf_counter()
        training = Training(config, recipe, World(device), compiled)
        training.set_rate(1e-4)
        work = [batch.to(device) for batch in batches(size, bucketing == "packed")]

        def step(batch: Batch | PackedBatch, training: Training = training, recipe: Recipe = recipe) -> None:
            with autocast(recipe, device):
                loss = training.loss_of(batch)
            (loss.smoothed / batch.num_tokens).backward()
            training.optimizer.step()
            training.optimizer.zero_grad()

        seconds(device, lambda work=work, step=step: step(work[0]))
        first = time.perf_counter() - began
        timed = [work[number % len(work)] for number in range(1, size.steps + 1)]
        taken = seconds(device, lambda timed=timed, step=step: [step(batch) for batch in timed])
        speed = sum(batch.num_tokens for batch in timed) / taken
        share = 100 * speed * training_flops(config) / peak
        text = f"{speed:,.0f} target tokens/s, {share:.0f} % of the product's speed, first step after {first:.1f} s"
        rows.append((f"training {size.preset}, {mode}", f"{text}, {peak_memory(device) / 1e9:.1f} GB"))
        del training, work, timed
    return rows


PARTS: dict[str, Callable[[torch.device, Size], list[Row]]] = {
    "attention": time_attention,
    "training": time_training,
    "decoding": time_decoding,
    "commands": compare_commands,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the parts and print one table; return 1 if a command differs."""
    parser = ratios.parser(__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer steps and batches: 150 seconds on a bare machine")
    parser.add_argument("--part", nargs="+", choices=list(PARTS), default=list(PARTS), help="default: all")
    parser.add_argument("--device", help="cuda, cuda:N or cpu (default: the best)")
    options = parser.parse_args(arguments)
    device = best_device(options.device)
    size = SMALL if device.type == "cpu" else QUICK if options.quick else LARGE
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else ratios.processor()
    print(f"{name}, PyTorch {torch.__version__}", flush=True)
    rows: list[Row] = []
    for part in options.part:
        began = time.perf_counter()
        rows += PARTS[part](device, size)
        print(f"({part}: {time.perf_counter() - began:.0f} s)", file=sys.stderr, flush=True)
    print(*("| " + " | ".join(row) + " |" for row in (("what", "found"), ("---", "---"), *rows)), sep="\n")
    failed = any(word in text for _, text in rows for word in ("FAILED", "DIFFERENT"))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
