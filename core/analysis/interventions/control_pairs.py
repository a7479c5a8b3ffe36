"""Minimal pairs by phenomenon, and whether a head tells the two sentences of one apart.

That a head gives *animal* 0.36 from *it* does not show that it knows what *it* is, while it gives as much where *it* is
the street. So a claim about a head has its control beside it: the same weight in a sentence that differs in the words
that decide, and what becomes of both translations without the head.
"""

import re
from itertools import chain
from typing import Literal, NamedTuple

from core.analysis.heads.gated_translation import translate_gated
from core.analysis.tokens.words import spelled_words
from core.text.phrases import Number, Phrase, marked
from core.trace import Head, Kind
from core.translator import Translator

Phenomenon = Literal["coreference", "negation", "agreement", "number", "tense", "order"]
APART = 0.1  # weight, of a row that sums to 1, by which a head tells two sentences apart
PRONOUNS = ("he", "she", "it", "they", "him", "her", "them", "his", "its", "their")
NEGATION = re.compile(
    r"nicht|kein\w*|nie|niemals|niemand\w*|nichts|ne|n['\u2019]\w+|pas|jamais|no|not|never|\w+n['\u2019]t"
)


class ControlPair(NamedTuple):
    """Two sentences of equally many words, and two words of the first by their numbers among `spelled_words`."""

    texts: tuple[str, str]
    query: int  # the word that attends; in cross-attention any row does
    key: int  # the word attended to


def _pair(text: str) -> ControlPair:
    query, key = (next(number for number, word in enumerate(text.split()) if mark in word) for mark in "<[")
    one, two = (re.sub(r"(\w+)\|(\w+)", rf"\{side}", re.sub(r"[][<>]", "", text)) for side in (1, 2))
    return ControlPair((one, two), query, key)


# Words with a bar are those of the first and of the second sentence; <the word that attends>, [the word attended to].
_PAIRS: dict[Phenomenon, tuple[str, ...]] = {
    "coreference": (
        "The [animal] didn't cross the street because <it> was too tired|wide.",
        "The [cat] drank the milk because <it> was hungry|warm.",
        "The [dog] left the house because <it> was hungry|cold.",
    ),
    "negation": ("He has [never|often] <seen> the sea.", "The house is [not|very] <old>."),
    "agreement": (
        "I know the [friend] of the girls <who> is|are ill.",
        "My [sister|brother] is a <teacher>. She|He works in Hamburg.",
    ),
    "number": (
        "The dogs chased the [cat] because <it|they> was|were fast.",
        "The children saw the [bird] because <it|they> was|were loud.",
    ),
    "tense": ("I <read> the letter [yesterday|today].", "They <put> the bread on the table [yesterday|now]."),
    "order": ("The [dog|man] <sees> the man|dog.", "The [teacher|student] <thanked> the student|teacher."),
}
PAIRS: dict[Phenomenon, list[ControlPair]] = {name: [*map(_pair, texts)] for name, texts in _PAIRS.items()}
# Of each sentence the other one, as a proposal.
PARTNERS: dict[str, list[tuple[Phenomenon, str]]] = {
    one: [(name, two)] for name in PAIRS for pair in PAIRS[name] for one, two in (pair.texts, pair.texts[::-1])
}


def pair_for(kind: Kind, text: str, query: tuple[int, str], key: tuple[int, str]) -> ControlPair | None:
    """The pair that controls whether heads of a kind do what a link between two words of a sentence suggests.

    That is the sentence's own pair if it has one, or else the first of the phenomenon; None if the link suggests none.

    Args:
        query, key: number and text of each word; in cross-attention the number of the query does not matter.
    """
    for each in chain(*PAIRS.values()):
        if text in each.texts and (key[0] == each.key if kind == "cross" else query[0] == each.query):
            return each._replace(texts=each.texts if text == each.texts[0] else each.texts[::-1], key=key[0])
    if kind == "encoder_self" and query[1].lower() in PRONOUNS:
        return PAIRS["coreference"][0]
    return PAIRS["negation"][0] if NEGATION.fullmatch(key[1].lower()) else None


class Side(NamedTuple):
    """What a head does in one sentence of a pair."""

    changed: str  # the words that the other sentence does not have in these places
    key: str  # the word attended to
    weight: float  # on it: mean of the query's rows, or in cross-attention the most of any row
    translation: str
    without: str  # the translation while the head is off


class Control(NamedTuple):
    """What a head does in both sentences of a pair."""

    head: Head
    sides: tuple[Side, Side]

    @property
    def tells_apart(self) -> bool:
        """Whether both weights differ by `APART` or more."""
        return abs(self.sides[0].weight - self.sides[1].weight) >= APART

    def answer(self) -> Phrase:
        """Whether the head tells the sentences apart, and which translations change without it."""
        with_word = marked("\u201c{key}\u201d {weight} with \u201c{word}\u201d")
        gives = with_word if self.sides[0].key == self.sides[1].key else marked("\u201c{key}\u201d {weight}")
        one, two = (
            Phrase(gives, key=each.key, weight=Number(each.weight, ".2f"), word=each.changed) for each in self.sides
        )
        apart = marked("{head} gives {one} and {two}: it tells them apart. {without}")
        same = marked("{head} gives {one} and {two}: it does not tell them apart. {without}")
        words = apart if self.tells_apart else same
        return Phrase(words, head=self.head.short, one=one, two=two, without=self._without())

    def _without(self) -> Phrase:
        changes = [each.translation != each.without for each in self.sides]
        if all(changes):
            return Phrase("Without it, both translations change.")
        if not any(changes):
            return Phrase("Without it, both translations stay.")
        words = marked("Without it, the translation with \u201c{word}\u201d changes, the other one stays.")
        return Phrase(words, word=self.sides[changes.index(True)].changed)


def control(translator: Translator, head: Head, pair: ControlPair) -> Control:
    """Compare a head in the two sentences of a pair; in the second, a word is the same one or that of its number.

    Raises:
        ValueError: as `Translator.translate`; a head of the decoder; equal sentences, or numbers of words that differ.
    """
    if head.kind == "decoder_self":
        raise ValueError(f"{head} reads the translation: a pair of sentences needs a head of the encoder or of cross")
    tokens = (translator.codec.source_pieces(translator.token_ids(text, "").source) for text in pair.texts)
    one, two = map(spelled_words, tokens)
    if len(one) != len(two):
        raise ValueError(f"the sentences have {len(one)} and {len(two)} words: change words, but not their number")
    changed = [(a, b) for (_, a), (_, b) in zip(one, two, strict=True) if a != b]
    if not changed:
        raise ValueError("both sentences have the same words: change a word of the second one")

    def side(number: int) -> Side:
        text, words = pair.texts[number], (one, two)[number]

        def placed(word: int) -> tuple[range, str]:
            same = [place for place, (_, label) in enumerate(words) if label == one[word][1]]
            return words[min(same, key=lambda place: abs(place - word), default=word)]

        best, (keys, key) = translator.translate(text).hypotheses[0], placed(pair.key)
        weights = translator.explain(text, best.token_ids).maps[head.kind][head.layer].weights[head.head]  # [Q, K]
        rows, on_key = placed(pair.query)[0], weights[:, keys.start : keys.stop].sum(1)
        weight = on_key.max() if head.kind == "cross" else on_key[rows.start : rows.stop].mean()
        without = translate_gated(translator, text, {head: 0.0}).text
        return Side(" \u2026 ".join(each[number] for each in changed), key, float(weight), best.text, without)

    return Control(head, (side(0), side(1)))
