"""Signs that a source is not in the language that a model translates from.

Names and code are no sign: they are spelled alike in many languages, and a right translation copies them. So
`SourceLanguage` looks at the other words, without a capital, and at their letters alone: are they probable by the
sentences of the model's corpus index? Two n-gram models of letters (Witten & Bell 1991), of its sources and of their
translations, say

    other = H > q  or  H - H_target > TARGET_MARGIN,     H = -(1/n) sum_w log P(w)    in nats per letter,

over the words w of n letters together, with their ends. q is the `HELD_OUT` quantile of H of the index's own sentences,
each by a model of the other folds; the second part is a source in the language of the translations. Without an index
nothing is known of the language, and nothing is said.

`docs/measurements/unfamiliar_source.py` counts the notes; of up to 1,500 sentences a file:

                                                          en-de             en-fr
    English: newstest2013, newstest2014, Tatoeba          0.7, 0.7, 0.7 %   0.7, 0.7, 0.7 %
    English: Multi30k val, 2016, 2017, TED                0.2 to 0.7 %      0.2 to 0.7 %
    German: newstest, Tatoeba, Multi30k, TED              98.6 to 99.9 %    97.0 to 99.0 %
    French: newstest, Tatoeba, Multi30k                   95.1 to 99.5 %    99.8 to 99.9 %
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Literal

from core.analysis.corpus.index_file import load_index
from core.analysis.tokens.words import is_special
from core.results import Translation
from core.text.byte_pieces import UNKNOWN, bytes_of, grapheme_groups
from core.text.tokenizer import SPACE_MARK
from core.translator import Translator

Problem = Literal["unknown", "capitals", "other_language", ""]

UNKNOWN_SHARE = 0.5  # of the characters
ORDER = 4  # letters of an n-gram
LETTERS = 2000  # among which an unseen letter is drawn
FOLDS, HELD_OUT = 5, 0.999
FEWEST_SENTENCES = 500  # of an index that says enough of its language
TARGET_MARGIN = 0.35  # nats per letter; a sentence of names with two other words may be more like the target by chance
_WORD = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)*")
_CODE = re.compile(r"[<>{}@_/\\=%#|~]|\w\.\w|\(\)|--\w")  # in addresses, placeholders, tags, paths
MIN_CAPITALS = 3  # words; fewer may be names


class SpelledWords:
    """Model of the letters of words: n-grams, interpolated with all shorter ones (Witten & Bell 1991)."""

    def __init__(self, words: Iterable[str]) -> None:
        self._counts, self._seen, self._kinds = Counter[str](), Counter[str](), Counter[str]()
        for word, count in Counter(words).items():
            for context, letter in _letters(word):
                for start in range(ORDER):
                    shorter = context[start:]
                    if not self._counts[shorter + letter]:
                        self._kinds[shorter] += 1
                    self._counts[shorter + letter] += count
                    self._seen[shorter] += count
        self.log_prob = cache(self._log_prob)

    def probability(self, context: str, letter: str) -> float:
        """Of a letter behind the `ORDER` - 1 before it."""
        value = 1 / LETTERS
        for start in reversed(range(ORDER)):
            shorter = context[start:]
            if seen := self._seen[shorter]:
                kinds = self._kinds[shorter]
                value = (self._counts[shorter + letter] + kinds * value) / (seen + kinds)
        return value

    def _log_prob(self, word: str) -> float:
        return sum(math.log(self.probability(context, letter)) for context, letter in _letters(word))

    def strangeness(self, words: Sequence[str]) -> float:
        """Mean negative log-probability of a letter of some words, in nats; 0 without words."""
        return -sum(map(self.log_prob, words)) / max(1, sum(len(word) + 1 for word in words))


def _letters(word: str) -> Iterable[tuple[str, str]]:
    """The letters of a word and its end, each with the letters before it."""
    spelled = f"{'<' * (ORDER - 1)}{word}>"
    return ((spelled[at - ORDER + 1 : at], spelled[at]) for at in range(ORDER - 1, len(spelled)))


def words_but_names(text: str) -> list[str]:
    """The words of a text without a capital at their start, and none of code, which is no language's."""
    prose = " ".join(part for part in text.split() if not _CODE.search(part))
    return [word for word in _WORD.findall(prose) if not word[0].isupper()]


class SourceLanguage:
    """The language that a model translates from, by sentences of it and their translations; see the module docstring.

    Raises:
        ValueError: there are too few sentences.
    """

    def __init__(self, sources: Sequence[str], translations: Iterable[str]) -> None:
        if len(sources) < FEWEST_SENTENCES:
            raise ValueError(
                f"{len(sources)} sentences say too little of their language: give {FEWEST_SENTENCES} or more"
            )
        words = [words_but_names(text) for text in sources]
        self._source = SpelledWords(chain(*words))
        self._target = SpelledWords(chain(*map(words_but_names, translations)))
        held_out: list[float] = []
        for fold in range(FOLDS):
            model = SpelledWords(chain(*(each for number, each in enumerate(words) if number % FOLDS != fold)))
            held_out += map(model.strangeness, words[fold::FOLDS])
        self.strangest = sorted(held_out)[int(HELD_OUT * len(held_out))]

    def is_other(self, text: str) -> bool:
        """Whether a text is probably in another language."""
        words = words_but_names(text)
        strangeness = self._source.strangeness(words)
        return strangeness > self.strangest or strangeness - self._target.strangeness(words) > TARGET_MARGIN


def language_by_index(path: Path, digest: str, translator: Translator) -> SourceLanguage | None:
    """The language that a checkpoint's model translates from; None if the path has no index of it that says enough."""
    decode = translator.tokenizer.target.decode
    try:
        index = load_index(path)
        if index.facts.digest != digest:
            return None
        translations = (decode(list(each.target)) for each in index.sentences)
        return SourceLanguage([each.source for each in index.sentences], translations)
    except (ValueError, OSError):  # the page Corpus says why an index cannot be used
        return None


def source_problem(translation: Translation, language: SourceLanguage | None) -> Problem:
    """Why a source cannot be translated well: unknown characters, capitals, another than the known language; or ""."""
    if unknown_share(translation) > UNKNOWN_SHARE:
        return "unknown"
    if without_capitals(translation.source):
        return "capitals"
    return "other_language" if language and language.is_other(translation.source) else ""


def without_capitals(text: str) -> str:
    """A text that is mostly in capitals in lower case, with a capital at its start; "" if it is not."""
    words = [word for word in _WORD.findall(text) if len(word) > 1]
    capitals = sum(word.isupper() for word in words)
    return text[:1] + text[1:].lower() if capitals >= max(MIN_CAPITALS, len(words) / 2) else ""


def unknown_share(translation: Translation) -> float:
    """Share of a source's characters, spaces left out, that the tokenizer does not know."""
    tokens = [token for token in translation.source_tokens if not is_special(token)]
    characters = [[tokens[position] for position in group] for group in grapheme_groups(tokens)]
    seen = [pieces for pieces in characters if "".join(pieces).strip(SPACE_MARK)]
    are_unknown = [any(piece == UNKNOWN or bytes_of(piece) is not None for piece in pieces) for pieces in seen]
    lengths = [
        1 if is_unknown else sum(len(piece.strip(SPACE_MARK)) for piece in pieces)
        for pieces, is_unknown in zip(seen, are_unknown, strict=True)
    ]
    return sum(are_unknown) / max(1, sum(lengths))
