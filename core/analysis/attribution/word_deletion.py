"""The words of the source without which a prediction falls: each left out alone.

An intervention on the input, after Li et al. 2016, "Understanding Neural Networks through Representation Erasure": the
model predicts again without one word of the source, and the probability of the predicted token is compared. All words
are left out in turn, so that a word drawn by lot is one of them: the median over the others is the control.
"""

from dataclasses import dataclass, replace

from core.analysis.attribution.attribute import ContrastAttribution, TokenRow
from core.analysis.attribution.contrast_methods import NAMES, ContrastMethod
from core.analysis.attribution.deletion_curves import probabilities_without
from core.analysis.removals import Removals, probability_of
from core.text.phrases import Phrase, listed, marked


@dataclass(frozen=True)
class WordDeletions:
    """The probability of a predicted token, whole and without each word of the source."""

    attribution: ContrastAttribution
    before: float
    words: tuple[TokenRow, ...]  # words with a letter or a digit
    after: tuple[float, ...]  # without each of them

    @property
    def removals(self) -> Removals:
        """The probability without each of the words, one at least."""
        contrast = self.attribution.contrast
        what = probability_of(contrast.translator, contrast.prefix_ids, contrast.token)
        names = [Phrase(marked("\u201c{text}\u201d"), text=row.name) for row in self.words]
        return Removals("word", what, self.before, names, self.after)

    def answer(self) -> Phrase:
        """The word without which the prediction falls most, if it does, beside a word drawn by lot."""
        return self.removals.answer() if self.words else Phrase(marked("The source has no word to leave out."))

    def agreement(self) -> Phrase | None:
        """Which methods rank this word first among those of the source, and what the others do; None without one."""
        if not self.words or (place := self.removals.decisive) is None or not self.attribution.scores:
            return None
        decisive = self.words[place].name
        first: dict[ContrastMethod, str] = {
            method: max(self.words, key=lambda row: float(scores[row.indices.start : row.indices.stop].sum())).name
            for method, scores in self.attribution.scores.items()
        }
        values = {"count": str(len(first)), "agreeing": str([*first.values()].count(decisive)), "word": decisive}
        others = [
            Phrase(marked("{method}: \u201c{word}\u201d"), method=Phrase(NAMES[method][0]), word=name)
            for method, name in first.items()
            if name != decisive
        ]
        if not others:
            return Phrase(marked("All {count} methods rank \u201c{word}\u201d first of the source."), **values)
        words = marked("{agreeing} of {count} methods rank \u201c{word}\u201d first of the source; {others}.")
        return Phrase(words, others=listed(others), **values)


def word_deletions(attribution: ContrastAttribution) -> WordDeletions:
    """Leave out each word of the source that has a letter or a digit, one at a time.

    A word that is not of the sentence, such as the code of a language, is not left out.
    """
    contrast = replace(attribution.contrast, against=None)
    ordinary = set(contrast.ordinary)
    words = [
        row
        for row in attribution.rows(words=True, hide_special=True)
        if row.side == "source" and any(map(str.isalnum, row.name)) and ordinary.issuperset(row.indices)
    ]
    before, *after = probabilities_without(contrast, [(), *(row.indices for row in words)])
    return WordDeletions(attribution, before, tuple(words), tuple(after))
