"""Less sequential generation, speculative decoding and mask-predict, beside greedy search and beam search.

    python -m benchmarks.generation [--number 32] [--draft-tokens 2 4] [--iterations 1 4 10] [--rounds 3]

With the shipped models, one sentence at a time, on one thread. All take turns with each sentence; the time of each is
the sum over the sentences of its fastest round, in seconds of the processor. A ratio above 1 is slower. Only the
searches are timed, without the pass that scores their result.
"""

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch

from benchmarks import ratios
from core.files.shipped_files import shipped_checkpoint
from core.mask_predict_translation import mask_predict_states
from core.speculative_translation import translate_speculatively
from core.translator import Translator
from train.data.parallel_text import read_lines

LENGTH_CANDIDATES = 5


def main() -> None:
    """Print the passes and the processor time of each way to translate."""
    parser = ratios.parser(__doc__)
    parser.add_argument("--sentences", type=Path, default=Path(__file__).parent / "sentences.txt")
    parser.add_argument("--number", type=int, default=32, help="sentences, the first of the file")
    parser.add_argument("--draft-tokens", type=int, nargs="+", default=[2, 4])
    parser.add_argument("--iterations", type=int, nargs="+", default=[1, 4, 10])
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    torch.set_num_threads(1)
    large, draft, at_once = (
        Translator.from_checkpoint(shipped_checkpoint(name), "cpu")
        for name in ("en-de", "en-de-draft", "en-de-mask-predict")
    )
    ways: dict[str, Callable[[str], int]] = {
        "greedy search": partial(_searched, large, 1),
        **{f"speculative, {count} drafted": partial(_drafted, large, draft, count) for count in options.draft_tokens},
        "beam search, 4": partial(_searched, large, 4),
        **{f"mask-predict, {count} iterations": partial(_refined, at_once, count) for count in options.iterations},
    }
    sentences = list(read_lines(options.sentences))[: options.number]
    seconds, passes = dict.fromkeys(ways, 0.0), dict.fromkeys(ways, 0)
    for sentence in sentences:
        times_of: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(options.rounds):
            for name, translate in ways.items():
                began = time.process_time()
                count = translate(sentence)
                times_of[name].append(time.process_time() - began)
                passes[name] += count
        for name, times in times_of.items():
            seconds[name] += min(times)
    for name in ways:
        base = "greedy search" if name.startswith(("greedy", "speculative")) else "beam search, 4"
        print(
            f"{name}: {passes[name] / options.rounds / len(sentences):.1f} passes of the decoder a sentence, "
            f"{1000 * seconds[name] / len(sentences):.1f} ms, {seconds[name] / seconds[base]:.2f} times {base}"
        )


def _searched(translator: Translator, beam_size: int, sentence: str) -> int:
    return len(list(translator.search(sentence, beam_size, packed=True)))


def _drafted(large: Translator, draft: Translator, draft_tokens: int, sentence: str) -> int:
    return len(list(translate_speculatively(large, sentence, draft, draft_tokens, packed=True)))


def _refined(translator: Translator, iterations: int, sentence: str) -> int:
    return len(list(mask_predict_states(translator, sentence, iterations, LENGTH_CANDIDATES, packed=True)))


if __name__ == "__main__":
    main()
