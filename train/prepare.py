"""Parallel text to a tokenizer and token shards (5.1)."""

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from core.tokenizer import SentencePieceTokenizer
from train.data import DataError, write_shards
from train.text import read_lines, read_parallel

Pairs = list[tuple[str, str]]


def prepare(
    folder: Path,
    source: Sequence[str | Path],
    target: Sequence[str | Path],
    valid_source: Sequence[str | Path],
    valid_target: Sequence[str | Path],
    vocab_size: int,
    labels: Path | None = None,
    repeat: dict[str, int] | None = None,
    tokenizer: Path | None = None,
) -> dict[str, Any]:
    """Write tokenizer.model, train/, valid/, the validation text and manifest.json into `folder`.

    Args:
        source, target: the training text; see `read_parallel`.
        valid_source, valid_target: text to validate on, held out by the caller.
        vocab_size: pieces of the joint vocabulary.
        labels: a file with one label a training pair, such as where it comes from.
        repeat: how often the pairs of a label occur in an epoch; 1 where a label is not named, 0 leaves it out.
        tokenizer: a SentencePiece model to use instead of learning one.

    Returns:
        The manifest: what went in and what came out.

    Raises:
        DataError: a file cannot be used, or the labels do not fit the text.
    """
    pairs, repeat = read_parallel(source, target), repeat or {}
    origins = _read_labels(labels, len(pairs), repeat)
    kept = [(pair, origin) for pair, origin in zip(pairs, origins, strict=True) if pair[0].strip() and pair[1].strip()]
    valid = [pair for pair in read_parallel(valid_source, valid_target) if pair[0].strip() and pair[1].strip()]
    learned = tokenizer is None
    pieces = SentencePieceTokenizer.from_file(tokenizer) if tokenizer else _learn([pair for pair, _ in kept], vocab_size)

    weighted = [(pair, origin) for pair, origin in kept for _ in range(repeat.get(origin, 1))]
    if not weighted:
        raise DataError("no sentence pair is left to train on: every label is repeated 0 times")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tokenizer.model").write_bytes(pieces.to_bytes())
    train_ids = _encode(pieces, [pair for pair, _ in weighted])
    valid_ids = _encode(pieces, valid)
    write_shards(folder / "train", train_ids, pieces.vocab_size)
    write_shards(folder / "valid", valid_ids, pieces.vocab_size)
    for side, lines in zip(("source", "target"), zip(*valid, strict=True), strict=True):
        (folder / f"valid.{side}.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    manifest = {
        "files": [Path(path).name for path in (*source, *target)],
        "vocab_size": pieces.vocab_size,
        "tokenizer": "learned from the training text" if learned else str(tokenizer),
        "pairs_read": len(pairs),
        "pairs_dropped_empty": len(pairs) - len(kept),
        "pairs_by_label": dict(Counter(origin for _, origin in kept)),
        "repeat": repeat,
        "train": _count(train_ids),
        "valid": _count(valid_ids),
    }
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=2, ensure_ascii=False), encoding="utf-8")
    return manifest


def _read_labels(labels: Path | None, num_pairs: int, repeat: dict[str, int]) -> list[str]:
    if labels is None:
        if repeat:
            raise DataError(f"pairs labelled {', '.join(repeat)} are to be repeated, but there is no file of labels: give one with --labels")
        return [""] * num_pairs
    origins = read_lines(labels)
    if len(origins) != num_pairs:
        raise DataError(f"{labels} has {len(origins)} labels for {num_pairs} pairs")
    unknown = sorted(repeat.keys() - set(origins))
    if unknown:
        raise DataError(f"no pair of {labels} is labelled {', '.join(unknown)}; its labels are {', '.join(sorted(set(origins)))}")
    return origins


def _learn(pairs: Pairs, vocab_size: int) -> SentencePieceTokenizer:
    return SentencePieceTokenizer.train((sentence for pair in pairs for sentence in pair), vocab_size)


def _encode(pieces: SentencePieceTokenizer, pairs: Pairs) -> list[tuple[list[int], list[int]]]:
    source, target = (pieces.encode_batch(lines) for lines in zip(*pairs, strict=True))
    return list(zip(source, target, strict=True))


def _count(ids: list[tuple[list[int], list[int]]]) -> dict[str, int]:
    return {"pairs": len(ids), "source_tokens": sum(len(pair[0]) for pair in ids), "target_tokens": sum(len(pair[1]) for pair in ids)}
