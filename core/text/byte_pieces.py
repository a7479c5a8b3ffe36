"""Characters spelled by tokens: sub-word pieces, and single bytes of UTF-8."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

from core.text.tokenizer import BYTES, SPACE_MARK, Role

# Roles of special tokens by their usual names, of tokens that are known by their name only.
USUAL_ROLES: dict[str, Role] = {"<s>": "start", "<pad>": "start", "</s>": "end"}
PAD, END, UNKNOWN, START = "<pad>", "</s>", "<unk>", "<s>"
MASK = "<mask>"  # of mask-predict, in place of tokens still to be predicted
# Tokens of languages: of OPUS-MT (`>>deu<<`), M2M100 (`__de__`), NLLB (`deu_Latn`) and mBART (`de_DE`).
LANGUAGE = re.compile(r">>[^<>\s]+<<|__[a-z]{2,3}__|[a-z]{3}_[A-Z][a-z]{3}|[a-z]{2}_[A-Z]{2}")
_BYTE_SEQUENCE = re.compile(f"{SPACE_MARK}?(?:<0x[0-9A-F]{{2}}>)+")
BLANK = "\u2423"  # shown for a token without a visible character, such as a lone space
DOTTED_CIRCLE = "\u25cc"  # base of a combining character without a letter
ZERO_WIDTH_JOINER = "\u200d"
LEFT_TO_RIGHT_MARK = "\u200e"
_OVERRIDES: dict[int, int | None] = dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A)])
_PICTURES = {code: 0x2400 + code for code in range(0x20)} | {0x7F: 0x2421} | _OVERRIDES


class Word(str):
    """A word joined from its tokens; never taken for a special token or a piece."""

    __slots__ = ()


class BytePiece(str):
    """A byte token such as `<0xF0>` that records the character it belongs to; equal to the plain string."""

    # the character; lacking one byte the range it can become, first and last joined by a dash; empty if unknown
    spells: str
    number: int  # index of the byte in the character, from 1; 0 if the bytes are not valid UTF-8
    num_bytes: int  # number of bytes of the character

    def __new__(cls, token: str, spells: str = "", number: int = 0, num_bytes: int = 0) -> "BytePiece":
        piece = super().__new__(cls, token)
        piece.spells, piece.number, piece.num_bytes = spells, number, num_bytes
        return piece


class PlacedPiece(str):
    """A piece whose role depends on its place in the sentence, however it is spelled; equal to the plain string.

    For example, a decoder may start with `</s>`.
    """

    role: Role

    def __new__(cls, token: str, role: Role = "text") -> "PlacedPiece":
        piece = super().__new__(cls, token)
        piece.role = role
        return piece


def with_roles(tokens: Sequence[str], roles: Sequence[Role]) -> tuple[str, ...]:
    """Tokens that know their roles.

    A word of the text that is spelled like a special token is marked as a word, so that it is not taken for one.
    """
    return tuple(
        token if token_role(token) == role else SPACE_MARK + token if role == "text" else PlacedPiece(token, role)
        for token, role in zip(tokens, roles, strict=True)
    )


def token_role(token: str) -> Role:
    """Role of a token by its place if that is known, else by its usual name."""
    if isinstance(token, PlacedPiece):
        return token.role
    if isinstance(token, Word):
        return "text"
    return USUAL_ROLES.get(token) or ("language" if LANGUAGE.fullmatch(token) else "text")


def token_kinds(tokens: Sequence[str]) -> tuple[tuple[type, Role], ...]:
    """Kinds that distinguish a `Word` and a special token from an equal piece of the same letters."""
    return tuple((type(token), token_role(token)) for token in tokens)


def is_special(token: str) -> bool:
    """Whether the token is not text: a start, an end, a language code, or a piece of a prefix the model needs."""
    return token_role(token) != "text"


def text_groups(tokens: Sequence[str], groups: Iterable[range]) -> list[range]:
    """Groups of positions that begin with a token of the text, not a special one."""
    return [group for group in groups if not is_special(tokens[group.start])]


def is_standalone(token: str) -> bool:
    """Whether the token reads the same in any context, as words, special and unknown tokens, and language codes do."""
    return isinstance(token, Word) or token in (UNKNOWN, MASK) or token_role(token) in ("start", "end", "language")


def may_continue(token: str) -> bool:
    """Whether a token is a piece with no space before it, neither a special token nor a byte."""
    return not token.startswith(SPACE_MARK) and not is_standalone(token) and bytes_of(token) is None


def shown_text(token: str) -> str:
    """A token as it is displayed: without its space mark, a byte as its character; a `Word` is unchanged."""
    if isinstance(token, Word):
        return str(token)
    if bytes_of(token) is not None and not is_special(token):
        return byte_label(token)
    return visible(token.removeprefix(SPACE_MARK).replace(SPACE_MARK, " "))


def bytes_of(token: str) -> bytes | None:
    """Bytes of UTF-8 that a byte token stands for; None for other tokens.

    SentencePiece's byte tokens hold one, `<0xC3>`. Those of other tokenizers hold several, `<0xE4><0xBD>`, also with
    `SPACE_MARK` before them, which is left out.
    """
    if token in BYTES:
        return bytes([BYTES[token]])
    match = token.endswith(">") and _BYTE_SEQUENCE.fullmatch(token)
    return bytes.fromhex("".join(re.findall("0x(..)", token))) if match else None


def character_groups(tokens: Sequence[str]) -> Iterator[range]:
    """Positions of tokens, grouped by UTF-8 character where they are bytes."""
    start = 0
    for position in range(1, len(tokens) + 1):
        if position == len(tokens) or not _continues(tokens, position):
            yield range(start, position)
            start = position


def _continues(tokens: Sequence[str], position: int) -> bool:
    """Whether the token is a byte of the character that the byte before it belongs to."""
    if tokens[position].startswith(SPACE_MARK):
        return False
    here = bytes_of(tokens[position])
    # a continuation byte is 10xxxxxx
    return here is not None and 0x80 <= here[0] < 0xC0 and bytes_of(tokens[position - 1]) is not None


def grapheme_groups(tokens: Sequence[str]) -> Iterator[range]:
    """`character_groups`, joined to grapheme clusters.

    Combining characters, joiners with what they join, and a flag's second half belong to the character before.
    """
    start, previous, half_flag = 0, "", False
    for group in character_groups(tokens):
        token, text = tokens[group.start], decode_pieces(tokens[group.start : group.stop])
        ends_flag = half_flag and _is_half_flag(text)
        follows = previous.strip(SPACE_MARK) and not is_standalone(token) and not token.startswith(SPACE_MARK)
        if group.start and not (follows and (is_combining(text) or previous.endswith(ZERO_WIDTH_JOINER) or ends_flag)):
            yield range(start, group.start)
            start = group.start
        previous = "" if is_standalone(token) else text
        half_flag = _is_half_flag(text) and not ends_flag
    if tokens:
        yield range(start, len(tokens))


def resolve_bytes(tokens: Sequence[str]) -> tuple[str, ...]:
    """Replace byte tokens by `BytePiece`.

    Bytes that read as one character, such as a joined emoji, are counted together.
    """
    if all(bytes_of(token) is None for token in tokens):
        return tuple(tokens)
    resolved = list(tokens)
    for group in grapheme_groups(tokens):
        encoded = {position: each for position in group if (each := bytes_of(tokens[position])) is not None}
        spells, count = _character(b"".join(encoded.values()), group.stop == len(tokens))
        number = 1
        for position, each in encoded.items():
            resolved[position] = BytePiece(tokens[position], spells, number if count else 0, count)
            number += len(each)
    return tuple(resolved)


def alternative_piece(tokens: Sequence[str], position: int, token: str) -> str:
    """A token in place of the one at a position, as `resolve_bytes` returns it.

    The tokens after the position are ignored, as they would change.
    """
    if token == tokens[position]:
        return tokens[position]
    if bytes_of(token) is None:
        return token
    replaced = (*tokens[:position], token)
    return resolve_bytes(replaced[_last_start(replaced) :])[-1]


def alternative_pieces(tokens: Sequence[str], position: int, others: Iterable[str]) -> list[str]:
    """Tokens in place of the one at a position, see `alternative_piece`."""
    return [alternative_piece(tokens, position, token) for token in others]


def _last_start(tokens: Sequence[str]) -> int:
    """Start of the last grapheme cluster, or of one before it; nothing earlier changes how the last one reads.

    Looks at the end only: a text may be long, its clusters are short.
    """
    start, text = len(tokens), ""
    while start > 0:
        stop = start
        start = next(each for each in range(stop - 1, -1, -1) if each == 0 or not _continues(tokens, each))
        following, text = text, decode_pieces(tokens[start:stop])
        if following and not (is_combining(following) or _is_half_flag(following) or text.endswith(ZERO_WIDTH_JOINER)):
            return stop
        if is_standalone(tokens[start]) or tokens[start].startswith(SPACE_MARK):
            return start
    return 0


def byte_label(token: str) -> str:
    """`ä 1/2`: the character and the index of the byte; hexadecimal if it is unknown."""
    piece = token if isinstance(token, BytePiece) else resolve_bytes((token,))[0]
    assert isinstance(piece, BytePiece)
    spells = piece.spells or f"0x{(bytes_of(piece) or b'').hex().upper()}"
    # without it, the number would be displayed right to left
    mark = LEFT_TO_RIGHT_MARK if unicodedata.bidirectional(spells[-1]) in ("R", "AL") else ""
    return f"{spells}{mark} {piece.number}/{piece.num_bytes}" if piece.num_bytes > 1 else spells


def decode_pieces(tokens: Sequence[str]) -> str:
    """Join pieces and decode bytes as UTF-8, with replacement characters."""
    encoded: list[bytes] = []
    for token in tokens:
        spelled = bytes_of(token)
        space = SPACE_MARK if spelled is not None and token.startswith(SPACE_MARK) else ""
        encoded.append(token.encode() if spelled is None else space.encode() + spelled)
    return b"".join(encoded).decode(errors="replace")


def visible(text: str) -> str:
    """Text with a visible glyph for control characters and blank text, without marks that override its direction."""
    text = text.translate(_PICTURES)
    if text and unicodedata.category(text[0]) in ("Mn", "Me"):
        return DOTTED_CIRCLE + text
    is_blank = all(character.isspace() or unicodedata.category(character) == "Cf" for character in text)
    return BLANK if is_blank else text


def is_combining(text: str) -> bool:
    """Whether the text modifies the character before it, such as an accent."""
    return text != "" and (
        unicodedata.category(text[0]) in ("Mn", "Mc", "Me", "Cf") or "\U0001f3fb" <= text[0] <= "\U0001f3ff"
    )


def _is_half_flag(text: str) -> bool:
    """Whether the text is one regional indicator, two of which form a flag."""
    return len(text) == 1 and "\U0001f1e6" <= text <= "\U0001f1ff"


def _character(values: Sequence[int], goes_on: bool) -> tuple[str, int]:
    """The character spelled by bytes and its number of bytes, as in `BytePiece`.

    Args:
        goes_on: whether more bytes may follow.
    """
    try:
        return visible(bytes(values).decode()), len(values)
    except UnicodeDecodeError:
        leads = ((2, 0xC2, 0xE0), (3, 0xE0, 0xF0), (4, 0xF0, 0xF5))
        count = next((count for count, least, limit in leads if least <= values[0] < limit), 0)
    if count <= len(values) or not goes_on:
        return "", 0
    if len(values) == count - 1:
        ends = [bytes([*values, last]).decode(errors="replace") for last in (0x80, 0xBF)]
        if all(len(end) == 1 and end.isprintable() and not is_combining(end) and end != "\ufffd" for end in ends):
            return "\u2013".join(ends), count
    return "", count
