"""The analysis `pair`: which heads link two words, the most weight first.

The weight between two words is summed over the pieces of the key and averaged over the rows of the query, which are
steps of the decoder if the query is of the translation (`core.analysis.tokens.words.mean_over_words`). Which kind of
attention links two words follows from where they stand:

- two words of the source: self-attention of the encoder, from the query to the key;
- a word of the translation and one of the source: cross-attention, from the row that predicts the former;
- two words of the translation: self-attention of the decoder, from the row that predicts the later to the position
  that the earlier was fed to. The other way there is no weight, as the mask hides what is not written yet.

A large weight says that information may have flowed between the words, not that it decided the outcome.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from core.analysis.declaration import FIRST, Analysis, Columns, PicturedResult, option
from core.analysis.pictures import Dot, Dots
from core.analysis.tokens.words import word, word_groups
from core.capture import AttentionMap
from core.files.tabular import as_columns
from core.results import Explanation
from core.text.phrases import Number, Phrase, marked
from core.trace import Head, Kind
from core.translator import Translator

Side = Literal["source", "target"]
PlacedWord = tuple[
    Side, range
]  # a side, and positions of the word's tokens in its `source_tokens` or `predicted_tokens`


@dataclass(frozen=True)
class WordPair:
    """Two words that one kind of attention links."""

    kind: Kind
    rows: range  # positions of the query's rows in the maps of this kind
    keys: range  # positions of the key's columns
    query: PlacedWord
    key: PlacedWord


class HeadWeight(NamedTuple):
    """Weight of one head between two words."""

    head: Head
    weight: float


@dataclass(frozen=True)
class PairHeads(PicturedResult):
    """All heads of the kind that links two words, the most weight first."""

    pair: WordPair
    query_text: str  # the word as it is displayed, as `key_text`
    key_text: str
    heads: tuple[HeadWeight, ...]

    def table(self) -> Columns:
        """A row for each head, best first; layers and heads are counted from 0."""
        return as_columns((*Head._fields, "weight"), ((*head, weight) for head, weight in self.heads))

    def pictures(self, at: Head = FIRST) -> tuple[Dots]:
        """The weight of each head."""
        dots = [Dot(head=head, value=weight, says=Number(weight, ".3f")) for head, weight in sorted(self.heads)]
        title = Phrase(marked("{query} \u2192 {key}"), query=self.query_text, key=self.key_text)
        axis = Phrase(marked("weight"))
        return (Dots(title=title, axis=axis, dots=dots, num_layers=1 + dots[-1].head.layer),)

    def answer(self, at: Head = FIRST) -> str:
        """The head with the most weight."""
        head, weight = self.heads[0]
        return Phrase(
            marked("{query} \u2192 {key}: {head} has the most weight, {weight}."),
            query=self.query_text,
            key=self.key_text,
            head=head.short,
            weight=Number(weight, ".3f"),
        )

    def summary(self) -> str:
        """The answer."""
        return self.answer()


def word_pair(explanation: Explanation, one: PlacedWord, other: PlacedWord) -> WordPair | None:
    """Say which kind of attention links two words, and which is the query: in the encoder the one selected first.

    None if nothing links them: they are the same, or the maps lack that kind.
    """
    if one == other:
        return None
    sides = one[0], other[0]
    if sides == ("source", "source"):
        kind, (query, key) = "encoder_self", (one, other)
    elif "source" in sides:
        kind, (query, key) = "cross", (one, other) if one[0] == "target" else (other, one)
    else:
        kind, (key, query) = "decoder_self", sorted((one, other), key=lambda each: each[1].start)
    keys = key[1]
    if kind == "decoder_self":  # output tokens are fed one position later
        keys = range(keys.start + 1, keys.stop + 1)
    return WordPair(kind, query[1], keys, query, key) if explanation.maps.get(kind) else None


def pair_weights(attention: AttentionMap, pair: WordPair) -> list[float]:
    """Weight of each head of a layer between the two words, by any method's map with all tokens."""
    weights = attention.weights[:, pair.rows.start : pair.rows.stop, pair.keys.start : pair.keys.stop]
    return weights.sum(2).mean(1).tolist()


def rank_heads(explanation: Explanation, pair: WordPair, maps: Sequence[AttentionMap] | None = None) -> PairHeads:
    """Order the heads by their weight between two words, by the recorded weights or another method's maps."""
    found = [
        HeadWeight(Head(pair.kind, layer.layer, head), weight)
        for layer in (explanation.maps[pair.kind] if maps is None else maps)
        for head, weight in enumerate(pair_weights(layer, pair))
    ]
    query, key = _text(explanation, pair.query), _text(explanation, pair.key)
    return PairHeads(pair, query, key, tuple(sorted(found, key=lambda each: -each.weight)))


def _text(explanation: Explanation, placed: PlacedWord) -> str:
    side, positions = placed
    return _word(explanation.source_tokens if side == "source" else explanation.predicted_tokens, positions)


def _word(tokens: Sequence[str], positions: range) -> str:
    return str(word(tokens[positions.start : positions.stop]))


# --- the command ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PairOptions:
    """Options of `pair`: names of the two words, see `named_word`; `word_pair` says which of them is the query."""

    query: str = option(help="the word that attends: its side and number, such as source.8", metavar="WORD")
    key: str = option(help="the word that is attended to, such as source.2", metavar="WORD")


def named_word(explanation: Explanation, name: str) -> PlacedWord:
    """Find a word by its side and its number from 1, such as `source.3`, as addresses of the app have it.

    Raises:
        ValueError: there is no such word.
    """
    found = re.fullmatch(r"(source|target)\.([1-9]\d{0,3})", name)
    side: Side = "source" if name.startswith("source") else "target"
    tokens = explanation.source_tokens if side == "source" else explanation.predicted_tokens
    groups = word_groups(tokens)
    if found is None or int(found[2]) > len(groups):
        words = " ".join(f"{side}.{number}:{_word(tokens, group)}" for number, group in enumerate(groups, start=1))
        raise ValueError(f"{name} is not a word of this sentence: give one such as source.3, of {words}")
    return side, groups[int(found[2]) - 1]


def word_number(explanation: Explanation, placed: PlacedWord) -> str:
    """Name a word as `named_word` reads it."""
    side, positions = placed
    groups = word_groups(explanation.source_tokens if side == "source" else explanation.predicted_tokens)
    return f"{side}.{groups.index(positions) + 1}"


def pair_heads(translator: Translator, source: str, target: str | Sequence[int], options: PairOptions) -> PairHeads:
    """Order the heads by their weight between two words of a sentence and its translation.

    Raises:
        ValueError: as `Translator.explain` and `named_word`, or both words are the same.
    """
    explanation = translator.explain(source, target)
    pair = word_pair(explanation, named_word(explanation, options.query), named_word(explanation, options.key))
    if pair is None:
        raise ValueError(f"{options.query} and {options.key} are the same word: give two different ones")
    return rank_heads(explanation, pair)


PAIR = Analysis("pair", "print the heads by the weight between two words", pair_heads, PairOptions)
