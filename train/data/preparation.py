"""Parallel text to a tokenizer and token shards (5.1), in little memory, and going on where it was interrupted.

The text is read three times: to look at every pair, to learn the tokenizer, to write the tokens. Everything is written
to `FOLDER/unfinished`, moved up at the end, and manifest.json comes last: without it a folder is not finished.
"""

import json
import shutil
import sys
from array import array
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from core.checkpoint import load_checkpoint, write_atomically
from core.tokenizer import BOS_ID, EOS_ID, PAD_ID, SentencePieceTokenizer
from train.data.filters import Filters, Sieve
from train.data.parallel_text import Pair, ParallelText, read_lines
from train.data.shard_writer import ShardWriter
from train.data.token_shards import MANIFEST, SIDES, DataError, read_manifest

CHUNK = 50_000  # pairs in memory at once
TOKENIZER_SENTENCES = 1_000_000  # from all over the text: more would take memory without changing the pieces
UNFINISHED = "unfinished"
SETTINGS = "settings.json"  # of a finished folder: what it was prepared from, and how


def prepare(
    folder: Path,
    train: ParallelText,
    valid: ParallelText,
    vocab_size: int,
    *,
    tokenizer: Path | None = None,
    labels: Path | None = None,
    repeat: dict[str, int] | None = None,
    filters: Filters | None = None,
    symbols: Sequence[str] = (),
    overwrite: bool = False,
) -> dict[str, Any]:
    """Write tokenizer.model, train/, valid/, the validation text, settings.json and manifest.json into `folder`.

    Args:
        folder: what an earlier `prepare` finished there is replaced, when this one is done.
        train: the text to train on.
        valid: text to validate on, held out by the caller; pairs with an empty side are left out, no others.
        vocab_size: pieces of the joint vocabulary; not used where a `tokenizer` is given.
        tokenizer: a SentencePiece model, or a checkpoint that holds one, to use instead of learning one.
        labels: a file with one label a training pair, such as where it comes from.
        repeat: how often the pairs of a label occur in an epoch; 1 where a label is not named, 0 leaves it out.
        filters: which training pairs to leave out.
        symbols: what is to be one piece each of a learned vocabulary; see `SentencePieceTokenizer.train`.
        overwrite: replace other text, too, or the same with other settings.

    Returns:
        The manifest: what went in and what came out.

    Raises:
        DataError: no text was given, a file cannot be used or written, the labels do not fit the text, nothing is left,
            or the folder holds other text.
        ValueError: no such vocabulary can be learned from the text.
    """
    filters, repeat = filters or Filters(), repeat or {}
    if not train.files:
        raise DataError("no text to train on was given: give --source and --target, --pairs, or --set")
    if not valid.files:
        raise DataError(
            "no text to validate on was given: give --valid-source and --valid-target, --valid-pairs, or --set"
        )
    settings = _settings(train, valid, vocab_size, tokenizer, labels, repeat, filters, symbols)
    if not overwrite:
        _refuse_other(folder, settings)
    work = folder / UNFINISHED
    request = _request(train, valid, vocab_size, tokenizer, labels, repeat, filters, *symbols)
    with _writing(folder):
        _begin(work, request)
        if (work / MANIFEST).exists():
            return _finish(folder, work)
        valid_pairs = [pair for pair in valid if pair[0].strip() and pair[1].strip()]
        if not valid_pairs:
            raise DataError(f"there is nothing to validate on in {_names(valid)}: every pair has an empty side")
        given = _given_tokenizer(tokenizer) if tokenizer else None  # before the text is read, which may take long
        survey, times = _survey(work, train, labels, repeat, filters)
        pieces = _tokenizer(work, train, times, vocab_size, given, symbols)
        counts = _write_tokens(work, train, times, pieces)
        with ShardWriter(work / "valid", pieces.vocab_size) as writer:
            _append(writer, pieces, valid_pairs, np.ones(len(valid_pairs), dtype=np.int64))
        for side, lines in zip(SIDES, zip(*valid_pairs, strict=True), strict=True):
            (work / f"valid.{side}.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        manifest = {
            "files": settings["files"],
            "vocab_size": pieces.vocab_size,
            "tokenizer": settings["tokenizer"],
            **survey,
            "repeat": repeat,
            "train": counts,
            "valid": dict(zip(counts, writer.counts, strict=True)),
        }
        _write_json(work / SETTINGS, settings)
        _write_json(work / MANIFEST, manifest)
        return _finish(folder, work)


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    """Say what to do where the folder cannot be written; what cannot be read is a DataError by itself."""
    try:
        yield
    except OSError as error:
        advice = "make room, or give another folder; the same command goes on from what was done"
        raise DataError(f"{folder} could not be written: {error}; {advice}") from error


def _request(train: ParallelText, valid: ParallelText, *options: object) -> dict[str, Any]:
    """What was asked for: a `prepare` that was interrupted is only gone on with if all of it is the same."""
    files = [
        (str(path), path.stat().st_size, path.stat().st_mtime_ns)
        for text in (train, valid)
        for path in text.files
        if path.exists()
    ]
    return {"files": files, "languages": train.languages, "options": [str(option) for option in options]}


