"""Composed texts: English as they are, and in parts for a translation."""

import copy

from core.text.phrases import Phrase, listed


def test_a_phrase_is_its_english_text() -> None:
    place = Phrase("the next token")
    phrase = Phrase("puts {share} of its weight on {place}", share="60%", place=place)
    assert phrase == "puts 60% of its weight on the next token"
    assert (phrase.words, phrase.values) == ("puts {share} of its weight on {place}", {"share": "60%", "place": place})
    again = copy.deepcopy(phrase)
    assert (again, again.words, again.values) == (phrase, phrase.words, phrase.values)


def test_values_and_texts_without_values_may_have_braces() -> None:
    assert Phrase("{token} is rare", token="{x}") == "{x} is rare"
    assert Phrase("{x} is rare") == "{x} is rare"


def test_a_list_has_words_between_its_parts() -> None:
    assert listed(["one"]) == "one"
    assert listed(["one", "two", "three"]) == "one, two, three"
    assert listed(["one", "two", "three"], "{first} and {rest}") == "one and two and three"
