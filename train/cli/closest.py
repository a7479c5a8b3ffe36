"""`python -m train closest`: the translation closest to the reference, from several for each sentence.

For sequence-level interpolation (Kim and Rush 2016, section 3.3): a model trained on these learns from texts that, as
in distillation, a model finds probable, and that are close to what people wrote.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from sacrebleu.metrics.bleu import BLEU
from tqdm import tqdm

from core.files.file_writing import check_folder_of, write_atomically
from core.text.bleu_tokenizers import bleu_tokenizer
from train.data.parallel_text import TEXT_FORMATS, read_lines, read_parallel


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--hypotheses",
        type=Path,
        nargs="+",
        required=True,
        help="translations as `python -m core translate --n-best` writes them: a line for each sentence, with tabs "
        "between its hypotheses",
    )
    parser.add_argument("--reference", type=Path, required=True, help=f"as many lines of references: {TEXT_FORMATS}")
    parser.add_argument("-o", "--output", type=Path, required=True, help="the file to write")


def _closest(options: argparse.Namespace) -> None:
    """Write each line's hypothesis with the highest BLEU with the reference, an empty line where there is none.

    Hypotheses of a sentence are best first. Ties go to the lower rank, then to the first file.
    """
    check_folder_of(options.output)
    chosen, equal, empty = [0] * len(options.hypotheses), 0, 0
    total = sum(1 for _ in read_lines(options.reference))

    def write(temporary: Path) -> None:
        nonlocal equal, empty
        lines = zip(*(read_parallel([options.reference], [path]) for path in options.hypotheses), strict=True)
        with temporary.open("w", encoding="utf-8", newline="\n") as file:
            for pairs in tqdm(lines, options.output.name, total, unit=" lines", disable=None):
                expected = pairs[0][0].strip()
                best = closest(expected, [line.split("\t") for _, line in pairs])
                if best is None:
                    empty += 1
                else:
                    chosen[best[1]] += 1
                    equal += best[0] == expected
                file.write(f"{best[0] if best else ''}\n")

    write_atomically(options.output, write)
    for path, count in zip(options.hypotheses, chosen, strict=True):
        print(f"{path}: {count:,} of {sum(chosen) + empty:,} lines")
    print(f"equal to the reference: {equal:,}; no hypothesis: {empty:,}")


def closest(reference: str, lists: Sequence[Sequence[str]]) -> tuple[str, int] | None:
    """Return the hypothesis closest to a reference and the index of its list, best first; None if all are empty.

    Sentence BLEU is that of sacreBLEU, in lower case, smoothed (`smooth:exp`), up to the longest n-grams that the
    sentence has (`eff:yes`), with the tokenizer of the reference's script (`bleu_tokenizer`).
    """
    bleu = BLEU(lowercase=True, effective_order=True, tokenize=bleu_tokenizer([reference]))
    scores: dict[str, float] = {}
    candidates: list[tuple[float, int, int, str]] = []
    for index, hypotheses in enumerate(lists):
        for rank, text in enumerate(hypothesis.strip() for hypothesis in hypotheses):
            if text:
                if text not in scores:
                    scores[text] = bleu.sentence_score(text, [reference]).score
                candidates.append((-scores[text], rank, index, text))
    if not candidates:
        return None
    _, _, index, text = min(candidates)
    return text, index


COMMAND = ("write the translation of each sentence that is closest to its reference", _add_arguments, _closest)
