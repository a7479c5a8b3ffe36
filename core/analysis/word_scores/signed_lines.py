"""The signs of a file of translations, sentence by sentence, and the sentences in the order of a sign."""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from core.analysis.heads.word_pair import PlacedWord
from core.analysis.signs.left_out import left_out
from core.analysis.signs.pair_signs import SIGNS, Sign, SignName, forced_pairs, signs_of
from core.analysis.signs.thresholds import SignThresholds
from core.analysis.tokens.words import word, word_groups
from core.analysis.word_scores.scored_lines import WINDOW, ScoredLine
from core.translator import Translator

LEFT_OUT_LINES = 50  # sentences in which source words are left out one after the other


@dataclass(frozen=True)
class SignedLine:
    """A sentence with its signs; `left_out` only where it was computed."""

    line: ScoredLine
    source_tokens: tuple[str, ...]
    signs: Mapping[SignName, Sign]

    def firing(self, thresholds: SignThresholds) -> list[Sign]:
        """The signs that fire, in the order of `SIGNS`, of those that are offered for such a translation."""
        limits = thresholds.offered(self.line.is_given)
        return [self.signs[name] for name in SIGNS if name in self.signs and self.signs[name].fires(limits[name])]

    def marked(self, thresholds: SignThresholds, by: SignName | None = None) -> list[PlacedWord]:
        """The words that the firing signs are about, each once, and the strongest of a sign that need not fire."""
        words = [word for sign in self.firing(thresholds) for word in sign.marked(thresholds[sign.name])]
        if by is not None and by in self.signs:
            words += self.signs[by].strongest()
        return list(dict.fromkeys(words))

    def words(self, thresholds: SignThresholds, by: SignName | None = None) -> str:
        """The text of the `marked` words, and the number of the others that reach a threshold: `Mos street +3`."""
        marked = self.marked(thresholds, by)
        reaching = {word for sign in self.firing(thresholds) for word in sign.reaching(thresholds[sign.name])}
        more = len(reaching.difference(marked))
        return " ".join([*self.texts(marked), *([f"+{more}"] if more else [])])

    def numbered(self, words: Iterable[PlacedWord]) -> list[str]:
        """Names of words for links to the app, such as `target.3`, counted from 1."""
        tokens = {"source": self.source_tokens, "target": self.line.target.tokens}
        groups = {side: word_groups(each) for side, each in tokens.items()}
        return [f"{side}.{groups[side].index(group) + 1}" for side, group in words]

    def texts(self, words: Iterable[PlacedWord]) -> list[str]:
        """Labels of words."""
        tokens = {"source": self.source_tokens, "target": self.line.target.tokens}
        return [word(tokens[side][group.start : group.stop]) for side, group in words]


def sign_lines(translator: Translator, lines: Iterable[ScoredLine]) -> Iterator[SignedLine]:
    """Add the signs of `pair_signs`, in order.

    Raises:
        ValueError: as `Translator.score`.
    """
    rest = iter(lines)
    while window := list(itertools.islice(rest, WINDOW)):
        pairs = forced_pairs(translator, [(line.source, line.target.token_ids) for line in window])
        for line, pair in zip(window, pairs, strict=True):
            yield SignedLine(line, pair.source_tokens, signs_of(pair))


def add_left_out(translator: Translator, lines: list[SignedLine], most: int = LEFT_OUT_LINES) -> Iterator[SignedLine]:
    """Add the sign `left_out`, in place, to the least probable translations; yield each sentence when it is done.

    It takes some 50 passes each. Sentences that have too many spans (`span_values`) keep the other signs.
    """
    means = [sum(each.line.target.token_log_probs) / len(each.line.target.token_log_probs) for each in lines]
    for index in sorted(range(len(lines)), key=means.__getitem__)[:most]:
        line = lines[index].line
        with suppress(ValueError):  # too long
            sign = left_out(translator, line.source, line.target.token_ids)
            lines[index] = replace(lines[index], signs={**lines[index].signs, "left_out": sign})
        yield lines[index]


def sign_file(translator: Translator, lines: Iterable[ScoredLine], most: int = LEFT_OUT_LINES) -> list[SignedLine]:
    """Sentences with all signs, in order; `left_out` as of `add_left_out`.

    Raises:
        ValueError: as `sign_lines`.
    """
    signed = list(sign_lines(translator, lines))
    for _ in add_left_out(translator, signed, most):
        pass
    return signed


def sign_columns(
    lines: Sequence[SignedLine], thresholds: SignThresholds, by: SignName | None = None
) -> dict[str, list[Any]]:
    """A row for each sentence: signs that fire, the `marked` words, and values; None for a sign not computed."""
    return {
        "signs": [" ".join(sign.name for sign in each.firing(thresholds)) for each in lines],
        "words": [each.words(thresholds, by) for each in lines],
        **{name: [each.signs[name].value if name in each.signs else None for each in lines] for name in SIGNS},
        "line": [each.line.number for each in lines],
        "source": [each.line.source for each in lines],
        "translation": [each.line.target.text for each in lines],
    }


def ranked_lines(
    lines: Sequence[SignedLine], thresholds: SignThresholds, by: SignName | None = None
) -> list[SignedLine]:
    """Sentences with the strongest sign first; without one, by the number of signs that fire, then by `detached`."""

    def strength(each: SignedLine) -> tuple[float, float]:
        if by is None:
            return float(len(each.firing(thresholds))), each.signs["detached"].value
        return (each.signs[by].value, 0.0) if by in each.signs else (float("-inf"), 0.0)

    return sorted(lines, key=strength, reverse=True)
