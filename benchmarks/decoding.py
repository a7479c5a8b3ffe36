"""How fast Headlight decodes next to Hugging Face `generate`, on the same work and the same machine.

    python benchmarks/decoding.py [--threads 2] [--weights half] [--rounds 9] [--clock wall]

The base model of the paper with random weights, a vocabulary of 37,000, one sentence, a beam of 4, a fixed number of
target tokens: `</s>` is excluded on both sides, so that both make every step. Each side has a process of its own; they take
turns, so that whatever else the machine does meets both alike. What counts is the ratio. Both compute in float32. The
weights are numbers that half precision holds, as those of any checkpoint saved by `train average --half`; Headlight makes
use of that. With `--weights float32` they are not. On a machine that is busy with something else, `--clock cpu` counts the
processor's time instead of the wall's, which is less disturbed.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import TypeVar

import torch
import turns

_Module = TypeVar("_Module", bound=torch.nn.Module)
VOCAB_SIZE = 37_000
PAD, BOS, EOS = 0, 1, 2


@dataclass(frozen=True)
class Work:
    """What both sides do."""

    threads: int
    beam_size: int
    source_tokens: int
    target_tokens: int
    clock: str
    weights: str

    def source(self) -> torch.Tensor:
        generator = torch.Generator().manual_seed(0)
        return torch.randint(3, VOCAB_SIZE, (1, self.source_tokens), generator=generator)


def headlight(work: Work) -> Callable[[], int]:
    """Returns: what translates once, and says how many tokens the best hypothesis has."""
    from core.cache import cached_decoder
    from core.config import PRESETS
    from core.decoding import SearchOptions, beam_search
    from core.model import Transformer
    from core.packing import PackedTransformer, packable

    model = as_weights(Transformer(PRESETS["base"]), work.weights)
    model = PackedTransformer(model) if packable(model) else model  # as `Translator` does
    options = SearchOptions(bos_id=BOS, eos_id=EOS, never=(PAD, EOS), beam_size=work.beam_size)
    source = work.source()

    def translate() -> int:
        with torch.inference_mode():
            ((best,),) = beam_search(cached_decoder(model, source), [work.target_tokens], options)
        return len(best.token_ids)

    return translate


def hugging_face(work: Work) -> Callable[[], int]:
    """As `headlight`."""
    from transformers import MarianConfig, MarianMTModel

    config = MarianConfig(
        vocab_size=VOCAB_SIZE,
        d_model=512,
        encoder_layers=6,
        decoder_layers=6,
        encoder_attention_heads=8,
        decoder_attention_heads=8,
        encoder_ffn_dim=2048,
        decoder_ffn_dim=2048,
        activation_function="relu",
        scale_embedding=True,
        pad_token_id=PAD,
        bos_token_id=BOS,
        eos_token_id=EOS,
        decoder_start_token_id=BOS,
        forced_eos_token_id=None,
    )
    model = as_weights(MarianMTModel(config), work.weights)
    source = work.source()

    def translate() -> int:
        found = model.generate(
            source,
            attention_mask=torch.ones_like(source),
            num_beams=work.beam_size,
            do_sample=False,
            length_penalty=0.6,
            min_new_tokens=work.target_tokens,
            max_new_tokens=work.target_tokens,
        )
        return found.size(1) - 1  # without the start token

    return translate


def as_weights(model: _Module, weights: str) -> _Module:
    """The model, ready to run, with its weights rounded to what such a checkpoint holds."""
    rounded = model.half().float() if weights == "half" else model
    return rounded.eval().requires_grad_(False)


SIDES = {"Headlight": headlight, "Hugging Face": hugging_face}
CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}


def serve(side: str, work: Work, connection: Connection) -> None:
    """Translate once for every message, and answer with the seconds it took."""
    torch.set_num_threads(work.threads)
    torch.manual_seed(0)
    translate, clock = SIDES[side](work), CLOCKS[work.clock]
    for _ in range(2):
        translate()
    connection.send(None)
    while connection.recv():
        began = clock()
        tokens = translate()
        seconds = clock() - began
        if tokens != work.target_tokens:
            raise RuntimeError(f"{side} made {tokens} target tokens, expected {work.target_tokens}: the work is not the same")
        connection.send(seconds)


def main() -> None:
    """Let both sides take turns, and print their speeds and the ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--weights", choices=("half", "float32"), default="half", help="what the checkpoint holds; both sides compute in float32")
    parser.add_argument("--rounds", type=int, default=9, help="how often each side translates")
    parser.add_argument("--beam-size", type=int, default=4)
    parser.add_argument("--source-tokens", type=int, default=30)
    parser.add_argument("--target-tokens", type=int, default=40)
    parser.add_argument("--clock", choices=CLOCKS, default="wall")
    options = parser.parse_args()
    work = Work(options.threads, options.beam_size, options.source_tokens, options.target_tokens, options.clock, options.weights)

    connections = turns.start(SIDES, serve, work)
    for connection in connections.values():
        connection.recv()
    seconds = turns.take(connections, options.rounds)

    print(f"base model, {work}")
    for side, times in seconds.items():
        rates = [work.target_tokens / each for each in times]
        print(f"{side:<13} {statistics.median(rates):7.1f} target tokens/s (median of {len(rates)}; {min(rates):.1f} to {max(rates):.1f})")
    ratios = [theirs / ours for ours, theirs in zip(*seconds.values(), strict=True)]
    print(f"Headlight is {statistics.median(ratios):.2f} times as fast (median of {len(ratios)} turns; {min(ratios):.2f} to {max(ratios):.2f})")


if __name__ == "__main__":
    main()
