"""Characters that a model's vocabulary lacks, and a plainer form of a text.

The model reads such a character as the bytes of its UTF-8, or as unknown. It has met it in training seldom or never, so
it may write anything in its place: a ligature or a zero-width space within an English word changes its translation.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cached_property

from core.text.byte_pieces import BYTES, UNKNOWN, ZERO_WIDTH_JOINER, is_standalone
from core.text.sentences import LANGUAGE_CODES
from core.text.text_normalization import normalized
from core.text.tokenizer import Tokenizer

ZERO_WIDTH_SPACE = "\u200b"
_BEFORE_PUNCTUATION = re.compile(rf"{ZERO_WIDTH_SPACE}+(?=[.,:;!?…)\]}}”»])")
# Marks that NFKC keeps apart from those of a keyboard: hyphens and a minus, apostrophes, ideographic comma and stop.
_MARKS = str.maketrans("\u2010\u2011\u2212\u2018\u02bc\u00b4`\u3001\u3002", "---'''',.")


class Alphabet:
    """The characters of a tokenizer's vocabulary.

    Characters that the tokenizer itself replaces by others of its vocabulary, or leaves out, count as those.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._known: set[str] = set()
        self._lacking: set[str] = set()

    def unseen(self, text: str) -> tuple[str, ...]:
        """The characters of a text that the vocabulary lacks, in the order of their first occurrence."""
        text = normalized(text)
        if self._tokenizer.language_codes and (codes := LANGUAGE_CODES.match(text)):
            text = text[codes.end() :]
        for character in {*text} - self._known - self._lacking:
            (self._known if self._knows(character) else self._lacking).add(character)
        return tuple(dict.fromkeys(character for character in text if character in self._lacking))

    def plain_form(self, text: str) -> str:
        """The text with a plainer form of what the vocabulary lacks, if there is one.

        The form is NFKC (Unicode Standard Annex 15), of these characters alone: letters for ligatures and full-width
        letters, accents joined with their letters; and the digits, hyphens and apostrophes of a keyboard. Soft hyphens,
        marks of direction and other invisible characters are left out, and a zero-width space is a space, unless
        punctuation follows.
        """
        if lacking := self.unseen(text):
            text = _BEFORE_PUNCTUATION.sub("", text) if ZERO_WIDTH_SPACE in lacking else text
            text = "".join(map(self._plain, _clusters(text)))
        return normalized(text)

    def _plain(self, cluster: str) -> str:
        """The plain form of a character with its accents, if less of it is unseen."""
        lacking = self.unseen(cluster)
        if not lacking or unicodedata.category(cluster[0]) == "So":  # an emoji of several
            return cluster
        visible = "".join(
            " " if character == ZERO_WIDTH_SPACE else character
            for character in cluster
            if character not in lacking or character == ZERO_WIDTH_SPACE or not _is_invisible(character)
        )
        plain = "".join(map(_keyboard_form, unicodedata.normalize("NFKC", visible.translate(_MARKS))))
        is_composed = len(self.unseen(plain)) == len(lacking) and plain == unicodedata.normalize("NFC", cluster)
        return plain if is_composed or len(self.unseen(plain)) < len(lacking) else cluster

    def _knows(self, character: str) -> bool:
        try:
            pieces = self._tokenizer.pieces(self._tokenizer.encode(character))
        except ValueError:  # of a vocabulary without a token for unknown ones
            pieces = [UNKNOWN]
        # A vocabulary of words has characters in its words that are no words themselves.
        is_known = UNKNOWN not in pieces or character in self._of_pieces
        is_known = is_known and (not any(piece in BYTES for piece in pieces) or self._is_of_bytes)
        return is_known or (character.isspace() and character != " ")

    @cached_property
    def _pieces(self) -> list[str]:
        return self._tokenizer.pieces(range(self._tokenizer.vocab_size))

    @cached_property
    def _of_pieces(self) -> set[str]:
        return set().union(*(piece for piece in self._pieces if piece not in BYTES and not is_standalone(piece)))

    @cached_property
    def _is_of_bytes(self) -> bool:
        """Whether every piece is a byte, as in ByT5: the bytes of a character do not show that it is rare."""
        return "<0x41>" not in self._pieces and all(len(piece) == 1 or piece[0] == "<" for piece in self._pieces)


def not_copied(unseen: Iterable[str], translation: str) -> tuple[str, ...]:
    """Those that a translation does not have, and all letters: a word copied with them may be no translation."""
    return tuple(character for character in unseen if character.isalpha() or character not in translation)


def _keyboard_form(character: str) -> str:
    digit = unicodedata.decimal(character, None)
    return character.translate(_MARKS) if digit is None else str(digit)


def _clusters(text: str) -> Iterator[str]:
    """Yield characters with the combining ones after them, and joined emoji."""
    cluster = ""
    for character in text:
        is_joined = unicodedata.category(cluster[:1] or " ") == "So" and (
            character == ZERO_WIDTH_JOINER or cluster.endswith(ZERO_WIDTH_JOINER)
        )
        if cluster and not is_joined and not unicodedata.category(character).startswith("M"):
            yield cluster
            cluster = ""
        cluster += character
    if cluster:
        yield cluster


def _is_invisible(character: str) -> bool:
    """Whether a character is a control, a format or a variation selector."""
    is_selector = "\ufe00" <= character <= "\ufe0f" or "\U000e0100" <= character <= "\U000e01ef"
    return unicodedata.category(character) in ("Cc", "Cf") or is_selector or character == "\u034f"


def character_names(characters: Iterable[str]) -> list[str]:
    """Names to display: the character and its code or, without a glyph of its own, the code and the Unicode name."""
    return [
        f"{character} (U+{ord(character):04X})"
        if character.isprintable() and not unicodedata.category(character).startswith("M")
        else f"U+{ord(character):04X} {unicodedata.name(character, '').lower()}".rstrip()
        for character in characters
    ]