def _settings(
    train: ParallelText,
    valid: ParallelText,
    vocab_size: int,
    tokenizer: Path | None,
    labels: Path | None,
    repeat: dict[str, int],
    filters: Filters,
    symbols: Sequence[str],
) -> dict[str, Any]:
    """The text and how it is prepared, as settings.json has it; without folders and dates, so that a copy is the
    same.
    """
    return {
        "files": [path.name for path in train.files],
        "bytes": _sizes(train.files),
        "valid_files": [path.name for path in valid.files],
        "valid_bytes": _sizes(valid.files),
        "languages": list(train.languages) if train.languages else None,
        **({} if tokenizer else {"vocab_size": vocab_size}),
        "tokenizer": tokenizer.name if tokenizer else "learned from the training text",
        "labels": labels.name if labels else None,
        "repeat": repeat,
        **asdict(filters),
        "symbols": list(symbols),
    }


def _sizes(files: Sequence[Path]) -> list[int | None]:
    return [path.stat().st_size if path.is_file() else None for path in files]


def _refuse_other(folder: Path, settings: dict[str, Any]) -> None:
    """Raises: DataError, if the folder holds other text, or the same with other settings.

    Folders of older versions have no settings; their manifest has some of them.
    """
    if not (folder / MANIFEST).exists():
        return
    held: dict[str, Any] = {}
    for name in (MANIFEST, SETTINGS):
        if (folder / name).exists():
            held |= json.loads((folder / name).read_text(encoding="utf-8"))
    differing = [name for name in settings if name in held and held[name] != settings[name]]
    if differing:
        values = {
            name: f" ({_said(held[name])}, not {_said(settings[name])})" for name in differing if name != "symbols"
        }
        named = ", ".join(name + values.get(name, "") for name in differing)
        raise DataError(
            f"{folder} holds text that was prepared with another {named}: give another folder, or --overwrite to "
            f"replace it"
        )


def _said(value: Any) -> str:
    """A setting, as it stands on the command line."""
    if isinstance(value, list):
        return " ".join(map(str, value))
    if isinstance(value, dict):
        return " ".join(f"{label}={times}" for label, times in value.items()) or "none"
    return "none" if value is None else str(value)


def _begin(work: Path, request: dict[str, Any]) -> None:
    try:
        same = json.loads((work / "request.json").read_text(encoding="utf-8")) == json.loads(json.dumps(request))
    except (FileNotFoundError, ValueError):
        same = False
    if not same:
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
        _write_json(work / "request.json", request)


def _survey(
    work: Path, train: ParallelText, labels: Path | None, repeat: dict[str, int], filters: Filters
) -> tuple[dict[str, Any], np.ndarray]:
    """Look at every pair once: what was found, and how often each pair is to be written, [pairs] uint8."""
    if (work / "survey.json").exists():
        return json.loads((work / "survey.json").read_text(encoding="utf-8")), np.load(work / "times.npy")
    names, numbers = _read_labels(labels, repeat)
    sieve = Sieve(filters)
    for pair in _watch(train, "reading"):
        sieve.add(pair)
    keep = sieve.kept()
    if labels and len(numbers) != len(keep):
        raise DataError(f"{labels} has {len(numbers)} labels for {len(keep)} pairs")
    if not keep.any():
        raise DataError(
            f"no sentence pair in {_names(train)} can be trained on: {_counted(sieve.dropped) or 'the files are empty'}"
        )
    found = np.bincount(numbers[keep], minlength=len(names)) if labels else [keep.sum()]
    times = keep * (np.array([repeat.get(name, 1) for name in names])[numbers] if labels else 1)
    if not times.any():
        raise DataError("no sentence pair is left to train on: every label is repeated 0 times")
    survey = {
        "pairs_read": len(keep),
        "dropped": dict(sieve.dropped),
        "pairs_by_label": {name: int(count) for name, count in zip(names, found, strict=True)},
    }
    _say(f"{len(keep):,} pairs read; left out: {_counted(sieve.dropped) or 'none'}")
    np.save(work / "times.npy", times.astype(np.uint8))
    _write_json(work / "survey.json", survey)
    return survey, times


def _read_labels(labels: Path | None, repeat: dict[str, int]) -> tuple[list[str], np.ndarray]:
    """The different labels, and [pairs] the number of each pair's label among them."""
    if labels is None:
        if repeat:
            raise DataError(
                f"pairs labelled {', '.join(repeat)} are to be repeated, but there is no file of labels: give one "
                f"with --labels"
            )
        return [""], np.zeros(0, dtype=np.int64)
    names: dict[str, int] = {}
    numbers = np.array(array("I", (names.setdefault(label, len(names)) for label in read_lines(labels))))
    unknown = sorted(repeat.keys() - names.keys())
    if unknown:
        raise DataError(
            f"no pair of {labels} is labelled {', '.join(unknown)}; its labels are {', '.join(sorted(names))}"
        )
    if not all(0 <= times < 256 for times in repeat.values()):
        raise DataError(f"pairs can be repeated from 0 to 255 times, not {', '.join(map(str, repeat.values()))}")
    return list(names), numbers


