"""The analysis `attribute`: the tokens that speak for one prediction, rather than another, by several methods."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

import torch
from torch import Tensor

from core.analysis.attribution.contrast import Contrast, contrast_at, runner_up
from core.analysis.attribution.contrast_methods import (
    DIFFERENCES,
    METHODS,
    NAMES,
    NO_INTEGRAL,
    SHARES,
    SIGNED,
    ContrastMethod,
    integrated_gradients,
    methods_of,
)
from core.analysis.attribution.forward_trace import trace_forward
from core.analysis.correlation import spearman
from core.analysis.declaration import FIRST, Analysis, Columns, PicturedResult, option
from core.analysis.pictures import Cell, Grid, bar_cell
from core.analysis.subject import PIECE, PREDICTED_TOKEN
from core.analysis.tokens.words import axis_groups, readable, word
from core.text.phrases import Number, Phrase, marked
from core.trace import Head
from core.translator import Translator

# gap up to which completeness holds, as a share of F(1) - F(0): Sundararajan et al. 2017, section 5; or in nats
TOLERANCE, TOLERANCE_NATS = 0.05, 0.05
METHODS_HELP = f"methods, from {', '.join(METHODS)} (default: all that apply)"
SIDES = {"source": marked("SOURCE"), "prefix": marked("PREFIX")}


class TokenRow(NamedTuple):
    """A word or a token of the source or the prefix, with its indices among all tokens."""

    side: str
    name: str
    indices: range


@dataclass(frozen=True)
class ContrastAttribution(PicturedResult):
    """Scores of all source and prefix tokens for one prediction."""

    contrast: Contrast  # the prediction
    output: float  # F(1), in nats
    baseline: float  # F(0), in nats
    points: int  # of the integral of integrated gradients; 0 without them
    scores: Mapping[ContrastMethod, Tensor]  # [S + T] by method, on the CPU

    def gap(self, method: ContrastMethod) -> float:
        """Completeness gap, in nats: the absolute difference between the sum of the scores and F(1) - F(0)."""
        return abs(float(self.scores[method].sum()) - (self.output - self.baseline))

    @property
    def is_complete(self) -> bool:
        """Whether integrated gradients sum to F(1) - F(0), up to `TOLERANCE`."""
        return self.gap("integrated_gradients") <= max(TOLERANCE * abs(self.output - self.baseline), TOLERANCE_NATS)

    def rows(self, words: bool = False, hide_special: bool = False) -> list[TokenRow]:
        """Tokens of source and prefix, or their words, with or without `<s>` and `</s>`."""
        rows, first = list[TokenRow](), 0
        for side, tokens in (("source", self.contrast.source_tokens), ("prefix", self.contrast.prefix_tokens)):
            for group in axis_groups(tokens, words, hide_special):
                of_group = tokens[group.start : group.stop]
                name = word(of_group) if words else readable(of_group[0])
                rows.append(TokenRow(side, name, range(first + group.start, first + group.stop)))
            first += len(tokens)
        return rows

    def table(self, words: bool = False, hide_special: bool = False) -> Columns:
        """A row for each of `rows`: side, first position (from 0), token or word, and the score of each method."""
        rows, num_source = self.rows(words, hide_special), len(self.contrast.source_tokens)
        return {
            "side": [row.side for row in rows],
            "position": [row.indices.start - num_source * (row.side == "prefix") for row in rows],
            "token": [row.name if words else str(self.contrast.tokens[row.indices.start]) for row in rows],
            **{method: self._sums(method, rows) for method in self.scores},
        }

    def correlations(self) -> Columns:
        """The rank correlation of each method with every other."""
        return {
            "method": list(self.scores),
            **{method: [self.correlation(other, method) for other in self.scores] for method in self.scores},
        }

    def correlation(self, first: ContrastMethod, second: ContrastMethod) -> float:
        """Rank correlation of two methods over the tokens of `Contrast.ordinary`.

        Signed scores are compared with shares by their absolute values.
        """
        places = self.contrast.ordinary
        one, two = (self.scores[method][places] for method in (first, second))
        if (first in SIGNED) != (second in SIGNED):
            one, two = one.abs(), two.abs()
        return spearman(one.numpy(), two.numpy())

    def summary(self) -> str:
        """The output that the scores explain, and how complete they are."""
        piece, against = self.contrast.translator.tokenizer.target.piece, self.contrast.against
        minus = "" if against is None else f" - log p({piece(against)})"
        explained = (
            f"log p({piece(self.contrast.token)}){minus}: {self.output:.4f}, of the baseline {self.baseline:.4f}"
        )
        if "integrated_gradients" not in self.scores:
            return explained
        gap = self.gap("integrated_gradients")
        return f"{explained}\nintegrated gradients: gap {gap:.4f} with {self.points} points"

    def answer(self, at: Head = FIRST) -> str:
        """The output that the scores explain."""
        a, b = self._names()
        baseline = Number(self.baseline, "+.2f")
        if not b:
            return Phrase(
                marked(
                    "\u201c{a}\u201d: log-probability {value} nats, probability {probability}. With unknown tokens: "
                    "{baseline}."
                ),
                a=a,
                value=Number(self.output, ".2f"),
                probability=Number(math.exp(self.output), ".3f"),
                baseline=baseline,
            )
        ratio, (better, other) = math.exp(min(abs(self.output), 700)), (a, b) if self.output >= 0 else (b, a)
        return Phrase(
            marked(
                "\u201c{a}\u201d rather than \u201c{b}\u201d: {value} nats; {better} is {times} times as probable as "
                "{other}. With unknown tokens: {baseline}."
            ),
            a=a,
            b=b,
            value=Number(self.output, "+.2f"),
            better=better,
            times=Number(ratio, ",.0f" if ratio >= 10 else ".1f"),
            other=other,
            baseline=baseline,
        )

    def pictures(self, at: Head = FIRST, words: bool = True, hide_special: bool = False) -> tuple[Grid, Grid]:
        """The scores of `rows`, a column of bars for each method, and the rank correlations between methods."""
        rows, (a, b) = self.rows(words, hide_special), self._names()
        columns = [self._bars(method, rows) for method in self.scores]
        lines: list[tuple[str, list[Cell]]] = []
        for side, of_side in groupby(enumerate(rows), key=lambda each: each[1].side):
            lines.append((Phrase(SIDES[side]), []))
            lines += [(row.name, [column[index] for column in columns]) for index, row in of_side]
        num_signed = sum(method in SIGNED for method in self.scores)
        groups = (
            (Phrase(marked("A rather than B, in nats")), num_signed),
            (Phrase(marked("Shares of the row")), len(self.scores) - num_signed),
        )
        scores = Grid(
            title=Phrase(marked("Why {a} rather than {b}"), a=a, b=b) if b else Phrase(marked("Why {a}"), a=a),
            legend=Phrase(marked("against A, for A; the longest bar of a method fills its column")),
            ends=("\u2212", "+"),
            scale="diverging",
            columns=[Phrase(NAMES[method][1]) for method in self.scores],
            rows=lines,
            width=8,
            groups=[group for group in groups if group[1]],
        )
        correlations = Grid(
            title=Phrase(marked("Rank correlations between methods")),
            legend=Phrase(marked("Spearman's rank correlation")),
            ends=("\u22121", "+1"),
            scale="diverging",
            columns=[NAMES[method][2] for method in self.scores],
            rows=[
                (Phrase(NAMES[first][1]), [self._correlation_cell(first, second) for second in self.scores])
                for first in self.scores
            ],
            width=5,
        )
        return scores, correlations

    def _names(self) -> tuple[str, str]:
        """A and B; "" if there is no B."""
        contrast, piece = self.contrast, self.contrast.translator.codec.piece
        return readable(piece(contrast.token)), "" if contrast.against is None else readable(piece(contrast.against))

    def _sums(self, method: ContrastMethod, rows: Sequence[TokenRow]) -> list[float]:
        scores = self.scores[method]
        return [float(scores[row.indices.start : row.indices.stop].sum()) for row in rows]

    def _bars(self, method: ContrastMethod, rows: Sequence[TokenRow]) -> list[Cell]:
        values = self._sums(method, rows)
        longest = max(map(abs, values), default=0.0) or 1.0
        return [bar_cell(value, longest, signed=method in SIGNED) for value in values]

    def _correlation_cell(self, first: ContrastMethod, second: ContrastMethod) -> Cell | None:
        if first == second:
            return None
        value = self.correlation(first, second)
        text = "\u2013" if math.isnan(value) else Number(value, ".2f")
        return Cell(text=text, says=text, shade=0.0 if math.isnan(value) else value)


def attribute_contrast(
    translator: Translator,
    source: str,
    target: str | Sequence[int],
    position: int,
    token: int | None = None,
    against: int | None = None,
    methods: Sequence[ContrastMethod] | None = None,
) -> ContrastAttribution:
    """Attribute one prediction, as of `contrast_at`, to the source and prefix tokens.

    Args:
        methods: None for `methods_of` the model.

    Raises:
        ValueError: as `contrast_at`; a method is unknown, or does not apply to the model.
        NonFiniteError: an output or a gradient of the model is not finite.
        DisagreementError: ALTI cannot decompose this model, see `decompose`.
    """
    *_, attribution = contrast_steps(contrast_at(translator, source, target, position, token, against), methods)
    return attribution


def contrast_steps(
    contrast: Contrast, methods: Sequence[ContrastMethod] | None = None
) -> Iterator[ContrastAttribution]:
    """Attribute one prediction as `attribute_contrast`, method by method; stop iterating to cancel the rest.

    Yields:
        The attribution without scores, then with those of one more method each.
    """
    offered = methods_of(contrast.translator.config)
    methods = offered if methods is None else methods
    for method in methods:
        if method not in METHODS:
            raise ValueError(f"there is no method {method!r}: give one of {', '.join(METHODS)}")
        if method not in offered:
            raise ValueError(f"{NO_INTEGRAL}. Give one of {', '.join(offered)}")
    ones = contrast.ones()
    output, baseline = contrast.outputs(torch.cat((ones, 0 * ones))).tolist()
    points, trace = 0, None
    scores: dict[ContrastMethod, Tensor] = {}
    yield ContrastAttribution(contrast, output, baseline, points, scores)
    for method in methods:
        if method == "integrated_gradients":
            method_scores, points = integrated_gradients(contrast)
        elif method in SIGNED:
            method_scores = DIFFERENCES[method](contrast)
        else:
            trace = trace or trace_forward(contrast.translator, contrast.source, contrast.target)
            method_scores = SHARES[method](trace, contrast.position)
        scores = {**scores, method: method_scores.float().cpu()}
        yield ContrastAttribution(contrast, output, baseline, points, scores)


@dataclass(frozen=True)
class AttributeOptions:
    """Options of `attribute`; the token is that at a position counted from 0, the others are ids."""

    token: int = option(**PREDICTED_TOKEN)
    piece: int | None = option(None, "explain this piece instead of the predicted one, such as \u2581Hund", **PIECE)
    against: int | None = option(
        None, "why not this piece (default: the most probable other one)", group="other", **PIECE
    )
    alone: bool = option(False, "explain the log-probability of the token alone", group="other")
    methods: tuple[ContrastMethod, ...] | None = option(None, METHODS_HELP, metavar="NAME", choices=METHODS)


def attribute(
    translator: Translator, source: str, target: str | Sequence[int], options: AttributeOptions
) -> ContrastAttribution:
    """Attribute a predicted token, rather than another, to source and prefix tokens.

    Raises:
        ValueError: as `attribute_contrast`.
    """
    against = options.against
    if against is None and not options.alone:
        against = runner_up(contrast_at(translator, source, target, options.token, options.piece))
    return attribute_contrast(translator, source, target, options.token, options.piece, against, options.methods)


ATTRIBUTE = Analysis(
    "attribute",
    "attribute a predicted token, rather than another, to source and prefix tokens",
    attribute,
    AttributeOptions,
)
