"""Signs of a bad translation that two texts show without a model: `numbers`, `copied` and `lost`.

    numbers  numbers in digits that differ, the more of both sides (`core.analysis.signs.numbers`)
    copied   share of the words of the translation that came over from the source; 0 for fewer than two different ones
    lost     addresses, placeholders, tags, paths, file names, options, identifiers, codes and emoji of the source that
             the translation has not letter by letter

What may be the same in two languages is no word of `copied`: numbers, what `lost` is about, and all that begins with a
capital (names, German nouns). In a text in capitals, every word counts, and one came over if half of its sequences of
three letters did, as models spell them wrongly (PLEASE CLOSE THE DOR). Each sign has one threshold for all models.
"""

import re
from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple, get_args

from core.analysis.signs.numbers import differing_numbers
from core.text.traced_text import Span

TextSignName = Literal["numbers", "copied", "lost"]
TEXT_SIGNS: tuple[TextSignName, ...] = get_args(TextSignName)
THRESHOLDS: Mapping[TextSignName, float] = {"numbers": 1.0, "copied": 0.6, "lost": 1.0}
LEAST_COPIED = 2  # different words
CAPITALS = 0.6  # of the letters of a text in capitals

_WORD = re.compile(r"[^\W\d_]+(?:['\u2019-][^\W\d_]+)*")
_VERBATIM = re.compile(
    r"""
    (?:https?|ftp)://[^\s<>"]*[\w/] | \bwww\.[^\s<>"]*[\w/]
    | [\w.+-]+@[\w-]+(?:\.[\w-]+)+ | (?<![\w/&])[@\#]_*[^\W\d_]\w*              # addresses, @name, #topic
    | (?<![\d%])(?<!\d\s)%(?:\d+\$|\(\w+\))?[sdifgux@](?!\w) | \$?\{+[\w.]*\}+    # %s, %(name)s, {name}, ${name}
    | </?[A-Za-z][^<>]*> | &\#?\w+;                                            # <b>, &amp;
    | (?<![^\s"'(\u201e\u201c\u00ab])(?:(?:~|\.{1,2})?(?:/[\w.-]*\w)+/?|[A-Za-z]:\\[^\s"]*[\w\\])  # paths
    | \b[\w-]+(?:\.[\w-]+)*\.(?:com|org|net|edu|gov|json|txt|py|js|html?|pdf|docx?|xlsx?|csv|xml|ya?ml|png|jpe?g|zip
        |exe|sh|md|cfg|conf|ini|log)\b
    | (?<!\S)--[a-z][\w-]* | \b[^\W\d_]\w*_\w*\w(?:\(\))? | \b[^\W\d_]\w*\(\)     # options, user_name, run()
    | \b[A-Z]+-?\d{2,}[A-Z\d-]*\b | \+\d[\d()/\ -]{5,}\d                        # B-204, +49 30 1234567
    | (?:[\U0001f000-\U0001faff\u2600-\u27bf]\ufe0f?\u200d?)+                    # emoji
    """,
    re.VERBOSE,
)


class TextSign(NamedTuple):
    """A sign of two texts: its value, and the characters of both that it is about."""

    value: float
    source: tuple[Span, ...] = ()
    target: tuple[Span, ...] = ()


def numbers_sign(source: str, target: str) -> TextSign:
    """Numbers of one text that the other has not."""
    lacking, added = differing_numbers(source, target)
    return TextSign(max(len(lacking), len(added)), tuple(lacking), tuple(added))


def copied_sign(source: str, target: str) -> TextSign:
    """Words that came over although they should have been translated."""
    theirs, words = _words(source), _words(target)
    if in_capitals(source):
        known = {part for match in theirs for part in _triples(match[0])}
        copied = [
            match for match in words if 2 * len(known.intersection(_triples(match[0]))) >= len(_triples(match[0]))
        ]
    else:
        words = [match for match in words if match[0][0].islower()]
        texts = {match[0] for match in theirs}
        copied = [match for match in words if match[0] in texts]
    if len({match[0] for match in copied}) < LEAST_COPIED:
        return TextSign(0.0)
    return TextSign(len(copied) / len(words), target=tuple(match.span() for match in copied))


def _words(text: str) -> list[re.Match[str]]:
    return [*_WORD.finditer(_VERBATIM.sub(lambda match: " " * len(match[0]), text))]


def in_capitals(text: str) -> bool:
    """Whether a text of several words is in capitals."""
    words = _words(text)
    letters = "".join(match[0] for match in words)
    return len(words) > 1 and sum(map(str.isupper, letters)) >= CAPITALS * len(letters)


def _triples(word: str) -> set[str]:
    return {f" {word} "[place : place + 3] for place in range(len(word))}


def lost_sign(source: str, target: str) -> TextSign:
    """What should have come over letter by letter and did not; a code may be split (B33, B 33)."""
    lost: list[Span] = []
    for match in _VERBATIM.finditer(source):
        item = match[0]
        spelled = re.sub(r"(?<=[A-Z])(?:\\-)?(?=\d)", "[- ]?", re.escape(item))
        before, after = (r"(?<!\w)" if item[0].isalnum() else "", r"(?!\w)" if item[-1].isalnum() else "")
        target, found = re.subn(before + spelled + after, " ", target, count=1)
        if not found:
            lost.append(match.span())
    return TextSign(len(lost), tuple(lost))


MEASURES: Mapping[TextSignName, Callable[[str, str], TextSign]] = {
    "numbers": numbers_sign,
    "copied": copied_sign,
    "lost": lost_sign,
}
