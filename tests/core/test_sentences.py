"""Sentence splitting: its rule, and that no text is lost."""

import pytest

from core.sentences import split_sentences, with_language_codes


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One. Two! Three? Four… Five", ["One.", "Two!", "Three?", "Four…", "Five"]),
        ("A line\nanother\r\n\r\nand one", ["A line", "another", "and one"]),
        ('He said "Go." She went.', ['He said "Go."', "She went."]),
        ("Er sagte: „Geh.“ Sie ging (sofort!). Ende", ["Er sagte: „Geh.“", "Sie ging (sofort!).", "Ende"]),
        ("It costs 3.50 euros, e.g. at home. 12 men know", ["It costs 3.50 euros, e.g. at home.", "12 men know"]),
        ("Wait... what", ["Wait... what"]),
        ("no end", ["no end"]),
    ],
)
def test_sentences(text: str, sentences: list[str]) -> None:
    assert [sentence for sentence, _ in split_sentences(text)] == sentences


@pytest.mark.parametrize(
    "text", ["", " ", "\n\n", " a. B \n\n c.", "a", "...", "? ! .\t.", "x.\u00a0Y.\u2028Z", "م؟ ن"]
)
def test_nothing_is_lost(text: str) -> None:
    pairs = split_sentences(text)
    assert "".join(sentence + gap for sentence, gap in pairs) == text
    assert all(sentence for sentence, _ in pairs[1:])
    assert all(not gap.strip() for _, gap in pairs)


def test_it_takes_time_in_proportion_to_the_text() -> None:
    assert len(split_sentences("a " * 200_000)) == 1
    assert len(split_sentences(" " * 200_000)) == 1
    assert len(split_sentences("a.\n" * 100_000)) == 100_000


def test_language_codes_are_for_all_sentences_up_to_the_next_ones() -> None:
    assert with_language_codes([">>fra<< One.", "Two.", ">>deu<< >>spa<<Three.", "Four."]) == [
        ">>fra<< One.",
        ">>fra<< Two.",
        ">>deu<< >>spa<<Three.",
        ">>deu<< >>spa<<Four.",
    ]
    assert with_language_codes(["One.", "a >>fra<< b."]) == ["One.", "a >>fra<< b."]
