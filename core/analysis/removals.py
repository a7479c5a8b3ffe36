"""A number of the model, and the same without each of some parts, removed alone: which part it rests on.

All parts are removed in turn, so that one drawn by lot is one of them: the median over the others is the control.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

from torch import Tensor

from core.analysis.tokens.words import readable, word, word_groups
from core.text.phrases import Number, Phrase, marked
from core.translator import Translator

DECIDES = 0.5  # a part decides if less than this share of the number is left without it
TEXTS = {  # of the control, and where no part decides
    "word": (marked("without a word drawn by lot"), marked("No single word decides")),
    "head": (marked("without a head drawn by lot"), marked("No single head decides")),
    "layer": (marked("without a layer drawn by lot"), marked("No single layer decides")),
    "summand": (marked("without a summand drawn by lot"), marked("No single summand of the keys decides")),
}


@dataclass(frozen=True)
class Removals:
    """A number from 0 to 1, whole and without each of some parts."""

    kind: Literal["word", "head", "layer", "summand"]
    what: Phrase  # what the number is of, such as `probability_of`
    before: float
    parts: Sequence[str]  # names, one at least
    after: Sequence[float]  # the number without each of them
    instead: str = ""  # token that is more probable without the part without which least is left, see `token_instead`

    @property
    def decisive(self) -> int | None:
        """Index of the part without which least is left; None unless below `DECIDES` or another token then leads."""
        least = min(self.after)
        return self.after.index(least) if self.instead or least < DECIDES * self.before else None

    def answer(self) -> Phrase:
        """The part without which the number falls most, beside one drawn by lot, or that none decides."""
        least, *others = sorted(self.after)
        part, before = self.parts[self.after.index(least)], Number(self.before, ".2f")
        values = {"part": part, "what": self.what, "before": before, "least": Number(least, ".2f")}
        control, none = TEXTS[self.kind]
        if not others:
            return Phrase(marked("Without {part}, {what} is {least} instead of {before}."), **values)
        words = marked(
            "Without {part}, {what} falls from {before} to {least}; {control}, to {lot}, the median of the other "
            "{count}."
        )
        if self.instead:
            words = marked(
                "Without {part}, {what} falls from {before} to {least}, and \u201c{instead}\u201d is the most "
                "probable; {control}, to {lot}, the median of the other {count}."
            )
        elif self.decisive is None:
            words = marked(
                "{none}: {what} is {before}, and without {part} still {least}; {control}, {lot}, the median of the "
                "other {count}."
            )
        lot, count = Number(median(others), ".2f"), Number(len(others), ",")
        values |= {"none": Phrase(none), "control": Phrase(control), "instead": self.instead}
        return Phrase(words, lot=lot, count=count, **values)


def probability_of(translator: Translator, fed: Sequence[int], predicted: int) -> Phrase:
    """Name of the probability of a token, within a sentence: of a piece, with the beginning of its word before it."""
    tokens = [translator.codec.piece(each) for each in (*fed, predicted)]
    begun = tokens[word_groups(tokens)[-1].start : -1]
    words = marked("the probability of \u201c{token}\u201d")
    if not begun:
        return Phrase(words, token=readable(tokens[-1]))
    words = marked("the probability of \u201c{token}\u201d after \u201c{begun}\u201d")
    return Phrase(words, token=readable(tokens[-1]), begun=word(begun))


def token_instead(translator: Translator, logits: Tensor, predicted: int) -> str:
    """The most probable token without a part, if it replaces the predicted token as the most probable; else "".

    Args:
        logits: [2, V] without the part, and with it.
    """
    without, whole = logits.argmax(-1).tolist()
    return readable(translator.codec.piece(without)) if whole == predicted != without else ""


def left_by_lot(words: str, change: float, drawn: Sequence[float]) -> Phrase:
    """Say which share of a probability is left after a change of its logarithm, and the median after drawn ones."""
    left, lot = (Number(math.exp(each), ".0%") for each in (change, median(drawn)))
    return Phrase(words, left=left, change=Number(change, "+.2f"), lot=lot, count=Number(len(drawn), ","))
