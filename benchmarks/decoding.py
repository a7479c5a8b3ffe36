"""Speed of decoding, beside Hugging Face `generate` and CTranslate2 with the same weights, work and machine.

    python -m benchmarks.decoding [--vocab-size 8000] [--batch 1 32] [--threads 1 2] [--rounds 5] [--quick]
    python -m benchmarks.decoding --shape opus-mt [--batch 1 32] [--threads 1 2] [--rounds 5] [--quick]
    python -m benchmarks.decoding --checkpoint checkpoints/en-de.safetensors --sentences FILE [--number 64]

Without a checkpoint: random weights in the shape of the paper's base model or of OPUS-MT's (the same sizes, swish,
padding as the start, a bias of the logits, 58,101 pieces), sentences of 30 random tokens, and a fixed number of target
tokens: `</s>` is excluded on all sides, so that all make every step. With one: real sentences, one per line, translated
to their end. Then every side also searches for the most probable translation, without the length penalty, which the
libraries define differently, and its translations are compared with those of CTranslate2 in float32.

Each side has a process of its own, and the number of threads (of `--threads`) with which it is fastest. They take
turns, so that other load affects all alike; the ratio is the result. The random weights are exact in half precision, as
are those of any checkpoint saved by `train average --half`; with `--weights float32` they are not. On a machine that is
busy with something else, `--clock cpu` counts processor time instead of wall-clock time.
"""

import argparse
import itertools
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, get_args

import torch
from torch.nn.utils.rnn import pad_sequence

from benchmarks import ratios, turns
from benchmarks.peers import ctranslate2_tokens, marian, save_ctranslate2
from core import PRESETS, Transformer, TransformerConfig, load_checkpoint
from core.decoding import NextLogits, SearchOptions, beam_search
from core.decoding.cache import cached_decoder
from core.inference.device import Precision
from core.inference.shared_model import SharedModel
from train.data.parallel_text import read_lines

SOURCE_TOKENS = 30  # length of a random source
PLAIN = "plain PyTorch"  # the modules that training uses
OPUS_MT = TransformerConfig(
    vocab_size=58_101,
    activation="swish",
    position_order="halves",
    output_bias=True,
    pad_id=58_100,
    bos_id=58_100,
    eos_id=0,
    penalty_formula="length",
)
SHAPES = {"base": replace(PRESETS["base"], vocab_size=8_000), "opus-mt": OPUS_MT}  # of random weights
EXTRA_TOKENS = 50  # that a translation of a real one may have more than its source (6.1)
LENGTH_PENALTY = 0.6
SAME = 1e-3  # nats: translations whose log-probabilities are no further apart are equally good
BASELINE = "CTranslate2 float32"
CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}
Ids = list[int]


@dataclass(frozen=True)
class DecodingWork:
    """The translations that every side makes."""

    sentences: tuple[Ids, ...]
    checkpoint: Path | None  # whose model decodes; None: one with random weights
    config: TransformerConfig  # of the model
    target_tokens: int | None  # how many each translation has; None: to its end
    beam_size: int
    weights: str
    clock: str
    side: str = ""

    def model(self) -> Transformer:
        if self.checkpoint:
            return load_checkpoint(self.checkpoint).model.requires_grad_(False)
        torch.manual_seed(0)
        model = Transformer(self.config).eval().requires_grad_(False)
        return model.half().float() if self.weights == "half" else model

    def limit(self, source: Ids) -> int:
        return self.target_tokens or len(source) + EXTRA_TOKENS


@dataclass(frozen=True)
class Turn:
    """One request to a side: translations of the first `number` sentences."""

    number: int
    batch: int
    threads: int
    length_penalty: float = LENGTH_PENALTY


Decode = Callable[[Sequence[Ids], Turn], list[Ids]]  # sources with `</s>` -> best translations without


