"""Text is read by one rule: UTF-8, LF or CRLF ends a line, and nothing else is taken for text or for a line end."""

import io
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.text.text_files import BOM, NotTextError, decode, decode_lines, one_line, read_text, split_lines

SEPARATORS = "\v\f\x1c\x1d\x1e\x85\u2028\u2029"  # line ends of `str.splitlines`


def test_only_lf_and_crlf_end_a_line() -> None:
    lines = [f"a{separator}b" for separator in SEPARATORS] + ["a\rb", "", "last"]
    for end in ("\n", "\r\n"):
        for text in (end.join(lines), "".join(f"{line}{end}" for line in lines)):
            assert split_lines(text) == lines
            assert list(decode_lines(io.BytesIO(text.encode()), "t")) == lines
    assert split_lines("") == []
    assert split_lines("\n") == [""]


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])))
def test_files_and_pasted_text_have_the_same_lines(text: str) -> None:
    assert list(decode_lines(io.BytesIO(text.encode()), "t")) == split_lines(text)
    assert len(one_line(text).splitlines()) <= 1


def test_a_byte_order_mark_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "t").write_text(f"{BOM}a\n{BOM}b\n", encoding="utf-8")
    assert read_text(tmp_path / "t") == f"a\n{BOM}b\n"
    assert list(decode_lines((tmp_path / "t").open("rb"), "t")) == split_lines(f"{BOM}a\n{BOM}b\n") == ["a", f"{BOM}b"]


@pytest.mark.parametrize("text", ["A dog runs.\nEin Hund rennt für uns.\n", "a", "Größe"])
@pytest.mark.parametrize(
    ("encoding", "problem"),
    [
        ("utf-16", "it is UTF-16"),
        ("utf-32", "it is UTF-32"),
        ("utf-16-le", "it is UTF-16, without a byte-order mark"),
        ("utf-16-be", "it is UTF-16, without a byte-order mark"),
        ("utf-32-le", "NUL (byte 0x00) in line 1"),
    ],
)
def test_other_encodings_are_refused_by_name(text: str, encoding: str, problem: str) -> None:
    content = text.encode(encoding)
    with pytest.raises(NotTextError, match=rf"^t is not UTF-8 text: {re.escape(problem)}; convert it to UTF-8$"):
        decode(content, "t")
    with pytest.raises(NotTextError, match=r"is not UTF-8 text: (it is UTF-|NUL \(byte 0x00\) at position 1)"):
        list(decode_lines(io.BytesIO(content), "t"))


@pytest.mark.parametrize(
    ("content", "byte", "at"), [(b"a\nb\n cc\xff", "byte 0xff", 3), (b"a\nb\n c\0c", "NUL (byte 0x00)", 2)]
)
def test_what_is_not_text_is_named_with_its_line(content: bytes, byte: str, at: int) -> None:
    with pytest.raises(NotTextError, match=f"t is not UTF-8 text: {re.escape(byte)} in line 3"):
        decode(content, "t")
    with pytest.raises(NotTextError, match=f"line 3 of t is not UTF-8 text: {re.escape(byte)} at position {at}"):
        list(decode_lines(io.BytesIO(content), "t"))
