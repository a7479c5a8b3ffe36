"""Byte-pair encoding of a tokenizer.json, the file of the library tokenizers, as SentencePiece does it.

transformers 5 saves the tokenizer of NLLB in this file alone. Its merges were made from a SentencePiece model, whose
pieces have the order of the merges: the model is made again from them.
"""

import re
from collections.abc import Iterator
from typing import Any, cast

from core.files.budget import MAX_SMALL_FILE, shown
from core.formats.checkpoint import CheckpointError
from core.formats.settings import Settings
from core.formats.source_files import SourceFiles
from core.formats.unigram_json import (
    NORMAL,
    TOKENIZER_JSON,
    UNKNOWN,
    UNUSED,
    characters_of,
    sentencepiece_model,
    special_pieces,
)

BPE = 2  # type of model
FIXED: dict[str, object] = {
    "continuing_subword_prefix": "",
    "end_of_word_suffix": "",
    "byte_fallback": False,
    "dropout": 0,
    "ignore_merges": False,
}


def added_tokens(files: SourceFiles) -> dict[str, int]:
    """Tokens beside the model's own that are not text, with their ids, in the order of the ids.

    Raises:
        CheckpointError: there is no such list, or an id is none.
    """
    settings = Settings.read(files, TOKENIZER_JSON, MAX_SMALL_FILE)
    rows = settings.values.get("added_tokens")
    tokens: dict[str, int] = {}
    for row in cast("list[Any]", rows) if isinstance(rows, list) else [rows]:
        match row:
            case {"content": str(content), "id": int(token_id), "special": bool(special)} if not isinstance(
                token_id, bool
            ):
                if special:
                    tokens[content] = token_id
            case _:
                raise CheckpointError(
                    f"{TOKENIZER_JSON}: added_tokens has {shown(row)}, expected tokens with their ids"
                )
    return dict(sorted(tokens.items(), key=lambda item: item[1]))


def bpe_pieces(files: SourceFiles) -> list[str]:
    """Pieces of the model and the added tokens, in the order of their ids.

    Raises:
        CheckpointError: the model is of another kind, or two pieces have one id.
    """
    vocabulary = _model(files).section("vocab")
    added = added_tokens(files)
    ids = {**vocabulary.values, **added}
    pieces = Settings(f"{TOKENIZER_JSON}: vocab", ids).vocabulary(len(ids))
    return [piece or f"<unused {token_id}>" for token_id, piece in enumerate(pieces)]


def sentencepiece_of_merges(files: SourceFiles) -> bytes:
    """Return the SentencePiece model that splits texts by the merges of a tokenizer.json.

    SentencePiece joins the two neighbours whose piece has the highest score: the score of a piece is minus the place of
    its first merge. A piece of several characters that no merge makes is never used, as by these merges.

    Raises:
        CheckpointError: the model is of another kind, or its merges are not those of a SentencePiece model.
    """
    model = _model(files)
    vocabulary = model.section("vocab").vocabulary(len(model.section("vocab").values))
    ranks = _ranks(model, {piece for piece in vocabulary if piece})
    settings = Settings.read(files, TOKENIZER_JSON, MAX_SMALL_FILE)
    special = special_pieces(settings)
    unknown = model.text("unk_token")
    pieces: list[tuple[str, float, int]] = [(unknown, 0.0, UNKNOWN)]
    for number, piece in enumerate(vocabulary):
        if piece and piece not in special and piece != unknown:
            is_used = len(piece) == 1 or piece in ranks
            score = -float(ranks.get(piece, len(ranks) + number))
            pieces.append((piece, score, NORMAL if is_used else UNUSED))
    return sentencepiece_model(pieces, BPE, 0, characters_of(settings))


def merges_file(files: SourceFiles) -> bytes:
    """Merges as a file of one a line.

    Raises:
        CheckpointError: the model is of another kind, or a merge is no pair of pieces.
    """
    lines: list[str] = []
    for left, right in _merges(_model(files)):
        if not left or not right or re.search(r"\s", left + right):
            raise CheckpointError(f"{TOKENIZER_JSON}: merges has {shown([left, right])}, expected two pieces")
        lines.append(f"{left} {right}")
    try:
        return "\n".join(lines).encode()
    except UnicodeEncodeError as error:
        raise CheckpointError(f"{TOKENIZER_JSON}: merges have a lone surrogate: {error}") from error


def _model(files: SourceFiles) -> Settings:
    """The section of a model that joins characters by merges."""
    model = Settings.read(files, TOKENIZER_JSON, MAX_SMALL_FILE).section("model")
    if model.values.get("type") != "BPE":
        raise CheckpointError(
            f"{TOKENIZER_JSON}: model: type is {shown(model.values.get('type'))}, and Headlight reads only 'BPE' for "
            f"these models: give the SentencePiece model (sentencepiece.bpe.model) instead"
        )
    for name, known in FIXED.items():
        if model.values.get(name) not in (known, None):
            raise CheckpointError(
                f"{TOKENIZER_JSON}: model: {name} is {shown(model.values[name])}, expected {known!r}: give the "
                f"SentencePiece model (sentencepiece.bpe.model) instead"
            )
    return model


def _merges(model: Settings) -> Iterator[tuple[str, str]]:
    """Pairs of texts that are joined, in the order of the file, which has them as two texts or one with a space."""
    merges = model.values.get("merges")
    for merge in cast("list[Any]", merges) if isinstance(merges, list) else [merges]:
        match merge.split(" ") if isinstance(merge, str) else merge:
            case [str(left), str(right)]:
                yield left, right
            case _:
                raise CheckpointError(f"{TOKENIZER_JSON}: merges has {shown(merge)}, expected two pieces")


def _ranks(model: Settings, vocabulary: set[str]) -> dict[str, int]:
    """Place of the first merge that makes each piece."""
    ranks: dict[str, int] = {}
    previous = ""
    for number, (left, right) in enumerate(_merges(model)):
        piece = left + right
        if not {left, right, piece} <= vocabulary:
            raise CheckpointError(
                f"{TOKENIZER_JSON}: merges has {shown([left, right])}, expected two pieces that make a third"
            )
        if piece in ranks and piece != previous:
            raise CheckpointError(
                f"{TOKENIZER_JSON}: merges make {piece!r:.60} at {ranks[piece]} and again at {number}, which no "
                f"SentencePiece model does: give sentencepiece.bpe.model instead"
            )
        ranks.setdefault(piece, number)
        previous = piece
    return ranks