def headlight(work: DecodingWork, precision: Any) -> Decode:
    """Decode with Headlight's `SharedModel`; precision `PLAIN` is that without packed matrices."""
    model = work.model()
    config = model.config
    shared = SharedModel(model, "exact" if precision == PLAIN else precision)
    never = (config.pad_id, config.eos_id) if work.target_tokens else (config.pad_id,)

    def next_logits(sources: Sequence[Ids]) -> NextLogits:
        if precision != PLAIN:
            return shared.next_logits(sources)
        rows = [torch.tensor(source) for source in sources]
        return cached_decoder(model, pad_sequence(rows, batch_first=True, padding_value=config.pad_id))

    @torch.inference_mode()
    def decode(sources: Sequence[Ids], turn: Turn) -> list[Ids]:
        torch.set_num_threads(turn.threads)
        options = SearchOptions(
            bos_id=config.bos_id,
            eos_id=config.eos_id,
            never=never,
            beam_size=work.beam_size,
            length_penalty=turn.length_penalty,
        )
        hypotheses = beam_search(next_logits(sources), [work.limit(source) for source in sources], options)
        return [[token_id for token_id in best.token_ids if token_id != config.eos_id] for (best,) in hypotheses]

    return decode


def hugging_face(work: DecodingWork) -> Decode:
    """`MarianMTModel.generate`."""
    model = marian(ours := work.model())
    config = ours.config

    @torch.inference_mode()
    def decode(sources: Sequence[Ids], turn: Turn) -> list[Ids]:
        torch.set_num_threads(turn.threads)
        longest = max(map(len, sources))
        padded = torch.tensor([[*source, *[config.pad_id] * (longest - len(source))] for source in sources])
        rows = model.generate(
            padded,
            attention_mask=(padded != config.pad_id).long(),
            num_beams=work.beam_size,
            do_sample=False,
            length_penalty=turn.length_penalty,
            min_new_tokens=work.target_tokens,
            max_new_tokens=max(map(work.limit, sources)),
            suppress_tokens=[config.pad_id, config.bos_id],
        )
        special = (config.pad_id, config.bos_id, config.eos_id)
        return [[token_id for token_id in row if token_id not in special] for row in rows.tolist()]

    return decode


def ctranslate2(work: DecodingWork, compute_type: str) -> Decode:
    """`ctranslate2.Translator`, one for every number of threads."""
    from ctranslate2 import Translator as Peer

    model = work.model()
    config = model.config
    with tempfile.TemporaryDirectory() as folder:
        save_ctranslate2(model, Path(folder))
        files = {path.name: path.read_bytes() for path in Path(folder).iterdir()}
    peers: dict[int, Any] = {}

    def decode(sources: Sequence[Ids], turn: Turn) -> list[Ids]:
        if turn.threads not in peers:
            peers[turn.threads] = Peer(
                f"model-{turn.threads}", compute_type=compute_type, intra_threads=turn.threads, files=files
            )
        results = peers[turn.threads].translate_batch(
            [ctranslate2_tokens(source, config) for source in sources],
            beam_size=work.beam_size,
            length_penalty=turn.length_penalty,
            min_decoding_length=work.target_tokens or 1,
            max_decoding_length=max(map(work.limit, sources)),
            max_input_length=0,
            disable_unk=True,
            suppress_sequences=[ctranslate2_tokens((config.bos_id,), config)],
        )
        return [[int(token) for token in result.hypotheses[0]] for result in results]

    return decode


def sides() -> dict[str, Callable[[DecodingWork], Decode]]:
    """Headlight in each of its precisions (the default first) and plain, and the others."""
    default, *others = get_args(Precision)
    return {
        "Headlight": lambda work: headlight(work, default),
        **{f"Headlight {name}": lambda work, name=name: headlight(work, name) for name in (*others, PLAIN)},
        "Hugging Face": hugging_face,
        BASELINE: lambda work: ctranslate2(work, "float32"),
        "CTranslate2 int8": lambda work: ctranslate2(work, "int8"),
    }


