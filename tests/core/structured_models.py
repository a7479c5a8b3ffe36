"""SentencePiece models that are damaged by their structure: any field of any part, sizes and offsets within a field."""

import math
import struct
from collections.abc import Callable, Iterator

from sentencepiece import sentencepiece_model_pb2 as messages

Model = messages.ModelProto
UNITS = (0, 1, 50, 97, 200, 300)  # of the tree of characters; the first is its root
LEAF, OFFSET = 0x80000000, 0x1FFFFF << 10
WRONG_UNITS = (0, LEAF, LEAF | OFFSET, OFFSET, OFFSET | 0x200, 0xFFFFFFFF, 0x7FFFFFFF)
SIZES = (0, 1, 3, 4, 1024, 2**31 - 1, 2**32 - 1)
PIECES = ("", "a", "\0", "\u2581", "<0x41>", "<0xZZ>", "<unk>", "x" * 600, "x" * 500_000)
SCORES = (math.nan, math.inf, -math.inf, 3e38)
IDS = (-2, -1, 0, 5, 10**6, 2**31 - 1, -(2**31))


def damaged_models(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Damaged copies of a model with their names; those in front are of known defects of SentencePiece."""
    charsmap = Model.FromString(data).normalizer_spec.precompiled_charsmap

    def new(change: Callable[[messages.ModelProto], object]) -> bytes:
        model = Model.FromString(data)
        change(model)
        return model.SerializeToString()

    def with_charsmap(content: bytes) -> bytes:
        return new(lambda model: setattr(model.normalizer_spec, "precompiled_charsmap", content))

    def with_number(offset: int, number: int) -> bytes:
        changed = bytearray(charsmap)
        struct.pack_into("<I", changed, offset, number)
        return with_charsmap(bytes(changed))

    for unit in UNITS:
        for number in WRONG_UNITS:
            yield f"unit {unit} of the map of characters is {number:#x}", with_number(4 + 4 * unit, number)
    for index in (0, 1, 10, -1):
        for piece in PIECES:
            changed = new(lambda model, index=index, piece=piece: setattr(model.pieces[index], "piece", piece))
            yield f"piece {index} is {piece!r:.20}", changed
    for size in (*SIZES, len(charsmap)):
        yield f"the map of characters has size {size}", with_number(0, size)
    for end in (1, 4, 5, 100, 1028, len(charsmap) - 1):
        yield f"the map of characters ends at {end}", with_charsmap(charsmap[:end])
    size = 4 + struct.unpack_from("<I", charsmap)[0]
    for name, text in (("endless", b"x"), ("not UTF-8", b"\xff"), ("empty", b"\0")):
        yield f"replacements are {name}", with_charsmap(charsmap[:size] + text * (len(charsmap) - size))
    for index in (0, 3, 10):
        for kind in range(1, 7):
            changed = new(lambda model, index=index, kind=kind: setattr(model.pieces[index], "type", kind))
            yield f"piece {index} is of type {kind}", changed
        for score in SCORES:
            changed = new(lambda model, index=index, score=score: setattr(model.pieces[index], "score", score))
            yield f"piece {index} has the score {score}", changed
    for kind in range(1, 7):
        yield (
            f"all are of type {kind}",
            new(lambda model, kind=kind: [setattr(each, "type", kind) for each in model.pieces]),
        )
    for score in SCORES:
        yield (
            f"all scores are {score}",
            new(lambda model, s=score: [setattr(each, "score", s) for each in model.pieces]),
        )
    settings: dict[str, tuple[object, ...]] = {
        **dict.fromkeys(("unk_id", "bos_id", "eos_id", "pad_id", "vocab_size", "max_sentencepiece_length"), IDS),
        **dict.fromkeys(("unk_piece", "bos_piece", "eos_piece", "pad_piece", "unk_surface"), ("", "x", "\0")),
        "model_type": (1, 2, 3, 4),
    }
    for name, values in settings.items():
        for value in values:
            changed = new(lambda model, name=name, value=value: setattr(model.trainer_spec, name, value))
            yield f"{name} is {value!r}", changed
    for part in ("pieces", "trainer_spec", "normalizer_spec"):
        yield f"no {part}", new(lambda model, part=part: model.ClearField(part))
    yield "a type beyond the known ones", data + b"\x0a\x07\x0a\x01z\x18\xff\x7f"
    yield "a piece that is not UTF-8", data + b"\x0a\x04\x0a\x02\xff\xfe"
    yield "a length beyond the end", data + b"\x0a\xff\xff\xff\xff\x07"
    yield "nested groups", data + b"\x0b" * 100_000
