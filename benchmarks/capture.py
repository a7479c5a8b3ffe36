"""Cost of capture: a translation with its explanation beside one without.

    python -m benchmarks.capture [--checkpoint FILE] [--words 10 20 40] [--threads 2] [--rounds 15] [--quick]

`Translator.translate` keeps what explains its hypotheses where it can, `translate_batch` does not: it is the
translation alone. The two take turns in one process. Goal at 20 words: translating and explaining takes at most 1.15
times as long as translating. The encoder's part of the translation is timed by itself, too, and so is the replay that
explains a translation that was not kept.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import torch

from benchmarks import ratios, turns
from core import Translator

SHIPPED = Path(__file__).parents[1] / "checkpoints" / "en-de.safetensors"
SENTENCE = "The old man from the house near the river told us that there had never been much snow in winter and that"
GOAL_WORDS, GOAL = 20, 1.15


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
    translator.next_logits([translator._source_ids(text)])  # pyright: ignore[reportPrivateUsage]


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkpoint", type=Path, default=SHIPPED, help="instead of the shipped one")
    parser.add_argument("--words", type=int, nargs="+", default=[10, 20, 40], help="default: 10 20 40")
    parser.add_argument("--threads", type=int, default=2, help="default: %(default)s")
    parser.add_argument("--rounds", type=int, default=15, help="default: %(default)s")
    parser.add_argument("--quick", action="store_true", help="two rounds: shows that it works, not how fast")
    ratios.add_option(parser)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    translator = Translator.from_checkpoint(arguments.checkpoint)
    found: dict[str, list[float]] = {}
    print(f"medians in milliseconds, {arguments.threads} threads, beam 4; {ratios.processor()}")
    print("words | tokens out | encode | steps | with explanation | replay | with explanation / without")
    forgetful = Translator(translator.model, translator.tokenizer)  # searches nothing, so that it replays
    for num_words in arguments.words:
        text = sentence(num_words)
        best = translator.translate(text).hypotheses[0]
        forgetful.explain(text, best.token_ids)

        def explained(text: str = text) -> None:
            translator.explain(text, translator.translate(text).hypotheses[0].token_ids)

        turn = [
            (
                timed(lambda text=text: encode(translator, text)),
                timed(lambda text=text: translator.translate_batch([text], num_hypotheses=4)),
                timed(explained),
                timed(lambda text=text, best=best: forgetful.explain(text, best.token_ids)),
            )
            for _ in range(2 if arguments.quick else arguments.rounds)
        ]
        per_turn = [both / translated for _, translated, both, _ in turn]
        encoded, translated, both, replayed = (1000 * statistics.median(column) for column in zip(*turn, strict=True))
        goal = f" (goal {GOAL})" if num_words == GOAL_WORDS else ""
        steps = f"{encoded:.1f} | {translated - encoded:.1f} | {both:.1f} | {replayed:.1f}"
        print(f"{num_words} | {len(best.token_ids)} | {steps} | {turns.spread(per_turn)}{goal}", flush=True)
        found[f"capture, {num_words} words: with / without"] = per_turn
    ratios.save(arguments.json, found)


if __name__ == "__main__":
    main()
