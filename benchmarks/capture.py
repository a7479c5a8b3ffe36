"""Cost of capture: a translation with its explanation beside one without.

    python -m benchmarks.capture [--checkpoint FILE] [--words 10 20 40] [--threads 2] [--rounds 15] [--quick]

The search finds the hypotheses; `Translator.translate` scores them by a pass of the model's own modules, and `explain`
captures the attention of one of them in another. The search alone, with and without its encoder, and each pass are
timed in turns in one process.
"""

import statistics
import time
from collections.abc import Callable
from pathlib import Path

import torch

from benchmarks import ratios, turns
from core import Translator

SHIPPED = Path(__file__).parents[1] / "checkpoints" / "en-de.safetensors"
SENTENCE = "The old man from the house near the river told us that there had never been much snow in winter and that"


def sentence(num_words: int) -> str:
    """The first `num_words` words of a long sentence, repeated if necessary."""
    words = SENTENCE.split()
    return " ".join((words * (num_words // len(words) + 1))[:num_words])


def timed(call: Callable[[], object]) -> float:
    """Seconds that a call took."""
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


@torch.inference_mode()
def encode(translator: Translator, text: str) -> None:
    """Tokenize and encode a text: everything before the first decoding step."""
    translator.shared.next_logits([translator.codec.source_ids(text)])


def search(translator: Translator, text: str) -> None:
    """Search for the hypotheses, without a pass that scores them."""
    list(translator.search(text, packed=True))


def main() -> None:
    """Measure and print the table."""
    parser = ratios.parser(__doc__, "two rounds: shows that it works, not how fast", threads=2, rounds=15)
    parser.add_argument("--checkpoint", type=Path, default=SHIPPED, help="instead of the shipped one")
    parser.add_argument("--words", type=int, nargs="+", default=[10, 20, 40], help="default: 10 20 40")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    translator = Translator.from_checkpoint(arguments.checkpoint)
    measured: dict[str, list[float]] = {}
    print(f"medians in milliseconds, {arguments.threads} threads, beam 4; {ratios.processor()}")
    print("words | tokens out | encode | steps | scores | explanation | all / search")
    for num_words in arguments.words:
        text = sentence(num_words)
        best = translator.translate(text).hypotheses[0]
        turn = [
            (
                timed(lambda text=text: encode(translator, text)),
                timed(lambda text=text: search(translator, text)),
                timed(lambda text=text: translator.translate(text)),
                timed(lambda text=text, best=best: translator.explain(text, best.token_ids)),
            )
            for _ in range(2 if arguments.quick else arguments.rounds)
        ]
        per_turn = [(translated + explained) / searched for _, searched, translated, explained in turn]
        encoded, searched, translated, explained = (
            1000 * statistics.median(column) for column in zip(*turn, strict=True)
        )
        steps = f"{encoded:.1f} | {searched - encoded:.1f} | {translated - searched:.1f} | {explained:.1f}"
        print(f"{num_words} | {len(best.token_ids)} | {steps} | {turns.spread(per_turn)}", flush=True)
        measured[f"capture, {num_words} words: all / search"] = per_turn
    ratios.save(arguments.json, measured)


if __name__ == "__main__":
    main()
