"""Numbers in which two texts differ, for the sign `numbers`.

A number in digits must also be on the other side: in digits of any notation (20,000 and 20.000 and 20 000; .08 and
0,08; 3:30 p.m. and 15.30 Uhr; 1.2 million and 1 200 000; 1990-95 and 1990 bis 1995), or in words of English, German or
French (3, drei, trois; 1970s, siebziger; 19th, XIXe; 9/11, September). Where a notation has two readings (1.299), one
is enough, so nobody has to name the languages; in other languages, digits alone are compared. Words alone are not, as
they need not be numbers (one, second, neuf), nor are digits behind a letter, which are of a name (CO2, LH1234).
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple, TypeVar

from core.text.traced_text import Span

T = TypeVar("T")
Value = Fraction | str  # very long digits, and those that begin with two zeros, are compared as they are
LONGEST = 40  # digits of a number

# Numbers and their words, `x` before those that multiply; a word with a hyphen is the beginning of longer ones.
_LEXICON = """
0 zero null zéro midnight mitternacht- minuit; 0.5 half halb- hälfte einhalb- demi- moitié;
1 one ein eins eine einen einem einer eines einund- un une first- erst- premier- première- once einmal;
1.5 anderthalb- eineinhalb-;
2 two zwei- zwo deux- second- zweit- twice both beid- double- doppel- pair paar- couple-;
3 three- drei- trois- third- dritt- tiers triple-; 4 four fourth- vier- quatre quatrième- quadr-;
5 five- fünf- cinq- fifth-; 6 six sixth- sechs- sixième-; 7 seven- sieben- siebt- sept septième-;
8 eight- acht- huit-; 9 nine- neun- neuf ninth- neuv-; 10 ten tenth- zehn- dix dixième- dizaine-;
11 eleven- elf elft- onze onzième-; 12 twelve- twelfth- zwölf- douze douzième- noon midday mittag- midi;
13 thirteen- dreizehn- treiz-; 14 fourteen- vierzehn- quatorz- fortnight-;
15 fifteen- fünfzehn- quinz- quarter viertel- quart; 16 sixteen- sechzehn- seiz-; 17 seventeen- siebzehn-;
18 eighteen- achtzehn-; 19 nineteen- neunzehn-; 20 twenty- twenti- zwanzig- vingt-;
30 thirty- thirti- dreissig- trent-; 40 forty- forti- vierzig- quarant-; 50 fifty- fifti- fünfzig- cinquant-;
60 sixty- sixti- sechzig- soixant-; 70 seventy- seventi- siebzig- septant-; 80 eighty- eighti- achtzig- huitant-;
90 ninety- nineti- neunzig- nonant-; 100 einhundert-; 1000 eintausend-; 911 notruf- urgence- secours;
1 janu- janvier-; 2 febru- février-; 3 march märz mars; 4 april- avril-; 5 may mai; 6 june juni juin;
7 july juli juillet; 8 august- août-; 9 septem-; 10 october oktober octobre; 11 novem-; 12 decem- dezem- décem-;
x7 week- woche- semaine-; x10 decade- jahrzehnt- décenni-; x12 dozen- dutzend- douzaine-;
x100 hundred- hundert- cent cents centaine- centième-; x1000 thousand- tausend- tsd mille milles millier- k;
x1000000 million- mio mn m; x1000000000 billion- milliard- mrd md bn b; x1000000000000 trillion- tn
"""
_LETTER = r"[^\W\d_]"
_HALF, _ONE = Fraction(1, 2), Fraction(1)
_WORDS, _FACTORS = dict[str, Fraction](), dict[str, Fraction]()
for _number, *_names in (_entry.split() for _entry in _LEXICON.split(";")):
    (_FACTORS if _number[0] == "x" else _WORDS).update(dict.fromkeys(_names, Fraction(_number.removeprefix("x"))))


def _any_of(words: Iterable[str]) -> str:
    longest_first = sorted(words, key=len, reverse=True)
    return "|".join(word[:-1] if word[-1] == "-" else rf"{word}(?!{_LETTER})" for word in longest_first)


_VALUES = {word.removesuffix("-"): value for word, value in (_WORDS | _FACTORS).items()}
_MULTIPLIERS = {word.removesuffix("-") for word in _FACTORS}
_WORD = re.compile(rf"({_any_of([*_WORDS, *_FACTORS])})(?:und(?={_LETTER}))?")
_SCALE = re.compile(rf"[\s-]*({_any_of(word for word, factor in _FACTORS.items() if factor >= 1000)})", re.IGNORECASE)
_DIGITS = re.compile(
    r"""(?<![^\W_])(?:  # not behind a letter
    (?P<grouped>\d{1,3}(?P<mark>[.,'\u2019\u00a0\u2009\u202f ])\d{3}(?:(?P=mark)\d{3})*(?!\d))
    (?P<rest>[.,]\d+(?![.,]?\d))?
    | \d+(?:[.,]\d+){2,} | \d*[.,]?\d+ )""",
    re.VERBOSE,
)
_HOURS = re.compile(r"(?<=\d)h(?=\d\d)")  # 14h30
_NO_MINUTES = re.compile(r"(?<=\d)[:.]00(?![.,]?\d)")
_TIME = re.compile(r"(?:[.:]\d\d)?\s*(?:[ap]\.?\s?m\b|uhr|o.clock|heures?|h\b)", re.IGNORECASE)
_DECADE = re.compile(r"\s?(?:['\u2019]?s\b|i?g?er)")  # 90s, 90er, 30iger
_SHORT_YEAR = re.compile(r"(?:['\u2019]|\d/|\d{4}\s?[-\u2013]\s?|ann[ée]es )$")  # before '90, Q1/15, 1990-95
_ROMAN = re.compile(r"\b([IVX]{2,})(?:e|er|ème)?s?\b")


class Number(NamedTuple):
    """A number in digits, with its possible values: as one number, and as the numbers between its separators."""

    span: Span
    digits: str
    whole: set[Value]
    parts: Sequence[set[Value]]


def differing_numbers(source: str, target: str) -> tuple[list[Span], list[Span]]:
    """Characters of the numbers in digits that the other text lacks; one that occurs twice is needed twice."""
    left = _unpaired(numbers(source), numbers(target), lambda one, other: one.digits == other.digits)
    left = _unpaired(*left, lambda one, other: not one.whole.isdisjoint(other.whole))
    first, second = ([(each, part) for each in side for part in each.parts] for side in left)
    rest = _unpaired(first, second, lambda one, other: not one[1].isdisjoint(other[1]))
    known = [number_words(text) for text in (target, source)]
    lacking = [
        sorted({each.span for each, part in side if words.isdisjoint(part | each.whole)})
        for side, words in zip(rest, known, strict=True)
    ]
    return lacking[0], lacking[1]


def _unpaired(
    first: Sequence[T], second: Sequence[T], is_same: Callable[[T, T], bool]
) -> tuple[Sequence[T], Sequence[T]]:
    """Both without the pairs that are the same, each in one pair."""
    rest, left = list(second), list[T]()
    for one in first:
        place = next((place for place, other in enumerate(rest) if is_same(one, other)), None)
        if place is None:
            left.append(one)
        else:
            del rest[place]
    return left, rest


# --- digits ---------------------------------------------------------------------------------------------------------


def numbers(text: str) -> list[Number]:
    """Numbers in digits, in order."""
    text = "".join(str(int(each)) if each.isdecimal() else each for each in text)
    text = _NO_MINUTES.sub("   ", _HOURS.sub(":", text))
    found, factors, following = list[Number](), set[Fraction](), len(text)
    for match in reversed([*_DIGITS.finditer(text)]):
        if scale := _SCALE.match(text, match.end()):
            name = scale[1].lower()
            factors = {_VALUES[name], *([_ONE] if name in "mbk" else [])}  # m: metres
            if name in ("billion", "trillion"):  # the German ones are larger
                factors.add(_VALUES[name] * 1000)
        elif factors and following - match.end() < 9:  # from 4.2 to 4.1 billion
            factors.add(_ONE)
        else:
            factors = set()
        found.append(_read(text, match, factors))
        following = match.start()
    return found[::-1]


def _read(text: str, match: re.Match[str], factors: set[Fraction]) -> Number:
    digits, mark = match[0], match["mark"] or ""
    parts: list[set[Value]] = [{_value(part)} for part in re.findall(r"\d+", digits)]
    whole = set[Value]()
    if mark and digits[0] != "0":
        whole.add(_value(re.sub(r"\D", "", match["grouped"]) + (match["rest"] or "").replace(",", ".")))
    if len(parts) <= 2 and mark in ".," and (not whole or factors):
        whole.add(_value(digits.replace(",", ".")))
    if factors:
        whole = {value if isinstance(value, str) else value * factor for value in whole for factor in factors}
    if (mark and mark != " ") or (factors and _ONE not in factors):
        return Number(match.span(), digits, whole, [whole])
    first = re.match(r"\d*", digits)
    assert first is not None
    stop, number = match.start() + first.end(), int(first[0][:5] or -1)
    if 0 <= number < 25 and _TIME.match(text, stop):
        parts[0] |= {Fraction((number + 12) % 24), Fraction((number - 12) % 24)}
    if len(digits) == 2 == first.end() and (_DECADE.match(text, stop) or _SHORT_YEAR.search(text[: match.start()])):
        parts[0] |= {Fraction(1900 + number), Fraction(2000 + number)}
    if first.end() == 4 and text[stop : stop + 1] == "s":  # 1990s, neunziger
        parts[0].add(Fraction(number % 100))
    return Number(match.span(), digits, whole | parts[0] if len(parts) == 1 else whole, parts)


def _value(digits: str) -> Value:
    return digits if len(digits) > LONGEST or (digits.startswith("00") and len(digits) > 2) else Fraction(digits)


# --- words ----------------------------------------------------------------------------------------------------------


def number_words(text: str) -> set[Value]:
    """Numbers that words of a text may be, and those in names (B33, beside B 33)."""
    folded = re.sub(r"quatre[- ]vingts?", "huitante", text.casefold())
    found: set[Value] = {_value(each) for each in re.findall(rf"(?<={_LETTER})\d+", text)}
    found.update(map(_roman, _ROMAN.findall(text)))
    run = list[tuple[str, bool]]()  # words that are one number together, and whether each continues the one before
    for token in re.findall(rf"{_LETTER}+|[^\s\w-]|\d", folded):
        position, pieces = 0, list[tuple[str, bool]]()
        while match := _WORD.match(token, position):
            pieces.append((match[1], position > 0))
            position = match.end()
        run += pieces
        ends = pieces and token[position:] not in ("", "e") and pieces[-1][0] not in _MULTIPLIERS  # dreimal, not trente
        if ends or (not pieces and token not in ("and", "et", "und", "a")):
            found.update(_joined(run))
            run = []
    found.update(_joined(run))
    return found


def _joined(words: Sequence[tuple[str, bool]]) -> Iterator[Fraction]:
    """The numbers of neighbouring words: two hundred twenty-five; two, three."""
    total, current = Fraction(0), None
    for word, continues in words:
        value = _VALUES[word]
        if word in _MULTIPLIERS and value >= 1000:
            total, current = total + (_ONE if current is None else current) * value, None
        elif word in _MULTIPLIERS:
            yield value if current is None else current  # two weeks are 2 of them, and 14 days
            current = (_ONE if current is None else current) * value
        elif current is None or value == _HALF or _adds(current, value, continues):
            current = (current or 0) + value
        else:
            if current == _HALF:
                yield value - 1  # halb drei
            yield total + current
            total, current = Fraction(0), value
        if value == _HALF:
            yield Fraction(30)  # minutes
    if words:
        yield total + (current or 0)


def _adds(current: Fraction, value: Fraction, continues: bool) -> bool:
    """Whether a word is a part of the number before it: hundred two, twenty-two, soixante-dix, zweiundzwanzig."""
    if current >= 100:
        return current % 100 == 0 and value < 100
    if current >= 20 and current % 10 == 0:
        return value < (20 if current in (60, 80) else 10)
    return continues and current < 10 and value % 10 == 0


def _roman(numeral: str) -> Fraction:
    values = [{"I": 1, "V": 5, "X": 10}[each] for each in numeral]
    return Fraction(sum(-each if each < max(values[place:]) else each for place, each in enumerate(values)))
