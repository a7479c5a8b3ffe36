"""The signs of two texts, on translations that people judged, and on constructed pairs.

`translations.tsv` has translations of the shipped en-de and en-fr, and right ones with a changed digit: the kind, the
model, the judgement, the source, the translation. `PHOAN L'OMC` is wrong, but nothing of it was copied.
"""

from pathlib import Path

import pytest

from core.analysis.signs.text_signs import MEASURES, THRESHOLDS, TextSignName
from core.text.text_files import read_text, split_lines

JUDGED = [line.split("\t") for line in split_lines(read_text(Path(__file__).with_name("translations.tsv"))) if line]


def fires(name: TextSignName, source: str, target: str) -> bool:
    return MEASURES[name](source, target).value >= THRESHOLDS[name]


@pytest.mark.parametrize("kind", ["digits", "capitals", "verbatim"])
def test_signs_fire_on_the_translations_that_people_judged_wrong(kind: str) -> None:
    names: tuple[TextSignName, ...] = ("copied",) if kind == "capitals" else ("numbers", "lost")
    given = [each for each in JUDGED if each[0] == kind]
    assert len(given) >= 40
    for _, model, judgement, source, target in given:
        assert any(fires(name, source, target) for name in names) == (judgement == "wrong"), (model, source, target)
        assert kind == "capitals" or not fires("copied", source, target), target


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("20,000 and .08 percent", "20.000 und 0,08 Prozent"),
        ("1,299.50 euros, 20,000", "1.299,50 Euro, 20\u202f000"),
        ("at 3:30 p.m. and 9 p.m.", "um 15.30 Uhr und 21 Uhr"),
        ("from 10:00 a.m.", "\u00e0 partir de 10h"),
        ("at 2:30", "um halb drei"),
        ("on 9/11/2001", "am 11. September 2001"),
        ("the 2nd, 3rd and 19th", "le deuxi\u00e8me, le 3e et le XIXe"),
        ("8 cats, 23 dogs, 97 men", "acht Katzen, dreiundzwanzig Hunde, quatre-vingt-dix-sept hommes"),
        ("1.2 million, $5bn", "1 200 000, 5 Milliarden"),
        ("from $4.2 billion to $4.1 billion", "von 4,2 auf 4,1 Milliarden"),
        ("four decades, six and a half billion", "40 Jahre, 6,5 Milliarden"),
        ("the 1970s and '90s, 1990-95", "die siebziger und 90er Jahre, 1990 bis 1995"),
        ("a 911 call", "ein Notruf"),
        ("on the B33 with CO2", "auf der B 33 mit Kohlendioxid"),
        ("\u0663 dogs", "3 Hunde"),
        ("call +06 332 504966", "+06 332 504966 anrufen"),
    ],
)
def test_numbers_are_equal_in_any_notation(source: str, target: str) -> None:
    assert MEASURES["numbers"](source, target).value == MEASURES["numbers"](target, source).value == 0


@pytest.mark.parametrize(
    ("source", "target", "value"),
    [
        ("December 2011", "Dezember 20111", 1),
        ("16,000 joints", "16.00 Keulen", 1),
        ("1.2 million", "1,2 Milliarden", 1),
        ("from 10:00 a.m.", "ab 70 Uhr", 1),
        ("on 2026-03-01", "2026-03-001", 1),
        ("5 of 5", "5 von 6", 1),
        ("5 of 5 in 2014", "f\u00fcnf im Jahr 2015", 1),
        ("3 and 4", "drei", 1),
        ("none", "7 von 8", 2),
        ("9" * 5000, "8", 1),
    ],
)
def test_numbers_that_differ_are_counted(source: str, target: str, value: int) -> None:
    sign = MEASURES["numbers"](source, target)
    assert sign.value == value
    assert all(source[start:stop].strip("0123456789,.:") == "" for start, stop in sign.source)


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("Barack Obama was born in Hawaii.", "Barack Obama was born in Hawaii.", True),
        ("Barack Obama", "Barack Obama", False),
        ("NATO", "NATO", False),
        ("Hotel in Berlin", "Hotel in Berlin", False),
        ("The situation in Iran", "Die situation in Iran", True),
        ("Two men wearing black in the city", "Zwei Männer in der schwarzen Stadt", False),
        ("See https://a.org/is/it now", "https://a.org/is/it jetzt ansehen", False),
        ("A MAN IS RIDING A BIKE.", "EIN MANN FÄHRT FAHRRAD.", False),
    ],
)
def test_words_that_came_over(source: str, target: str, expected: bool) -> None:
    assert fires("copied", source, target) == expected


ITEMS = r"a.b@c.org www.x.org/y %(name)s %1$s {{x}} ${HOME} &amp; ~/notes C:\dir\file a.txt --all f() #topic +1-555-12"


@pytest.mark.parametrize("item", [*ITEMS.split(), "\u2764\ufe0f", "+1 555 12345"])
def test_what_must_come_over_letter_by_letter(item: str) -> None:
    source = f"before {item} behind."
    assert MEASURES["lost"](source, f"vor {item} nach").value == 0
    lost = MEASURES["lost"](source, "vor nach")
    assert [source[start:stop] for start, stop in lost.source] == [item]
    assert MEASURES["lost"](f"{item} and {item}", f"{item} und").value == 1
    assert MEASURES["lost"]("his/her 5 % and/or km/h, e.g. U.S.", "nichts").value == 0
