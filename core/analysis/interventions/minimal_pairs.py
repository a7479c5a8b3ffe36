"""Minimal pairs: sentences that differ in one respect, with equally many tokens.

A sentence of the shipped pairs (`control_pairs`) has its other sentence as the first proposal. Others replace a noun,
an adjective or a pronoun by another of its group, a singular by its plural, or a present tense by its past, with words
from `word_list`. The tokenizer decides which are kept: every word must have as many tokens as the word that it
replaces, so that each position of one sentence has its counterpart in the other. A proposal need not be good English,
and need not change the translation.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal

from core.analysis.interventions import word_list
from core.analysis.interventions.control_pairs import PAIRS, PARTNERS, Phenomenon
from core.analysis.tokens.words import readable, word_groups
from core.text.phrases import Number, Phrase, listed, marked
from core.translator import Translator

PairContrast = Phenomenon | Literal["noun", "adjective", "pronoun"]
CONTRASTS: tuple[PairContrast, ...] = (*PAIRS, "noun", "adjective", "pronoun")
MAX_FOR_WORD = 3  # proposals of one contrast for a word
_WORD = re.compile(r"[A-Za-z]+")
_PLURALS = {singular: plural for group in word_list.NOUNS for singular, plural in group if singular != plural}
_AGREEING = {third: base for base, third, _ in word_list.VERBS if base != third} | word_list.SINGULAR_TO_PLURAL
_PAST = {form: past for base, third, past in word_list.VERBS for form in (base, third)}
_FINITE = _PAST.keys() | set(_PAST.values())


@dataclass(frozen=True)
class MinimalPair:
    """A proposal for the second sentence."""

    contrast: PairContrast
    text: str  # the sentence
    words: tuple[int, ...]  # numbers of the words of the first sentence that are replaced, from 0
    changes: tuple[tuple[str, str], ...]  # each of these words, and the word in its place
    positions: tuple[int, ...]  # of the tokens that differ
    num_tokens: int  # of both sentences, `</s>` included
    tokens: tuple[tuple[str, str], ...]  # the tokens that differ, of both sentences

    @property
    def reason(self) -> Phrase:
        """Reason why both sentences are of equal length in tokens."""
        pairs = listed([f"{readable(old)} \u2192 {readable(new)}" for old, new in self.tokens])
        words = marked("Of {total} tokens these differ, each in its place: {pairs}")
        return Phrase(words, total=Number(self.num_tokens, "d"), pairs=pairs)


def first_proposal(pairs: Sequence[MinimalPair]) -> str:
    """Text of a proposal, by preference of the shipped pairs, or else one with another noun; "" if there is none."""
    order = sorted(pairs, key=lambda pair: (pair.text not in PARTNERS, pair.contrast != "noun"))
    return next((pair.text for pair in order), "")


def minimal_pairs(translator: Translator, text: str) -> list[MinimalPair]:
    """Propose sentences of equal length in tokens, in the order of the words.

    Raises:
        ValueError: as `Translator.explain`.
    """
    first = translator.token_ids(text, "").source
    pairs: dict[str, MinimalPair] = {}
    replacements = _candidates([match[0] for match in _WORD.finditer(text)])
    proposed: Iterator[tuple[PairContrast, str]] = ((name, _with_words(text, new)) for name, new in replacements)
    for name, other in chain(PARTNERS.get(text, ()), proposed):
        if other not in pairs and (pair := _compared(translator, name, text, other, first)):
            same = [each for each in pairs.values() if (each.contrast, each.words) == (name, pair.words)]
            if len(same) < MAX_FOR_WORD:
                pairs[other] = pair
    return list(pairs.values())


Words = Sequence[str]
Replaced = dict[int, str]  # new words by their number


def _candidates(words: Words) -> Iterator[tuple[PairContrast, Replaced]]:
    """Replacements of single words, and of the words that agree with them."""
    groups: dict[PairContrast, Sequence[Sequence[str]]] = {
        "noun": [[forms[number] for forms in group] for group in word_list.NOUNS for number in (0, 1)],
        "adjective": word_list.ADJECTIVES,
        "pronoun": word_list.PRONOUNS,
    }
    for number, word in enumerate(words):
        form = word if word == "I" else word.lower()
        for name, alternatives in groups.items():
            for group in alternatives:
                if form in group:
                    place = group.index(form)
                    near = sorted(group, key=lambda each: abs(group.index(each) - place))
                    for other in near[1:]:  # the first is the word itself
                        if number == 0 or _article_fits(words[number - 1].lower(), form, other):
                            yield name, {number: other}
        if form in _PLURALS and (agreeing := _plural(words, number)):
            yield "number", agreeing
        finite = number == 0 or words[number - 1].lower() not in word_list.BEFORE_INFINITIVE
        if finite and _PAST.get(form, form) != form:
            yield "tense", {number: _PAST[form]}


def _article_fits(before: str, old: str, new: str) -> bool:
    """Whether `a` or `an` before a word also fits another one."""
    return before not in ("a", "an") or (old[0] in "aeiou") == (new[0] in "aeiou")


def _plural(words: Words, number: int) -> Replaced | None:
    """A noun in the plural with its determiner and, if it is a subject, its verb.

    None where these are not known, as the plural would not agree with them.
    """
    lower = [word.lower() for word in words]
    borders = word_list.PREPOSITIONS | word_list.CONJUNCTIONS | word_list.COORDINATIONS | word_list.RELATIVES | _FINITE
    start = number
    while start > 0 and (lower[start - 1] not in borders or lower[start - 1] in word_list.DETERMINERS):
        start -= 1
        if lower[start] in word_list.DETERMINERS:
            break
    if lower[start] not in word_list.DETERMINERS or start == number:
        return None
    replaced = {start: word_list.SINGULAR_TO_PLURAL[lower[start]], number: _PLURALS[lower[number]]}
    before = lower[start - 1] if start else ""
    if before in word_list.COORDINATIONS:
        return None
    if before in word_list.PREPOSITIONS or before in _FINITE:
        return replaced
    for verb in range(number + 1, len(words)):
        if lower[verb] in word_list.CONJUNCTIONS | word_list.COORDINATIONS | word_list.RELATIVES:
            return None
        if lower[verb] in _FINITE:
            is_plural = lower[verb] in _PAST and lower[verb] not in _AGREEING
            return None if is_plural else replaced | {verb: _AGREEING.get(lower[verb], lower[verb])}
    return None


def _with_words(text: str, replaced: Replaced) -> str:
    """The text with other words, capitalised as the old ones."""
    numbers = iter(range(len(text)))

    def new(match: re.Match[str]) -> str:
        number = next(numbers)
        if number not in replaced or replaced[number] == match[0].lower():
            return match[0]
        is_capital = match[0][0].isupper() and (number == 0 or match[0] != "I")
        return replaced[number].capitalize() if is_capital else replaced[number]

    return _WORD.sub(new, text)


def _compared(
    translator: Translator, name: PairContrast, text: str, other: str, first: Sequence[int]
) -> MinimalPair | None:
    """The proposal, if each of its words has as many tokens as the one it replaces."""
    second = translator.token_ids(other, "").source
    tokens = translator.codec.source_pieces(first), translator.codec.source_pieces(second)
    if word_groups(tokens[0]) != word_groups(tokens[1]):
        return None
    positions = tuple(position for position in range(len(first)) if first[position] != second[position])
    if not positions:
        return None
    words = list(zip(_WORD.findall(text), _WORD.findall(other), strict=True))
    return MinimalPair(
        contrast=name,
        text=other,
        words=tuple(number for number, (old, new) in enumerate(words) if old != new),
        changes=tuple((old, new) for old, new in words if old != new),
        positions=positions,
        num_tokens=len(first),
        tokens=tuple((tokens[0][position], tokens[1][position]) for position in positions),
    )
