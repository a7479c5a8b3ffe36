"""Pairs made by rule from training pairs, to teach what text has too little of: copying letter by letter, and capitals.

A word that stands once on each side, alike, is a name or a number, so whatever is to be copied can take its place, on
both sides at once. Currey et al. (2017) copy whole sentences for the same purpose. What stands in capitals, letter by
letter, is translated into whole pieces, which a model writes already.
"""

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from core.files.number_range import NumberRange
from train.data.parallel_text import Pair

SHARES = NumberRange(float, 0, 1)
# In these, 9 is a digit, ^ a capital letter, ~ a word, ^~ a made-up name, * a letter of a script, ¤ another rare
# character, ☺ an emoji.
_INTEGERS = [digits * "9" for digits in range(1, 13)]
_CODES = [
    *("99:99", "9:99", "2099-09-09", "99.09.2099", "9.99.9", "9.9.9", "v9.9", "199.99.9.99", "+99 99 9999999", "#999"),
    *("+9 999 999 9999", "99-9999", "999-9999-999", "^-999", "^^9999", "^^-99", "^99", "9999/99", "^9^9^9", "9^", "%d"),
    *("{~}", "%s"),
]
_NAMES = [
    *("^~", "^~", "^~", "^~~", "^~-^~", "~@~.org", "~.~@~.com", "~99@~.net", "https://~.org/~", "http://www.~.com/~-~"),
    *("www.~.com/~", "https://~.net/~?~=99", "/home/~/~", "/~/~/~.~", "~/~.txt", r"^:\^~\~.exe", "~.json", "~.~"),
    *("~_~.~", "--~", "--~-~", "--~=9", "-^", "~_~()", "~()", "~.~()", "~_~_~", "{~}", "{~_~}", "${~}", "%s", "%(~)s"),
    *("<b>^~</b>", "<i>~</i>", "<a>^~</a>", "&~;", "Ctrl+^", "@~", "@~_99", "#~", '"~"', "`~ --~`"),
]
_CHARACTERS = ["☺", "☺", "☺☺", "***", "****", "¤", "¤¤", "^~¤~", "^¤~"]  # spelled in bytes by a tokenizer
_KINDS = _INTEGERS, _CODES, _NAMES, _NAMES, _CHARACTERS
_EMOJI = (0x1F600, 0x1F64F), (0x1F300, 0x1F5FF), (0x1F680, 0x1F6C5), (0x2190, 0x21FF), (0x2600, 0x26FF)  # of Unicode
_SCRIPTS = (
    *((0x3B1, 0x3C9), (0x430, 0x44F), (0x5D0, 0x5EA), (0x627, 0x64A), (0x905, 0x939), (0xE01, 0xE2E)),
    *((0x3041, 0x3093), (0x4E00, 0x9FA5), (0xAC00, 0xD7A3)),
)
_RARE = r"^|~*=#\_`<>{}@€£§°±×→…•™©ąćčęěğıłńőřśşšťůžøåæñçãõœêî"
_PLACES = (
    *("{text} {thing}{end}", "{text} ({thing}){end}", "{text}{end} {thing}", "{text}: {thing}", "{thing}: {text}{end}"),
    *("{thing} {text}{end}", "<b>{text}{end}</b>"),
)
_SLOT = re.compile(
    r"(?<![\w.,:/@<%{-])(?:(?:\d{1,3}(?: \d{3})+|\d+)(?:[.,:]\d+)*|[A-ZÀ-Þ][a-zß-ÿ]{2,})(?![\w/@>%}-]|[.,:]\w)"
)
_END = re.compile(r"\s*[.!?…]*$")
_MOST_WORDS = 30, 12  # of a source that gets something to copy, or capitals, whose letters are pieces of their own


@dataclass(frozen=True)
class Synthesis:
    """How many pairs are made by rule, as shares of an epoch's pairs.

    Raises:
        ValueError: a share is out of range.
    """

    copying: float = 0.0  # with numbers, addresses, code and the like, the same on both sides
    capitals: float = 0.0  # with a source in capitals or, one of four, in lower case, and the target as it is

    def __post_init__(self) -> None:
        for name, share in vars(self).items():
            SHARES.check(name, share)


