"""Byte-pair encoding of bytes, as GPT-2 and BART have it (Radford et al. 2019, 2.2).

Vocabularies and merges of such models spell each byte of UTF-8 by a printable letter, a space by `\\u0120`. Pieces here
are spelled as elsewhere in this project: `SPACE_MARK` for a space, `<0xC3>` for a byte that is no whole character.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence

from core.text.byte_pair_encoding import MAX_WORD, BytePairEncoding
from core.text.byte_pieces import bytes_of
from core.text.tokenizer import SPACE_MARK

_PRINTED = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]  # bytes that are their own letters
_OTHERS = [value for value in range(256) if value not in _PRINTED]
BYTE_LETTERS = {chr(value): value for value in _PRINTED} | {chr(256 + n): value for n, value in enumerate(_OTHERS)}
LETTERS = {value: letter for letter, value in BYTE_LETTERS.items()}
_ENDINGS = re.compile(r"'(?:s|t|re|ve|m|ll|d)")
_WORDS = re.compile(r" ?L+| ?N+| ?O+|[S ]+(?![^S ])|[S ]+")  # of kinds: letters, numbers, others, white space


class ByteLevelEncoding:
    """Splits texts into pieces of bytes, and joins them, by merges of pieces in letters, the first merged first."""

    def __init__(self, merges: Sequence[tuple[str, str]]) -> None:
        self._merges = BytePairEncoding(merges, marks_ends=False)

    def split(self, text: str) -> list[tuple[str, bytes]]:
        """Pieces of a text with the bytes that they spell."""
        pieces: list[tuple[str, bytes]] = []
        for word in words_of(text):
            letters = "".join(LETTERS[byte] for byte in word.encode())
            for start in range(0, len(letters), MAX_WORD):
                for piece in self._merges.word_pieces(letters[start : start + MAX_WORD]):
                    spelled = bytes_of_letters(piece)
                    pieces.append((piece_of_bytes(spelled), spelled))
        return pieces

    @staticmethod
    def join(pieces: Sequence[str]) -> str:
        """Text of pieces; bytes that are no characters become replacement characters."""
        return b"".join(map(bytes_of_piece, pieces)).decode(errors="replace")


def words_of(text: str) -> Iterator[str]:
    """Parts of a text that are split into pieces one by one: words and numbers with the space before them, English
    endings such as `'s`, punctuation, white space.
    """
    kinds = "".join(map(_kind, text))
    start = 0
    while start < len(text):
        match = _ENDINGS.match(text, start) or _WORDS.match(kinds, start)
        assert match is not None
        yield text[start : match.end()]
        start = match.end()


def _kind(character: str) -> str:
    if character.isspace():
        return " " if character == " " else "S"
    category = unicodedata.category(character)[0]
    return category if category in "LN" else "O"


def common_piece(letters: str) -> str:
    """A piece of a vocabulary in letters, spelled as in this project."""
    return piece_of_bytes(bytes_of_letters(letters))


def bytes_of_letters(letters: str) -> bytes:
    """Bytes that the letters of a piece stand for.

    A piece with other characters was added to a vocabulary and stands for its own text.
    """
    if all(letter in BYTE_LETTERS for letter in letters):
        return bytes(BYTE_LETTERS[letter] for letter in letters)
    return letters.encode()


def piece_of_bytes(encoded: bytes) -> str:
    """The text of bytes, or a token of bytes if they are not whole characters, or could be taken for something else."""
    try:
        text = encoded.decode()
    except UnicodeDecodeError:
        text = None
    if text is not None and SPACE_MARK not in text and bytes_of(text) is None:
        return text.replace(" ", SPACE_MARK)
    rest = encoded.removeprefix(b" ")
    return SPACE_MARK * (len(encoded) - len(rest)) + "".join(f"<0x{byte:02X}>" for byte in rest)


def bytes_of_piece(piece: str) -> bytes:
    """The bytes that a piece spells."""
    spelled = bytes_of(piece)
    if spelled is None:
        return piece.replace(SPACE_MARK, " ").encode()
    return b" " * piece.startswith(SPACE_MARK) + spelled