def _given_tokenizer(path: Path) -> SentencePieceTokenizer:
    """That of a SentencePiece model or a checkpoint."""
    if not path.is_file():
        raise DataError(f"there is no tokenizer {path}")
    if path.suffix == ".safetensors":
        pieces = SentencePieceTokenizer(load_checkpoint(path).tokenizer.to_bytes())
    else:
        pieces = SentencePieceTokenizer.from_file(path)
    special = {"pad_id": (pieces.pad_id, PAD_ID), "bos_id": (pieces.bos_id, BOS_ID), "eos_id": (pieces.eos_id, EOS_ID)}
    wrong = [f"{name} {found}, expected {expected}" for name, (found, expected) in special.items() if found != expected]
    if wrong:
        raise DataError(f"{path} has {'; '.join(wrong)}: learn a tokenizer instead, or give one with these ids")
    return pieces


def _tokenizer(
    work: Path,
    train: ParallelText,
    times: np.ndarray,
    vocab_size: int,
    given: SentencePieceTokenizer | None,
    symbols: Sequence[str],
) -> SentencePieceTokenizer:
    """The one given, or one learned from the text."""
    path = work / "tokenizer.model"
    if path.exists():
        return SentencePieceTokenizer.from_file(path)
    pieces = given
    if pieces is None:
        stride = max(1, round(2 * np.count_nonzero(times) / TOKENIZER_SENTENCES))
        kept = (pair for pair, count in zip(_watch(train, "learning pieces", len(times)), times, strict=True) if count)
        pieces = SentencePieceTokenizer.train(
            (sentence for pair in islice(kept, 0, None, stride) for sentence in pair), vocab_size, symbols=symbols
        )
    write_atomically(path, lambda temporary: _write_bytes(temporary, pieces.to_bytes()))
    return pieces


def _write_tokens(work: Path, train: ParallelText, times: np.ndarray, pieces: SentencePieceTokenizer) -> dict[str, int]:
    """Write the training shards, noting after every chunk how far it got."""
    progress = work / "progress.json"
    done: dict[str, Any] = (
        json.loads(progress.read_text(encoding="utf-8")) if progress.exists() else {"read": 0, "counts": [0, 0, 0]}
    )
    text = islice(_watch(train, "writing tokens", len(times)), done["read"], None)
    with ShardWriter(work / "train", pieces.vocab_size, done["counts"]) as writer:
        for start in range(done["read"], len(times), CHUNK):
            chunk = list(islice(text, CHUNK))
            _append(writer, pieces, chunk, times[start : start + CHUNK])
            writer.flush()
            _write_json(progress, {"read": start + len(chunk), "counts": writer.counts})
    return dict(zip(("pairs", "source_tokens", "target_tokens"), writer.counts, strict=True))


def _append(writer: ShardWriter, pieces: SentencePieceTokenizer, pairs: list[Pair], times: np.ndarray) -> None:
    """Write each pair's tokens as often as `times` says."""
    wanted = [(pair, int(count)) for pair, count in zip(pairs, times, strict=True) if count]
    if wanted:
        rows = [pieces.encode_batch([pair[side] for pair, _ in wanted]) for side in range(2)]
        writer.append(
            *([ids for ids, (_, count) in zip(side, wanted, strict=True) for _ in range(count)] for side in rows)
        )


def _finish(folder: Path, work: Path) -> dict[str, Any]:
    """Move everything up, the manifest last; done again after an interruption, it moves what is left."""
    (folder / MANIFEST).unlink(missing_ok=True)  # from here to the end the folder is neither the old nor the new one
    for name in ("train", "valid", "tokenizer.model", SETTINGS, *(f"valid.{side}.txt" for side in SIDES)):
        if (work / name).exists():
            if (folder / name).is_dir():
                shutil.rmtree(folder / name)
            (work / name).replace(folder / name)
    (work / MANIFEST).replace(folder / MANIFEST)
    shutil.rmtree(work)
    return read_manifest(folder)


def _watch(pairs: ParallelText, what: str, total: int | None = None) -> Iterator[Pair]:
    """The pairs, with a progress bar on a terminal."""
    yield from tqdm(pairs, desc=what, total=total, unit=" pairs", unit_scale=True, disable=None)


def _say(message: str) -> None:
    print(message, file=sys.stderr)


def _names(text: ParallelText) -> str:
    return ", ".join(map(str, text.files))


def _counted(counts: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {reason}" for reason, count in counts.items())


def _write_json(path: Path, content: Any) -> None:
    write_atomically(
        path, lambda temporary: _write_bytes(temporary, json.dumps(content, indent=2, ensure_ascii=False).encode())
    )


def _write_bytes(path: Path, content: bytes) -> None:
    path.write_bytes(content)
