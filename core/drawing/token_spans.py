"""Tokens as spans of text, each with a style.

The browser sets them as text, never as HTML.
"""

from collections.abc import Sequence

from core.analysis.tokens.words import JOINT, continues_word, readable, word
from core.byte_pieces import BLANK, BYTE, BytePiece, is_special

FED_ARROW = "\u25b8"
# text and style: "" plain, "faint" a mark, "special" a special token, "fed" input, "byte" the number of a byte
Span = tuple[str, str]


def label_spans(token: str, style: str = "") -> list[Span]:
    """Return the spans of one token.

    A token that continues a word begins with a faint joint mark; special tokens have their own style.
    """
    if is_special(token):
        return [(token, "special")]
    text = readable(token)
    if isinstance(token, BytePiece) and token.num_bytes > 1:
        character, _, which = text.rpartition(" ")
        return [(character, style), (f" {which}", "faint")]
    if continues_word(token):
        return [(JOINT, "faint"), (text.removeprefix(JOINT), style)]
    return [(text, "faint" if text == BLANK else style)]


def run_spans(token: str) -> list[Span]:
    """Return the spans of one token within running text.

    Without a joint mark; a character of several bytes appears once, its other bytes as small numbers.
    """
    if isinstance(token, BytePiece) and token.spells:
        return [(str(token.number), "byte")] if token.number > 1 else label_spans(token)[:1]
    return [span for span in label_spans(token) if span != (JOINT, "faint")]


def spoken(token: str) -> str:
    """Return a token's name for screen readers.

    It has no joint mark; a byte is named with the character that it is part of.
    """
    if isinstance(token, BytePiece) and token.num_bytes > 1:
        part, code = f"byte {token.number} of {token.num_bytes}", token[1:-1]
        return f"{token.spells}, {part}, {code}" if token.spells else f"{code}, {part}"
    return readable(token).removeprefix(JOINT)


def unit_spans(tokens: Sequence[str]) -> list[Span]:
    """Return the spans of the tokens of one grapheme (see `grapheme_groups`).

    Bytes and accents are replaced by the text they spell.
    """
    if len(tokens) == 1 and not BYTE.fullmatch(tokens[0]):
        return label_spans(tokens[0])
    return [*([(JOINT, "faint")] if continues_word(tokens[0]) else []), (str(word(tokens)), "")]
