"""Selection of the translation closest to the reference, from several for each sentence.

For sequence-level interpolation (Kim and Rush 2016, section 3.3): a model trained on these learns from texts that, as
in distillation, a model finds probable, and that are close to what people wrote.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from sacrebleu.metrics.bleu import BLEU

from core.files.file_writing import check_folder_of, write_atomically
from core.text.bleu_tokenizers import bleu_tokenizer
from train.data.parallel_text import read_parallel


@dataclass
class ClosestCounts:
    """Number of lines of an output from each file, equal to the reference, and of those that no file has."""

    chosen: list[int]
    equal: int = 0
    empty: int = 0

    @property
    def lines(self) -> int:
        """Number of lines."""
        return sum(self.chosen) + self.empty


def write_closest(
    reference: Path, hypotheses: Sequence[Path], output: Path, progress: Callable[[int], object] = lambda lines: None
) -> ClosestCounts:
    """Write the hypothesis of each line that has the highest BLEU with the reference, an empty line where there is
    none.

    Sentence BLEU is that of sacreBLEU, in lower case, smoothed (`smooth:exp`), up to the longest n-grams that the
    sentence has (`eff:yes`), with the tokenizer of the reference's script (`bleu_tokenizer`). Ties go to the lower
    rank, then to the first file. Hypotheses of a sentence are best first with tabs between them, as `core translate
    --n-best` writes them.

    Raises:
        DataError: a file cannot be read, or has another number of lines than the reference.
        ValueError: there is no folder for the output.
        NotWrittenError: the output cannot be written.
    """
    check_folder_of(output)
    counts = ClosestCounts([0] * len(hypotheses))

    def write(temporary: Path) -> None:
        with temporary.open("w", encoding="utf-8", newline="\n") as file:
            for number, pairs in enumerate(
                zip(*(read_parallel([reference], [path]) for path in hypotheses), strict=True), 1
            ):
                expected = pairs[0][0].strip()
                chosen = closest(expected, [line.split("\t") for _, line in pairs])
                if chosen is None:
                    counts.empty += 1
                else:
                    counts.chosen[chosen[1]] += 1
                    counts.equal += chosen[0] == expected
                file.write(f"{chosen[0] if chosen else ''}\n")
                progress(number)

    write_atomically(output, write)
    return counts


def closest(reference: str, lists: Sequence[Sequence[str]]) -> tuple[str, int] | None:
    """Return the hypothesis closest to a reference and the index of its list, best first; None if all are empty."""
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
