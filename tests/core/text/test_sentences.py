"""Sentence splitting: its rule, and that no text is lost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.results import ScoredText, Translation
from core.text.sentences import missing_sentences, num_sentences, one_per_line, split_sentences, with_language_codes


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One. Two! Three? Four… Five", ["One.", "Two!", "Three?", "Four…", "Five"]),
        ("A line\nand its rest\r\n \r\nand one. Mr.\nX", ["A line\nand its rest", "and one.", "Mr.\nX"]),
        ("Roses are red.\nviolets too.\nIn e.g.\nMay", ["Roses are red.", "violets too.", "In e.g.\nMay"]),
        ("We need\n- milk\n- two\neggs\n1. call\n(b) go", ["We need", "- milk", "- two\neggs", "1. call", "(b) go"]),
        ('He said "Go." She went.', ['He said "Go."', "She went."]),
        ("Er sagte: „Geh.“ Sie ging (sofort!). Ende", ["Er sagte: „Geh.“", "Sie ging (sofort!).", "Ende"]),
        ("It costs 3.50 euros, e.g. at home. 12 men know", ["It costs 3.50 euros, e.g. at home.", "12 men know"]),
        ("Wait... what", ["Wait... what"]),
        ("no end", ["no end"]),
        ("This is plan b. It is good", ["This is plan b.", "It is good"]),
        (
            "Mr. Smith of the U.S. Senate (Dr. J. R. Jones) came. It was 1995. Am 3. Mai",
            ["Mr. Smith of the U.S. Senate (Dr. J. R. Jones) came.", "It was 1995.", "Am 3. Mai"],
        ),
        ("今天很好，我们去公园。你呢？！“走吧。”他说。", ["今天很好，我们去公园。", "你呢？！", "“走吧。”", "他说。"]),
        (
            "他走了。“好！”（真的。）\n彼は「はい。」と言った｡ええ。",
            ["他走了。", "“好！”", "（真的。）", "彼は「はい。」と言った｡", "ええ。"],
        ),
        ("यह अच्छा है। वह गया।फिर?", ["यह अच्छा है।", "वह गया।", "फिर?"]),
        ("كيف حالك؟ أنا بخير. شكراً", ["كيف حالك؟", "أنا بخير.", "شكراً"]),
        ("آپ کیسے ہیں؟ میں ٹھیک ہوں۔ شکریہ۔", ["آپ کیسے ہیں؟", "میں ٹھیک ہوں۔", "شکریہ۔"]),
        ("A girl runs！A boy sits。 And！then", ["A girl runs！", "A boy sits。", "And！then"]),
    ],
)
def test_sentences(text: str, sentences: list[str]) -> None:
    assert [sentence for sentence, _ in split_sentences(text)] == sentences


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "\n\n", " a. B \n\n c.", "a", "...", "? ! .\t.", "x.\u00a0Y.\u2028Z"),
        *("م؟ ن", "。 。。」a", "。", " 。\n"),
    ],
)
def test_nothing_is_lost(text: str) -> None:
    pairs = split_sentences(text)
    assert "".join(sentence + gap for sentence, gap in pairs) == text
    assert all(sentence for sentence, _ in pairs[1:])
    assert all(not gap.strip() for _, gap in pairs)


def test_sentences_are_put_on_lines() -> None:
    assert one_per_line(" A man\n  in blue. Here\n\n\nA dog") == "A man in blue.\nHere\n\nA dog\n"


def test_it_takes_time_in_proportion_to_the_text() -> None:
    assert len(split_sentences("a " * 200_000)) == 1
    assert len(split_sentences(" " * 200_000)) == 1
    assert len(split_sentences("a.\n" * 100_000)) == 100_000
    assert len(split_sentences("今。" * 100_000)) == 100_000
    assert len(split_sentences("。" * 200_000)) == len(split_sentences("”" * 200_000)) == 1


def test_only_sentences_with_a_word_or_a_number_are_counted() -> None:
    texts = ("", "...", "A dog runs.", "It rains. We stay! 。 今天。", "- ! Yes.")
    assert [num_sentences(text) for text in texts] == [0, 0, 1, 3, 1]


@given(st.text("a.B!。” \n\u2026", max_size=12))
def test_sentences_are_counted_as_they_are_split(text: str) -> None:
    assert num_sentences(text) == sum(any(map(str.isalnum, sentence)) for sentence, _ in split_sentences(text))


@pytest.mark.parametrize(
    ("source", "target", "missing"),
    [
        ("It rains. We stay.", "Es regnet.", 1),
        ("It rains. We stay! Where?", "", 3),
        ("It rains. We stay.", "Es regnet. Wir bleiben. Ja.", 0),
        ("下雨了。我们不走。", "It rains. We stay.", 0),
        ("It rains", "", 0),  # a single one is not left out of several
        ("Mr. Smith saw Dr. J. Jones of the U.S. Senate.", "Herr Smith sah ihn.", 0),
    ],
)
def test_sentences_are_missing_from_translations_of_several(source: str, target: str, missing: int) -> None:
    assert missing_sentences(source, target) == missing
    scored = ScoredText(target, (), (), (), 0.0)
    assert Translation(source, (), (scored,)).missing_sentences == missing


def test_language_codes_are_for_all_sentences_up_to_the_next_ones() -> None:
    assert with_language_codes([">>fra<< One.", "Two.", ">>deu<< >>spa<<Three.", "Four."]) == [
        ">>fra<< One.",
        ">>fra<< Two.",
        ">>deu<< >>spa<<Three.",
        ">>deu<< >>spa<<Four.",
    ]
    assert with_language_codes(["One.", "a >>fra<< b."]) == ["One.", "a >>fra<< b."]