def serve(work: DecodingWork, connection: Connection) -> None:
    """Translate for every turn, and answer with seconds and translations."""
    decode, clock = sides()[work.side](work), CLOCKS[work.clock]
    connection.send(None)
    while turn := connection.recv():
        sources = work.sentences[: turn.number]
        decoded: list[Ids] = []
        began = clock()
        for start in range(0, len(sources), turn.batch):
            decoded += decode(sources[start : start + turn.batch], turn)
        seconds = clock() - began
        if work.target_tokens and {len(ids) for ids in decoded} != {work.target_tokens}:
            raise RuntimeError(
                f"{work.side} made {sorted(map(len, decoded))} target tokens, expected {work.target_tokens} each: not "
                f"the same work"
            )
        connection.send((seconds, decoded))


def random_work(arguments: argparse.Namespace) -> DecodingWork:
    """Random sentences, enough for the largest batch."""
    config = SHAPES[arguments.shape]
    if arguments.vocab_size:
        config = replace(config, vocab_size=arguments.vocab_size)
    sizes, generator = (max(arguments.batch), SOURCE_TOKENS), torch.Generator().manual_seed(0)
    sentences = torch.randint(3, config.vocab_size - 1, sizes, generator=generator).tolist()  # no special tokens
    tokens = arguments.target_tokens or (10 if arguments.quick else 40)
    return DecodingWork(tuple(sentences), None, config, tokens, arguments.beam_size, arguments.weights, arguments.clock)


def real_work(arguments: argparse.Namespace) -> DecodingWork:
    """The first sentences of the file, the longest first."""
    checkpoint = load_checkpoint(arguments.checkpoint)
    number = 16 if arguments.quick else arguments.number
    lines = [line.strip() for line in read_lines(arguments.sentences) if line.strip()][:number]
    config = checkpoint.config
    sentences = sorted(([*checkpoint.tokenizer.encode(line), config.eos_id] for line in lines), key=len, reverse=True)
    search = arguments.beam_size, arguments.weights, arguments.clock
    return DecodingWork(tuple(sentences), arguments.checkpoint, config, None, *search)


def main() -> None:
    """Let all sides take turns, and print their speeds and ratios."""
    parser = ratios.parser(__doc__, "less of everything: shows that it works, not how fast")
    parser.add_argument("--checkpoint", type=Path, help="decode with this model, not with random weights")
    parser.add_argument(
        "--sentences", type=Path, help="with --checkpoint: what to translate, one per line (.gz, .xz too)"
    )
    parser.add_argument("--number", type=int, default=64, help="number of sentences of the file")
    parser.add_argument("--shape", choices=SHAPES, default="base", help="shape of the random weights")
    parser.add_argument(
        "--vocab-size", type=int, help="vocabulary of base with random weights (default: 8000; the paper: 37000)"
    )
    parser.add_argument(
        "--weights", choices=("half", "float32"), default="half", help="what holds the random weights exactly"
    )
    parser.add_argument(
        "--target-tokens", type=int, help="length of a random translation (default: 40, or 10 with --quick)"
    )
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 32], help="sentences at once (default: 1 32)")
    parser.add_argument(
        "--threads", type=int, nargs="+", default=[1, 2], help="numbers to choose the fastest of (default: 1 2)"
    )
    parser.add_argument("--beam-size", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=5, help="turns of each side")
    parser.add_argument("--clock", choices=CLOCKS, default="wall")
    parser.add_argument("--sides", nargs="+", choices=list(sides()), default=list(sides()), help="default: all")
    arguments = parser.parse_args()
    if bool(arguments.checkpoint) != bool(arguments.sentences):
        parser.error("--checkpoint and --sentences come together")
    if arguments.vocab_size and arguments.shape != "base":
        parser.error("--vocab-size is for --shape base: the special tokens of the others are in their vocabulary")
    work = real_work(arguments) if arguments.checkpoint else random_work(arguments)
    name = arguments.checkpoint.stem if arguments.checkpoint else f"{arguments.shape}, V {work.config.vocab_size}"
    rounds = 1 if arguments.quick else arguments.rounds
    measured: dict[str, list[float]] = {}
    with turns.processes(serve, {side: replace(work, side=side) for side in arguments.sides}) as connections:
        for connection in connections.values():
            connection.recv()
        for batch in arguments.batch:
            number = len(work.sentences) if arguments.checkpoint else batch
            print(f"\n{name}, {number} sentences, {batch} at once, beam {work.beam_size}; {ratios.processor()}")
            seconds = measure(connections, number, batch, arguments.threads, rounds)
            ours = [side for side in arguments.sides if side.startswith("Headlight")]
            for our, side in itertools.product(ours, arguments.sides):
                if side not in ours or (PLAIN in side and our != side):
                    per_turn = [theirs / mine for mine, theirs in zip(seconds[our], seconds[side], strict=True)]
                    print(f"{our} is {turns.spread(per_turn)} times as fast as {side}")
                    measured[f"{name}, batch {batch}: {our} / {side}"] = per_turn
        if arguments.checkpoint and BASELINE in connections:
            compare(connections, work)
    ratios.save(arguments.json, measured)


