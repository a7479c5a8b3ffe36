"""The analysis `align`: rank all cross-attention heads as word aligners."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass

from tqdm import tqdm

from core.analysis.alignment.aligners import Aligner, rank_aligners
from core.analysis.alignment.pharaoh import read_gold_pairs
from core.analysis.alignment.sentence_alignment import aligner_title
from core.analysis.attribution.methods import METHODS, Method
from core.analysis.declaration import FIRST, Analysis, Columns, PicturedResult, option
from core.analysis.pictures import Dot, Dots
from core.analysis.subject import MODEL
from core.capture import AttentionMap
from core.files.number_range import FROM_1
from core.files.tabular import as_columns
from core.text.phrases import Number, Phrase, marked
from core.trace import Head
from core.translator import Translator


@dataclass(frozen=True)
class AlignOptions:
    """Options of `align`."""

    source: str = option(help="sentences, words separated by spaces", metavar="FILE")
    target: str = option(help="their translations, line by line", metavar="FILE")
    gold: str = option(help="links in the Pharaoh format: 0-0 sure, 1?2 possible, source word first", metavar="FILE")
    method: Method = option("attention", "attribution method to align by (default: the attention weights)")
    top: int | None = option(None, "print only the best N aligners", type=FROM_1)


@dataclass(frozen=True)
class RankedAligners(PicturedResult):
    """Aligners, lowest alignment error rate first, and the number of sentence pairs that they are measured on."""

    aligners: Sequence[Aligner]
    num_pairs: int

    def table(self) -> Columns:
        """A row for each aligner; layers and heads are counted from 0, and empty for a mean over all.

        `rows` says which decoder rows stand for a target word: those fed it, or those that predict it.
        """
        rows = (
            (each.layer, each.head, each.rows, each.score.error_rate, each.score.precision, each.score.recall)
            for each in self.aligners
        )
        return as_columns(("layer", "head", "rows", "error_rate", "precision", "recall"), rows)

    def pictures(self, at: Head = FIRST) -> tuple[Dots]:
        """The error rate of each head, by those of its rows that align better."""
        best = {(each.layer, each.head): each.score.error_rate for each in reversed(self.aligners)}
        dots = [
            Dot(head=Head("cross", layer, head), value=rate, says=Number(rate, ".3f"))
            for (layer, head), rate in best.items()
            if layer is not None and head is not None
        ]
        layers = 1 + max((dot.head.layer for dot in dots), default=0)
        title, axis = Phrase(marked("Heads as word aligners")), Phrase(marked("Errors (AER)"))
        return (Dots(title=title, axis=axis, dots=sorted(dots, key=lambda dot: dot.head), num_layers=layers),)

    def answer(self, at: Head = FIRST) -> str:
        """The best aligner."""
        words = marked("{head} aligns the words of {pairs} sentence pairs best, with an error rate (AER) of {rate}.")
        one = marked("By your links, {head} aligns this sentence best, with an error rate (AER) of {rate}.")
        return Phrase(
            one if self.num_pairs == 1 else words,
            head=aligner_title((self.aligners[0].layer, self.aligners[0].head)),
            pairs=Number(self.num_pairs, ","),
            rate=Number(self.aligners[0].score.error_rate, ".3f"),
        )

    def __str__(self) -> str:
        """The ranking as text; layers and heads are counted from 1."""
        head = (
            f"{self.num_pairs} sentence pairs; layers and heads counted from 1\n\n{'head':<9} {'rows':<10} {'AER':>6} "
            f"{'precision':>10} {'recall':>7}"
        )
        lines = [
            f"{aligner!s:<9} {aligner.rows:<10} {aligner.score.error_rate:6.3f} {aligner.score.precision:10.3f} "
            f"{aligner.score.recall:7.3f}"
            for aligner in self.aligners
        ]
        return "\n".join([head, *lines])


def align(translator: Translator, options: AlignOptions) -> RankedAligners:
    """Rank every cross-attention head as a word aligner, lowest alignment error rate first.

    Progress is shown on stderr.

    Raises:
        ValueError: a file is invalid.
        OSError: a file cannot be read.
    """
    pairs = read_gold_pairs(options.source, options.target, options.gold)
    method = METHODS[options.method]

    def cross_maps(translator: Translator, source: str, target: str) -> Sequence[AttentionMap]:
        return method(translator, source, target)["cross"]

    aligners = rank_aligners(translator, tqdm(pairs, unit=" pairs", file=sys.stderr), cross_maps)
    return RankedAligners(aligners[: options.top], len(pairs))


ABOUT = "rank every cross-attention head as a word aligner"
ALIGN = Analysis("align", ABOUT, align, AlignOptions, MODEL, write=lambda ranking, _: print(ranking))
