"""Text from elsewhere, where Markdown is read."""

import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from viz_app.drawing.display_text import decimal, direction, isolated, plain, sentence_case, shortened


@given(st.text(st.sampled_from("a1 \t\n\r*_`[](){}<>#+-.!|~$:&;=\\\"'%/\u3000"), max_size=20))
@example("&lt;b&gt; &amp;amp; &#60;")
@example("name\n===\n---")
@example("    code")
@example(":red[a] $x$ ~~b~~ https://a.b <b> [x](y)")
def test_plain_text_is_text_in_markdown(text: str) -> None:
    """By another parser, and whatever stands before it in its line."""
    for before in ("", "of "):
        blocks = MarkdownIt("gfm-like", {"linkify": False}).parse(before + plain(text))
        shown = "".join(each.content for block in blocks for each in block.children or ())
        assert {each.type for block in blocks for each in block.children or ()} <= {"text", "text_special"}
        assert {block.type for block in blocks} <= {"paragraph_open", "inline", "paragraph_close"}
        assert shown.split() == (before + text).split()


def test_what_is_not_unicode_can_be_sent_to_a_browser() -> None:
    assert plain("caf\udce9 \ud800").encode() == b"caf? ?"


def test_streamlit_directives_are_taken_apart() -> None:
    assert plain(":red[a] $x$") == r"\:red\[a\] \$x\$"


def test_messages_begin_large_and_end_with_a_full_stop() -> None:
    assert sentence_case("the text is empty") == r"The text is empty\."
    assert sentence_case("it has 1.5 parts, not a/b.") == r"It has 1\.5 parts, not a/b\."
    for name in ("tiny.history: ", "tiny.safetensors ", "runs/a ", "a_b "):  # of files
        assert sentence_case(f"{name}is cut off").startswith(plain(name))
    assert sentence_case("\u6587\u672c\u4e3a\u7a7a\u3002") == "\u6587\u672c\u4e3a\u7a7a\u3002"  # a sentence in Chinese


def test_text_that_is_read_from_the_right_is_isolated() -> None:
    assert isolated("\u05d0b") == "\u2068\u05d0b\u2069"
    assert isolated("ab 1") == "ab 1"
    assert isolated("\u05d0b", "ltr") == "\u2066\u05d0b\u2069"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("A dog.", "ltr"),
        ("\u05e9\u05dc\u05d5\u05dd.", "rtl"),
        ("\u0645\u0631\u062d\u0628\u0627 is hello", "ltr"),  # the first letter is Arabic, most are not
        ("ok, \u05e9\u05dc\u05d5\u05dd", "rtl"),
        ("\u0645\u064f\u064f\u064f ab", "ltr"),  # accents are no letters
        ("1 + 2 = \u0663!", ""),  # nor are digits, of any script
        ("", ""),
    ],
)
def test_a_text_is_read_from_where_most_of_its_letters_are(text: str, found: str) -> None:
    assert direction(text) == found


def test_short_text_stays_and_long_text_ends_in_a_mark() -> None:
    assert shortened("abc", 3) == "abc"
    assert shortened("ab cde", 4) == "ab\u2026"


def test_numbers_have_a_minus_and_no_hyphen() -> None:
    assert (decimal(-1.25, 1), decimal(0.5, 2, sign=True), decimal(-math.inf, 2)) == (
        "\u22121.2",
        "+0.50",
        "\u2212\u221e",
    )
