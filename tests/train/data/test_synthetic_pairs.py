import re

import pytest

from train.data.synthetic_pairs import Synthesis, synthetic_pairs

NAMED = "Tom bought 3 cats.", "Tom kaufte 3 Katzen."
SHARES = Synthesis(copying=1)


def test_what_is_copied_is_the_same_on_both_sides_and_the_rest_stays() -> None:
    made, in_place = list(synthetic_pairs([NAMED] * 400, SHARES, seed=1)), 0
    for source, target in made:
        english = re.fullmatch(r"(.+) bought (.+) cats\.", source)
        german = re.fullmatch(r"(.+) kaufte (.+) Katzen\.", target)
        if english and german and english.groups() != ("Tom", "3"):
            assert english.groups() == german.groups()
            in_place += 1
        else:  # beside the text
            around = source.replace(NAMED[0][:-1], "|"), target.replace(NAMED[1][:-1], "|")
            assert around[0] == around[1]
            assert len(around[0]) > 2
    assert 200 < in_place < 400
    assert len(made) == 400
    items = " ".join(source for source, _ in made)
    kinds = r"\b\d{12}\b", r"\w@\w+\.\w", "https://", r"\{\w+\}", "%[sd]", r"--\w", r"\w\(\)", "<b>", "[🌀-🛿]"
    assert [kind for kind in kinds if not re.search(kind, items)] == []


def test_a_word_that_differs_or_stands_twice_stays() -> None:
    """The name is another one in German, the number stands twice in English."""
    for source, target in synthetic_pairs([("Mary has 3 of 3.", "Maria hat alle 3.")] * 50, SHARES, seed=1):
        assert source.replace("Mary has 3 of 3", "|") == target.replace("Maria hat alle 3", "|")
        assert "Mary has 3 of 3" in source


def test_a_number_keeps_the_marks_of_its_side() -> None:
    prices = set[str]()
    for source, target in synthetic_pairs([("it costs 1,250.50 now", "es kostet jetzt 1.250,50")] * 50, SHARES, seed=1):
        if price := re.fullmatch(r"it costs ([1-9],\d{3}\.\d\d) now", source):
            assert target == f"es kostet jetzt {price[1].translate(str.maketrans('.,', ',.'))}"
            prices.add(price[1])
    assert len(prices) > 10


def test_capitals_come_on_both_sides_and_lower_case_only_in_the_source() -> None:
    made = list(synthetic_pairs([NAMED] * 40, Synthesis(capitals=1), seed=1))
    assert sorted(made) == sorted([(NAMED[0].upper(), NAMED[1])] * 30 + [(NAMED[0].lower(), NAMED[1])] * 10)


def test_shares_are_of_all_pairs_and_long_ones_are_not_made_again() -> None:
    long = " ".join(["so"] * 31), "so"
    pairs, shares = [long] * 300 + [NAMED] * 100, Synthesis(copying=0.1, capitals=0.05)
    made = list(synthetic_pairs(pairs, shares, seed=1))
    assert len(made) == 60
    assert not any("so so" in source.lower() for source, _ in made)
    assert made == list(synthetic_pairs(pairs, shares, seed=1)) != list(synthetic_pairs(pairs, shares, seed=2))
    assert not list(synthetic_pairs([long] * 9, Synthesis(1, 1), seed=1))


def test_bad_shares_are_refused() -> None:
    with pytest.raises(ValueError, match=r"copying \(1.5\) must be a number from 0 to 1"):
        Synthesis(copying=1.5)
    with pytest.raises(ValueError, match=r"capitals \(-0.1\) must be a number from 0 to 1"):
        Synthesis(capitals=-0.1)
