"""Signs that a translation is bad, each with a name, of one pair of a source x and its translation y.

The value of a sign is larger the stronger it is; it fires from a threshold on (`core.analysis.signs.thresholds`). P is
the model's, by forced decoding, and `</s>` stands for a source without words. T is the number of predicted tokens.

    detached    -(1/T) [2 log P(y | x) - log P(y | </s>)]: how improbable the translation is, less what the source adds
                (pointwise mutual information); in nats per token
    repetition  repeated pairs of neighbouring words, those of the translation minus those of the source
    numbers, copied, lost   of the two texts alone, see `core.analysis.signs.text_signs`
    doubtful    the largest over words of min(-log P(w | x), log P(w | </s>) - log P(w | x)): the model finds the word
                improbable, and more so because of the source; in nats
    left_out    the largest over spans of the source of what leaving them out adds to the mean log-probability of a
                token, see `core.analysis.signs.left_out`

Mean log-probability and repeated n-grams are detectors that N. Guerreiro, E. Voita and A. Martins compare (Looking for
a Needle in a Haystack, EACL 2023), the former the best of theirs. Attention is no part of any sign.

The signs know these pathologies, not ordinary errors: `python -m benchmarks.signs` measures both.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from core.analysis.heads.word_pair import PlacedWord, Side
from core.analysis.signs.text_signs import MEASURES, TEXT_SIGNS, TextSignName
from core.analysis.tokens.words import spelled_words, text_word_groups, word
from core.decoding.text_codec import PassIds
from core.text.byte_pieces import is_special
from core.text.traced_text import Span
from core.translator import Translator

SignName = Literal["detached", "repetition", TextSignName, "doubtful", "left_out"]
SIGNS: tuple[SignName, ...] = ("detached", "repetition", *TEXT_SIGNS, "doubtful", "left_out")
Pair = tuple[str, str | Sequence[int]]  # a source and its translation, as for `Translator.score`
_Words = Sequence[tuple[range, str]]
MOST_MARKED = 8  # words of a sign


class MarkedWord(NamedTuple):
    """A word that a sign is about, and the value that it alone gives the sign."""

    word: PlacedWord
    value: float


@dataclass(frozen=True)
class Sign:
    """A sign of one pair."""

    name: SignName
    value: float  # see the module docstring; minus infinity if the pair has no word of which it could be
    words: tuple[MarkedWord, ...] = ()  # those it is about; none if it is about the whole translation

    def fires(self, threshold: float | None) -> bool:
        """Whether the value reaches a threshold; never without one."""
        return threshold is not None and self.value >= threshold

    def reaching(self, threshold: float | None) -> list[PlacedWord]:
        """The words that reach a threshold, those with the largest values first; none without one."""
        reached = [each for each in self.words if threshold is not None and each.value >= threshold]
        return [each.word for each in sorted(reached, key=lambda each: -each.value)]

    def marked(self, threshold: float | None) -> list[PlacedWord]:
        """The first `MOST_MARKED` of `reaching`: of a bad translation nearly all words may reach a threshold."""
        return self.reaching(threshold)[:MOST_MARKED]

    def strongest(self) -> list[PlacedWord]:
        """The words with the largest value."""
        most = max((each.value for each in self.words), default=0.0)
        return [each.word for each in self.words if each.value == most]


@dataclass(frozen=True)
class ForcedPair:
    """Forced decoding of one pair, with and without the words of the source.

    Attributes:
        source, target: their texts.
    """

    source_tokens: tuple[str, ...]
    tokens: tuple[str, ...]
    log_probs: tuple[float, ...]  # of the T tokens of the translation, in nats
    without_source: tuple[float, ...]  # the same given `</s>` alone
    num_forced: int = 0  # tokens at the start that are no predictions
    source: str = ""
    target: str = ""

    @property
    def words(self) -> list[tuple[range, str]]:
        """Predicted words of the translation."""
        return [(group, text) for group, text in spelled_words(self.tokens) if group.start >= self.num_forced]

    def surprisal(self, group: range) -> float:
        """-log P of a word, given the source, in nats."""
        return -math.fsum(self.log_probs[group.start : group.stop])

    def contrast(self, group: range) -> float:
        """What the source adds to the log-probability of a word, in nats."""
        return -self.surprisal(group) - math.fsum(self.without_source[group.start : group.stop])


def pair_signs(translator: Translator, pairs: Sequence[Pair]) -> list[Mapping[SignName, Sign]]:
    """The signs of each pair that two passes or the texts tell: all but `left_out`.

    Raises:
        ValueError: as `Translator.score`.
    """
    return [signs_of(each) for each in forced_pairs(translator, pairs)]


def signs_of(pair: ForcedPair) -> Mapping[SignName, Sign]:
    """The signs that the forced decoding of a pair and its texts tell."""
    measured: dict[SignName, Sign] = {name: measure(pair) for name, measure in _MEASURES.items()}
    measured |= {name: _text_sign(pair, name) for name in TEXT_SIGNS}
    return {name: measured[name] for name in SIGNS if name in measured}


def forced_pairs(translator: Translator, pairs: Sequence[Pair]) -> Iterator[ForcedPair]:
    """Decode translations with and without the words of their sources.

    Raises:
        ValueError: as `Translator.score`.
    """
    given = [translator.codec.scored_ids(source, target) for source, target in pairs]
    tokens_of = [translator.codec.source_pieces(ids.source) for ids in given]
    bare = [
        ids._replace(source=_without_words(translator, ids, tokens))
        for ids, tokens in zip(given, tokens_of, strict=True)
    ]
    log_probs = dict(translator.shared.pass_log_probs([*given, *bare]))
    for number, (ids, tokens) in enumerate(zip(given, tokens_of, strict=True)):
        source, predicted = pairs[number][0], ids.predicted
        with_source, without = (
            tuple(translator.codec.with_certain_first(log_probs[place], predicted, source))
            for place in (number, number + len(given))
        )
        forced = translator.codec.num_forced(predicted, source)
        text = pairs[number][1]
        if not isinstance(text, str):
            text = translator.tokenizer.target.decode(ids.fed[1:])
        yield ForcedPair(tokens, translator.codec.pieces(predicted), with_source, without, forced, source, text)


def _without_words(translator: Translator, ids: PassIds, tokens: Sequence[str]) -> list[int]:
    """The special tokens of a source: its `</s>`, and codes of languages."""
    special = [token_id for token_id, token in zip(ids.source, tokens, strict=True) if is_special(token)]
    return special or [translator.config.eos_id]


# --- the measures ---------------------------------------------------------------------------------------------------


def _detached(pair: ForcedPair) -> Sign:
    predicted = range(pair.num_forced, len(pair.log_probs))
    total = pair.surprisal(predicted) - pair.contrast(predicted)
    return Sign("detached", total / len(predicted) if predicted else -math.inf)


def _repetition(pair: ForcedPair) -> Sign:
    words, source = pair.words, spelled_words(pair.source_tokens)
    repeated = _repeated_pairs(words)
    value = float(len(repeated) - len(_repeated_pairs(source)))
    places = dict.fromkeys(place for first in repeated for place in (first, first + 1))
    return Sign("repetition", value, tuple(MarkedWord(("target", words[place][0]), value) for place in places))


def _repeated_pairs(words: _Words) -> list[int]:
    """Numbers of the words that begin a pair of neighbours that has occurred before, whatever their case."""
    texts = [text.casefold() for _, text in words]
    seen = set[tuple[str, str]]()
    repeated: list[int] = []
    for place, neighbours in enumerate(itertools.pairwise(texts)):
        if neighbours in seen:
            repeated.append(place)
        seen.add(neighbours)
    return repeated


def _text_sign(pair: ForcedPair, name: TextSignName) -> Sign:
    found = MEASURES[name](pair.source, pair.target)
    places: list[PlacedWord] = [
        *_words_at("source", pair.source_tokens, pair.source, found.source),
        *_words_at("target", pair.tokens, pair.target, found.target),
    ]
    return Sign(name, found.value, tuple(MarkedWord(place, found.value) for place in places))


def _words_at(side: Side, tokens: Sequence[str], text: str, spans: Sequence[Span]) -> Iterator[PlacedWord]:
    """Words that have characters of a text."""
    stop = 0
    for group in text_word_groups(tokens) if spans else ():
        label = word(tokens[group.start : group.stop])
        if (start := text.find(label, stop)) >= 0:  # otherwise normalized
            stop = start + len(label)
            if any(first < stop and start < last for first, last in spans):
                yield side, group


def _doubtful(pair: ForcedPair) -> Sign:
    values = ((group, min(pair.surprisal(group), -pair.contrast(group))) for group, _ in pair.words)
    marks = sorted((MarkedWord(("target", group), value) for group, value in values), key=lambda mark: -mark.value)
    return Sign("doubtful", marks[0].value if marks else -math.inf, tuple(marks))


_MEASURES: Mapping[SignName, Callable[[ForcedPair], Sign]] = {
    "detached": _detached,
    "repetition": _repetition,
    "doubtful": _doubtful,
}
