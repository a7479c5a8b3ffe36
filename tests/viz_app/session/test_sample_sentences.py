"""Sentences of a text, for measurements on a sample."""

import re

import pytest

from viz_app.session import sample_sentences


def test_text_is_a_sentence_a_line() -> None:
    assert sample_sentences.sentences_of("A dog.\r\n\n  A cat. \n") == ("A dog.", "A cat.")
    assert sample_sentences.sentences_of("\ufeffA\u2028dog.\nA\x85cat.\f") == ("A\u2028dog.", "A\x85cat.")
    assert sample_sentences.uploaded_sentences("x.txt", "\ufeffEin Hund läuft.".encode()) == ("Ein Hund läuft.",)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b" \n", "there is no sentence in this text"),
        (b"a\n" * 501, "the text has 501 lines, at most 500 can be scored"),
        (b"\xff\xfe", "x.txt is not UTF-8 text: it is UTF-16"),
        (b"a\n\0b", "x.txt is not UTF-8 text: NUL (byte 0x00) in line 2"),
        (b"a" * (2**20 + 1), "x.txt is larger than 1 MB"),
    ],
)
def test_what_is_no_sample_is_refused_with_its_reason(content: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        sample_sentences.uploaded_sentences("x.txt", content)