def synthetic_pairs(pairs: Sequence[Pair], synthesis: Synthesis, seed: int) -> Iterator[Pair]:
    """Yield pairs made from an epoch's `pairs`, whose white space is single spaces; none from long ones."""
    draw = random.Random(seed)
    copying, capitals = (round(share * len(pairs)) for share in (synthesis.copying, synthesis.capitals))
    short, shorter = ([pair for pair in pairs if pair[0].count(" ") < most] for most in _MOST_WORDS)
    sharing = [pair for pair in short if copying and _shared(pair)] or short
    for number in range(copying if short else 0):
        words = re.findall(r"\b[a-z]{3,9}\b", draw.choice(pairs)[0])
        yield _copied(draw.choice(sharing if number % 3 else short), words, draw)
    for number in range(capitals if shorter else 0):
        source, target = draw.choice(shorter)
        yield (source.upper() if number % 4 else source.lower()), target


def _copied(pair: Pair, words: Sequence[str], draw: random.Random) -> Pair:
    """Replace what both sides share, or put something beside the text."""
    things: dict[str, str] = {}
    for key, is_alike in _shared(pair).items():
        if is_alike:
            kinds = _KINDS[:2] if key.isdigit() else _KINDS
            things[key] = written(draw.choice(kinds), words, draw)
        else:
            things[key] = str(draw.randrange(10 ** (len(key) - 1), 10 ** len(key)))
    if things and draw.random() < 0.9:
        return _replaced(pair[0], things), _replaced(pair[1], things)
    thing, place = written(draw.choice(_KINDS), words, draw), draw.choice(_PLACES)
    texts = [(text, _END.sub("", text)) for text in pair]
    source, target = (place.format(text=stem, end=text[len(stem) :], thing=thing) for text, stem in texts)
    return source, target


def _shared(pair: Pair) -> dict[str, bool]:
    """Return what stands once on each side, names and the digits of numbers, and whether it is the same letter by
    letter: 1,250 and 1.250 are not.
    """
    slots = [_SLOT.findall(text) for text in pair]
    source, target = ([_key(slot) for slot in side] for side in slots)
    return {key: all(key in side for side in slots) for key in source if source.count(key) == target.count(key) == 1}


def _key(slot: str) -> str:
    """Return a number's digits, or a name."""
    return re.sub(r"\D", "", slot) or slot


def _replaced(text: str, things: Mapping[str, str]) -> str:
    """Put `things` in place of what they are the values of; between the marks of a number, their digits."""

    def replaced(slot: re.Match[str]) -> str:
        if (key := _key(slot[0])) == slot[0] or key not in things:
            return things.get(key, slot[0])
        digits = iter(things[key])
        return re.sub(r"\d", lambda _: next(digits), slot[0])

    return _SLOT.sub(replaced, text)


def written(patterns: Sequence[str], words: Sequence[str], draw: random.Random) -> str:
    """Choose one of the patterns, and draw what its marks stand for; `words` for some of its words."""
    script, emoji = draw.choice(_SCRIPTS), draw.choice(_EMOJI)
    last = draw.choice("0123456789")

    def digit() -> str:
        nonlocal last
        if draw.random() < 0.8:  # the same digit again is what a model misses first
            last = draw.choice("0123456789")
        return last

    def letters() -> str:
        return "".join(draw.choices("aeioubcdfghjklmnprstvwyz", k=draw.randint(2, 7)))

    drawn = {
        "9": digit,
        "^": lambda: chr(draw.randint(ord("A"), ord("Z"))),
        "^~": lambda: letters().capitalize(),  # no word: May, Will and Brown must not be learned as names
        "~": lambda: draw.choice(words) if words and draw.random() < 0.7 else letters(),
        "*": lambda: chr(draw.randint(*script)),
        "¤": lambda: draw.choice(_RARE),
        "☺": lambda: chr(draw.randint(*emoji)),
    }
    return re.sub(r"\^~|[9^~*¤☺]", lambda mark: drawn[mark[0]](), draw.choice(patterns))