def measure(
    connections: Mapping[str, Connection], number: int, batch: int, threads: Sequence[int], rounds: int
) -> dict[str, list[float]]:
    """Let each side choose its number of threads, then take turns and print the speeds.

    Returns: seconds of every turn.
    """
    chosen: dict[str, Turn] = {}
    trials: dict[str, float] = {}
    for count in threads:
        turn = Turn(number, batch, count)
        for side, answers in turns.take(connections, dict.fromkeys(connections, turn), 2).items():
            fastest = min(seconds for seconds, _ in answers)
            if side not in trials or fastest < trials[side]:
                chosen[side], trials[side] = turn, fastest
    answers = turns.take(connections, chosen, rounds)
    for side, turn in chosen.items():
        times, tokens = [seconds for seconds, _ in answers[side]], sum(len(ids) for ids in answers[side][0][1])
        rate = turns.spread([tokens / each for each in times], ".1f")
        rates = f"{rate} target tokens/s, {number / statistics.median(times):.2f} sentences/s"
        print(f"{side:<20} {rates}; threads: {turn.threads}", flush=True)
    return {side: [seconds for seconds, _ in answers[side]] for side in connections}


def compare(connections: Mapping[str, Connection], work: DecodingWork) -> None:
    """Print how many translations equal those of CTranslate2 in float32, all searching for the most probable one."""
    model, number = work.model(), len(work.sentences)
    turn = Turn(number, min(number, 32), 1, length_penalty=0.0)
    answers = {
        side: translations
        for side, ((_, translations),) in turns.take(connections, dict.fromkeys(connections, turn), 1).items()
    }
    print()
    for side, translations in answers.items():
        gains = [
            log_prob(model, source, ours) - log_prob(model, source, theirs)
            for source, ours, theirs in zip(work.sentences, translations, answers[BASELINE], strict=True)
            if ours != theirs
        ]
        ties, better = sum(abs(gain) <= SAME for gain in gains), sum(gain > SAME for gain in gains)
        if side != BASELINE:
            same = f"{number - len(gains)} of {number} translations are those of {BASELINE}"
            print(f"{side:<20} {same}, {ties} as probable, {better} more probable, {len(gains) - ties - better} less")


@torch.inference_mode()
def log_prob(model: Transformer, source: Ids, target: Ids) -> float:
    """Log-probability of a translation, by one pass of the exact model."""
    fed, predicted = [model.config.bos_id, *target], [*target, model.config.eos_id]
    logits = model(torch.tensor([source]), torch.tensor([fed]))[0]
    return float(logits.log_softmax(-1).gather(1, torch.tensor(predicted)[:, None]).sum())


if __name__ == "__main__":
    main()
