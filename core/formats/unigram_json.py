"""SentencePiece models from a tokenizer.json, the file of the library tokenizers, that has a unigram model.

The file has all that SentencePiece needs: pieces with their scores, and the compiled rules that normalise characters.
The layout is that of sentencepiece_model.proto, in the wire format of Protocol Buffers.
"""

import base64
import re
import struct
from collections.abc import Iterable, Iterator
from typing import Any, cast

from core.files.budget import MAX_SMALL_FILE
from core.formats.checkpoint import CheckpointError
from core.formats.settings import Settings
from core.formats.source_files import SourceFiles

TOKENIZER_JSON = "tokenizer.json"
NORMAL, UNKNOWN, CONTROL, UNUSED, BYTE = 1, 2, 3, 5, 6  # types of pieces
UNIGRAM = 1  # type of model
EXTRA = "<extra_id_"  # begins the pieces of T5 that stand for spans left out; no text has them


def sentencepiece_of(files: SourceFiles) -> bytes:
    """Return the SentencePiece model that splits texts as a tokenizer.json does.

    Raises:
        CheckpointError: it has another kind of model, or one that cannot be read.
    """
    settings = Settings.read(files, TOKENIZER_JSON, MAX_SMALL_FILE)
    model = settings.section("model")
    if model.values.get("type") != "Unigram":
        raise CheckpointError(
            f"{TOKENIZER_JSON}: model: type is {model.values.get('type')!r:.60}, and Headlight reads only 'Unigram': "
            f"give the SentencePiece model (spiece.model) instead"
        )
    unknown, bytes_of_unknown = model.integer("unk_id", 0), model.values.get("byte_fallback") is True
    special = special_pieces(settings)
    pieces: list[tuple[str, float, int]] = []
    for number, (piece, score) in enumerate(_vocabulary(model)):
        kind = CONTROL if piece in special else NORMAL
        kind = UNUSED if piece.startswith(EXTRA) else kind
        kind = BYTE if bytes_of_unknown and re.fullmatch("<0x..>", piece) else kind
        kind = UNKNOWN if number == unknown else kind
        pieces.append((piece, score, kind))
    return sentencepiece_model(pieces, UNIGRAM, unknown, characters_of(settings), bytes_of_unknown)


def unigram_pieces(files: SourceFiles) -> list[str]:
    """Pieces of the model and the added tokens behind them, in the order of their ids.

    Raises:
        CheckpointError: two tokens have one id, or the vocabulary cannot be read.
    """
    settings = Settings.read(files, TOKENIZER_JSON, MAX_SMALL_FILE)
    pieces = [piece for piece, _ in _vocabulary(settings.section("model"))]
    known = set(pieces)
    added = {
        str(token.get("content")): token.get("id")
        for token in _objects(settings.values.get("added_tokens"))
        if token.get("content") not in known
    }
    if sorted(map(str, added.values())) != sorted(map(str, range(len(pieces), len(pieces) + len(added)))):
        raise CheckpointError(
            f"{TOKENIZER_JSON}: added_tokens do not have the ids after those of the {len(pieces)} pieces, each once"
        )
    return pieces + sorted(added, key=lambda content: cast("int", added[content]))


def sentencepiece_model(
    pieces: Iterable[tuple[str, float, int]], kind: int, unknown: int, charsmap: bytes, byte_fallback: bool = False
) -> bytes:
    """A SentencePiece model of texts with scores and types such as `NORMAL`, by id, and a charsmap of `characters_of`.

    Raises:
        CheckpointError: a piece has a lone surrogate.
    """
    messages: list[bytes] = []
    for piece, score, kind_of_piece in pieces:
        try:
            text = _field(1, piece.encode())
        except UnicodeEncodeError as error:
            raise CheckpointError(f"{TOKENIZER_JSON}: vocab has {piece!r:.60}, which is no text: {error}") from error
        messages.append(_field(1, text + _tag(2, 5) + struct.pack("<f", score) + _number(3, kind_of_piece)))
    trainer = _number(3, kind) + _number(35, byte_fallback) + _number(40, unknown)
    normalizer = _field(2, charsmap) + b"".join(_number(field, 1) for field in (3, 4, 5))
    return b"".join(messages) + _field(2, trainer) + _field(3, normalizer)


def _vocabulary(model: Settings) -> Iterator[tuple[str, float]]:
    """Pieces and scores in the order of their ids."""
    vocabulary = model.values.get("vocab")
    for row in cast("list[Any]", vocabulary) if isinstance(vocabulary, list) else [vocabulary]:
        match row:
            case [str(piece), int() | float() as score] if piece and not isinstance(score, bool) and abs(score) < 1e30:
                yield piece, float(score)
            case _:
                raise CheckpointError(f"{TOKENIZER_JSON}: vocab has {row!r:.60}, expected pieces with their scores")


def special_pieces(settings: Settings) -> set[str]:
    """Contents of the tokens that are not text."""
    tokens = _objects(settings.values.get("added_tokens"))
    return {str(token.get("content")) for token in tokens if token.get("special") is True}


def characters_of(settings: Settings) -> bytes:
    """Compiled rules that normalise characters, empty if there are none."""
    steps = _objects([settings.values.get("normalizer")])
    steps += [inner for step in steps for inner in _objects(step.get("normalizers"))]
    for step in steps:
        if step.get("type") == "Precompiled":
            try:
                return base64.b64decode(step.get("precompiled_charsmap") or "", validate=True)
            except (TypeError, ValueError) as error:
                raise CheckpointError(f"{TOKENIZER_JSON}: precompiled_charsmap is not base64: {error}") from error
    return b""


def _objects(value: object) -> list[dict[str, Any]]:
    """The objects of a list; none if it is not a list."""
    rows = cast("list[object]", value) if isinstance(value, list) else []
    return [cast("dict[str, Any]", row) for row in rows if isinstance(row, dict)]


# --- Wire format ----------------------------------------------------------------------------------------------------


def _varint(value: int) -> bytes:
    """An integer in groups of 7 bits, the lowest first."""
    groups = bytearray()
    while value > 127:
        groups.append(value & 127 | 128)
        value >>= 7
    return bytes([*groups, value])


def _tag(field: int, wire_type: int) -> bytes:
    return _varint(field << 3 | wire_type)


def _number(field: int, value: int) -> bytes:
    return _tag(field, 0) + _varint(value)


def _field(field: int, data: bytes) -> bytes:
    """A field of bytes or of another message."""
    return _tag(field, 2) + _varint(len(data)) + data
