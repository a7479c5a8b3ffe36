"""What tokens spell: the characters that a reader sees, whether a token is many of them or one byte of one."""

import re
import unicodedata
from collections.abc import Iterator, Sequence

from core.tokenizer import SPACE_MARK

SPECIAL_TOKENS = frozenset({"<s>", "</s>", "<pad>"})
UNKNOWN = "<unk>"
NOTHING = "\u2423"  # stands for a token without a visible character, such as a lone space
DOTTED_CIRCLE = "\u25cc"  # what an accent stands on that has no letter of its own
BYTE = re.compile(r"<0x([0-9A-F]{2})>")
ZERO_WIDTH_JOINER = "\u200d"
LEFT_TO_RIGHT_MARK = "\u200e"
_OVERRIDES: dict[int, int | None] = dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A)])
_PICTURES = {code: 0x2400 + code for code in range(0x20)} | {0x7F: 0x2421} | _OVERRIDES


class Word(str):
    """A whole word, joined from its tokens. It reads as it is, and is never taken for a special token or a piece."""

    __slots__ = ()


class BytePiece(str):
    """A byte token that knows which character it is a byte of. To programs it is what it was, as `<0xF0>`.

    Attributes:
        spells: the character; where one byte is missing that may be any, the first and the last that it can become;
            else empty.
        number: which of the character's bytes it is, from 1; 0 where the bytes spell nothing.
        num_bytes: how many the character has.
    """

    spells: str
    number: int
    num_bytes: int

    def __new__(cls, token: str, spells: str = "", number: int = 0, num_bytes: int = 0) -> "BytePiece":
        piece = super().__new__(cls, token)
        piece.spells, piece.number, piece.num_bytes = spells, number, num_bytes
        return piece


def is_special(token: str) -> bool:
    """Whether the token is `<s>`, `</s>` or `<pad>` (a `Word` that happens to be spelled so is not)."""
    return token in SPECIAL_TOKENS and not isinstance(token, Word)


def stands_alone(token: str) -> bool:
    """Whether no other token changes how it reads: a whole word, a special or an unknown one."""
    return isinstance(token, Word) or is_special(token) or token == UNKNOWN


def character_groups(tokens: Sequence[str]) -> Iterator[range]:
    """Positions of single tokens, but those of the bytes of one UTF-8 character together."""
    start = 0
    for position, token in enumerate(tokens):
        following = BYTE.fullmatch(tokens[position + 1]) if position + 1 < len(tokens) else None
        continues = following is not None and 0x80 <= int(following[1], 16) < 0xC0  # a continuation byte is 10xxxxxx
        if not (continues and BYTE.fullmatch(token)):
            yield range(start, position + 1)
            start = position + 1


def grapheme_groups(tokens: Sequence[str]) -> Iterator[range]:
    """`character_groups`, but accents, joiners, what a joiner joins, and the two halves of a flag with the character
    before them.
    """
    start, previous, half_flag = 0, "", False
    for group in character_groups(tokens):
        token, text = tokens[group.start], spelled_by(tokens[group.start : group.stop])
        ends_flag = half_flag and _is_half_flag(text)
        follows = previous.strip(SPACE_MARK) and not stands_alone(token) and not token.startswith(SPACE_MARK)
        if group.start and not (follows and (clings(text) or previous.endswith(ZERO_WIDTH_JOINER) or ends_flag)):
            yield range(start, group.start)
            start = group.start
        previous = "" if stands_alone(token) else text
        half_flag = _is_half_flag(text) and not ends_flag
    if tokens:
        yield range(start, len(tokens))


def with_characters(tokens: Sequence[str]) -> tuple[str, ...]:
    """The same tokens, the bytes among them as `BytePiece`. Bytes that read as one character, such as a joined
    emoji, are counted together.
    """
    found = list(tokens)
    for group in grapheme_groups(tokens):
        positions = [position for position in group if BYTE.fullmatch(tokens[position])]
        spells, count = _character([_byte(tokens[position]) for position in positions], group.stop == len(tokens))
        for number, position in enumerate(positions, start=1):
            found[position] = BytePiece(tokens[position], spells, number if count else 0, count)
    return tuple(found)


def in_place_of(tokens: Sequence[str], position: int, token: str) -> str:
    """Another token in place of that at a position, as `with_characters` has it: nothing is known of what would
    follow it.
    """
    if token == tokens[position]:
        return tokens[position]
    return with_characters((*tokens[:position], token))[-1] if BYTE.fullmatch(token) else token


def byte_label(token: str) -> str:
    """`\u00e4 1/2`: the character, and which of its bytes this is; in hexadecimal where no character is known."""
    piece = token if isinstance(token, BytePiece) else with_characters((token,))[0]
    assert isinstance(piece, BytePiece)
    spells = piece.spells or f"0x{_byte(piece):02X}"
    # else the number would turn with it
    mark = LEFT_TO_RIGHT_MARK if unicodedata.bidirectional(spells[-1]) in ("R", "AL") else ""
    return f"{spells}{mark} {piece.number}/{piece.num_bytes}" if piece.num_bytes > 1 else spells


def spelled_by(tokens: Sequence[str]) -> str:
    """Pieces joined, runs of byte pieces decoded as UTF-8; what is no UTF-8 becomes the replacement character."""
    encoded = b"".join(bytes([_byte(token)]) if BYTE.fullmatch(token) else token.encode() for token in tokens)
    return encoded.decode(errors="replace")


def visible(text: str) -> str:
    """Control characters as their pictures, no overriding of the direction, and something to see where there would
    be nothing.
    """
    text = text.translate(_PICTURES)
    if text and unicodedata.category(text[0]) in ("Mn", "Me"):
        return DOTTED_CIRCLE + text
    return (
        text
        if any(not character.isspace() and unicodedata.category(character) != "Cf" for character in text)
        else NOTHING
    )


def clings(text: str) -> bool:
    """Whether the text changes the character before it: an accent, a joiner, the tone of an emoji's skin."""
    return text != "" and (
        unicodedata.category(text[0]) in ("Mn", "Mc", "Me", "Cf") or "\U0001f3fb" <= text[0] <= "\U0001f3ff"
    )


def _is_half_flag(text: str) -> bool:
    """Whether it is one of the two letters that are drawn as a country's flag."""
    return len(text) == 1 and "\U0001f1e6" <= text <= "\U0001f1ff"


def _byte(token: str) -> int:
    return int(token[3:5], 16)


def _character(found: Sequence[int], goes_on: bool) -> tuple[str, int]:
    """What bytes spell, and how many it takes, as in `BytePiece`. Args: goes_on, whether more may follow."""
    try:
        return visible(bytes(found).decode()), len(found)
    except UnicodeDecodeError:
        count = next(
            (
                count
                for count, least, limit in ((2, 0xC2, 0xE0), (3, 0xE0, 0xF0), (4, 0xF0, 0xF5))
                if least <= found[0] < limit
            ),
            0,
        )
    if count <= len(found) or not goes_on:
        return "", 0
    if len(found) == count - 1:
        ends = [bytes([*found, last]).decode(errors="replace") for last in (0x80, 0xBF)]
        if all(len(end) == 1 and end.isprintable() and not clings(end) and end != "\ufffd" for end in ends):
            return "\u2013".join(ends), count
    return "", count
