"""Preparation of parallel text: a tokenizer and token shards (5.1).

It takes little memory and can be resumed. The text is read three times: to filter pairs, to learn the tokenizer, and to
write tokens. All output goes to `FOLDER/unfinished` and is moved to `FOLDER` at the end, manifest.json last: a folder
without it is unfinished.
"""

import json
import shutil
from array import array
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from core.files.console import show
from core.files.file_writing import NotWrittenError, write_bytes, write_text
from core.files.strict_json import json_text, read_json, readable_json
from core.formats.checkpoint import load_checkpoint
from core.formats.opening import is_safetensors
from core.text import text_normalization
from core.text.text_normalization import normalized
from core.text.tokenizer import BOS_ID, EOS_ID, PAD_ID, SentencePieceTokenizer
from core.text.tokenizer_files import naming
from train.data.filters import PairFilter
from train.data.parallel_text import Pair, ParallelText, read_lines
from train.data.preparation_settings import SETTINGS, Preparation, Segmentation, require_same_settings
from train.data.shard_writer import ShardWriter
from train.data.synthetic_pairs import synthetic_pairs
from train.data.token_shards import CHECKSUMS, MANIFEST, SIDES, DataError, read_manifest, write_checksums

CHUNK = 50_000  # pairs in memory at once
TOKENIZER_SENTENCES = 1_000_000  # sampled evenly; more would take memory and hardly change the pieces
UNFINISHED = "unfinished"
COUNTS = ("pairs", "source_tokens", "target_tokens")  # of a `ShardWriter`


def prepare(folder: Path, wanted: Preparation, *, overwrite: bool = False) -> dict[str, Any]:
    """Write the tokenizer, the shards and the validation text into `folder`, at the end, and return the manifest.

    Files: tokenizer.model, train/, valid/, the validation text, settings.json and manifest.json. checksums.json, also
    in the folders of shards, has the SHA-256 of all files beside it, which `fit` compares. Folders of earlier versions
    have none; of these only the structure is checked.

    Raises:
        DataError: there is no text, a file cannot be read or written, the labels do not fit the text, no pair is left,
            or the folder was prepared from other text or with other settings and is not to be overwritten.
        ValueError: the text is too small for the vocabulary.
    """
    _require_files(wanted.train, wanted.valid)
    settings, request = wanted.settings(), wanted.request()
    if not overwrite:
        require_same_settings(folder, settings)
    work = folder / UNFINISHED
    with _writing(folder):
        _start(work, request)
        if (work / MANIFEST).exists():
            return _finish(folder, work)
        valid_pairs = _validation_pairs(wanted.valid)
        # these fail before the text is read, which takes long
        given = _load_tokenizer(wanted.tokenizer) if wanted.tokenizer else None
        if given and wanted.segmentation.bpe_dropout:
            given.sample_batch([], wanted.segmentation.bpe_dropout, seed=0)
        survey, times = _survey(work, wanted)
        pieces = _tokenizer(work, wanted, times, given)
        held_out = {source.casefold() for source, _ in valid_pairs}
        counts, by_rule = _write_tokens(work, wanted, times, pieces, held_out)
        valid_counts = _write_validation(work, valid_pairs, pieces)
        manifest = {
            "files": settings["files"],
            "vocab_size": pieces.vocab_size,
            "tokenizer": settings["tokenizer"],
            **survey,
            "repeat": wanted.repeat,
            **asdict(wanted.segmentation),
            **asdict(wanted.synthesis),
            "by_rule": by_rule,
            "text_normalization": text_normalization.VERSION,
            "train": counts,
            "valid": valid_counts,
        }
        write_text(work / SETTINGS, readable_json(settings))
        written = ("tokenizer.model", SETTINGS, *(f"valid.{side}.txt" for side in SIDES))
        write_checksums(work, written, {MANIFEST: readable_json(manifest).encode()})
        write_text(work / MANIFEST, readable_json(manifest))
        return _finish(folder, work)


def _require_files(train: ParallelText, valid: ParallelText) -> None:
    if not train.files:
        raise DataError("there is no training text: give --source and --target, --pairs, or --set")
    if not valid.files:
        raise DataError("there is no validation text: give --valid-source and --valid-target, --valid-pairs, or --set")


def _validation_pairs(valid: ParallelText) -> list[Pair]:
    """Read the validation pairs without an empty side."""
    pairs = [pair for pair in _normalized(valid) if all(pair)]
    if not pairs:
        raise DataError(f"there is no validation pair in {_names(valid)}: every pair has an empty side")
    return pairs


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    """Turn an OSError while writing into a DataError with advice; unreadable files raise a DataError elsewhere."""
    try:
        yield
    except OSError as error:
        advice = "free disk space, or give another folder; the same command resumes"
        reason = error.reason if isinstance(error, NotWrittenError) else error
        raise DataError(f"{folder} could not be written: {reason}; {advice}") from error


@contextmanager
def _unfinished(work: Path) -> Iterator[None]:
    """Turn errors of reading an interrupted `prepare` into a DataError."""
    try:
        yield
    except (ValueError, EOFError) as error:
        raise DataError(f"{work} is damaged ({error}): remove it, and run the same command again") from error


def _start(work: Path, request: dict[str, Any]) -> None:
    try:
        same = json.loads((work / "request.json").read_text(encoding="utf-8")) == json.loads(json_text(request))
    except (FileNotFoundError, ValueError):
        same = False
    if not same:
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
        write_text(work / "request.json", readable_json(request))


def _survey(work: Path, wanted: Preparation) -> tuple[dict[str, Any], np.ndarray]:
    """Read every pair once, and return counts and how often to write each pair, [pairs] uint8."""
    if (work / "survey.json").exists():
        with _unfinished(work):
            return read_json(work / "survey.json"), np.load(work / "times.npy")
    train, labels, repeat = wanted.train, wanted.labels, wanted.repeat
    names, numbers = _read_labels(labels, repeat)
    pair_filter, same = PairFilter(wanted.filters), 0
    for pair in _with_progress(train, "reading"):
        same += pair_filter.add(pair) and pair[0] == pair[1]
    keep = pair_filter.kept()
    if 2 * same > len(keep):
        show(f"warning: {same:,} of {len(keep):,} pairs have the same text on both sides: a model learns to copy it")
    if labels and len(numbers) != len(keep):
        raise DataError(f"{labels} has {len(numbers)} labels for {len(keep)} pairs")
    if not keep.any():
        raise DataError(
            f"no sentence pair of {_names(train)} is left to train on: "
            f"{_counted(pair_filter.dropped) or 'they are empty'}"
        )
    pairs_by_label = np.bincount(numbers[keep], minlength=len(names)) if labels else [keep.sum()]
    times = keep * (np.array([repeat.get(name, 1) for name in names])[numbers] if labels else 1)
    if not times.any():
        raise DataError("no sentence pair is left to train on: --repeat has 0 for every label")
    survey = {
        "pairs_read": len(keep),
        "dropped": dict(pair_filter.dropped),
        "pairs_by_label": {name: int(count) for name, count in zip(names, pairs_by_label, strict=True)},
    }
    show(f"{len(keep):,} pairs read; left out: {_counted(pair_filter.dropped) or 'none'}")
    np.save(work / "times.npy", times.astype(np.uint8))
    write_text(work / "survey.json", readable_json(survey))
    return survey, times


def _read_labels(labels: Path | None, repeat: dict[str, int]) -> tuple[list[str], np.ndarray]:
    """Return the distinct labels, and the number of each pair's label: [pairs]."""
    if labels is None:
        if repeat:
            raise DataError(
                f"--repeat names the labels {', '.join(repeat)}, but there is no file of labels: give it with --labels"
            )
        return [""], np.zeros(0, dtype=np.int64)
    names: dict[str, int] = {}
    numbers = np.array(array("I", (names.setdefault(label, len(names)) for label in read_lines(labels))))
    unknown = sorted(repeat.keys() - names.keys())
    if unknown:
        raise DataError(
            f"no pair has the label {', '.join(unknown)}; the labels in {labels} are {', '.join(sorted(names))}"
        )
    if not all(0 <= times < 256 for times in repeat.values()):
        raise DataError(f"--repeat must be from 0 to 255, found {', '.join(map(str, repeat.values()))}")
    return list(names), numbers


def _load_tokenizer(path: Path) -> SentencePieceTokenizer:
    """Load the tokenizer of a SentencePiece model or a checkpoint."""
    if not path.is_file():
        raise DataError(f"there is no tokenizer {path}")
    is_checkpoint = is_safetensors(path) or path.suffix.lower() == ".safetensors"
    data = load_checkpoint(path).tokenizer.to_bytes() if is_checkpoint else path.read_bytes()
    with naming(str(path)):
        pieces = SentencePieceTokenizer(data)
    special = {"pad_id": (pieces.pad_id, PAD_ID), "bos_id": (pieces.bos_id, BOS_ID), "eos_id": (pieces.eos_id, EOS_ID)}
    wrong = [
        f"{name} {actual}, expected {expected}" for name, (actual, expected) in special.items() if actual != expected
    ]
    if wrong:
        raise DataError(f"{path} has {'; '.join(wrong)}: give a tokenizer with the expected ids, or none to learn one")
    return pieces


def _tokenizer(
    work: Path, wanted: Preparation, times: np.ndarray, given: SentencePieceTokenizer | None
) -> SentencePieceTokenizer:
    """Return the given tokenizer, or learn one from the text."""
    path = work / "tokenizer.model"
    if path.exists():
        with _unfinished(work):
            return SentencePieceTokenizer.from_file(path)
    pieces = given
    if pieces is None:
        stride = max(1, round(2 * np.count_nonzero(times) / TOKENIZER_SENTENCES))
        kept = (
            pair
            for pair, count in zip(_with_progress(wanted.train, "learning pieces", len(times)), times, strict=True)
            if count
        )
        pieces = SentencePieceTokenizer.train(
            (sentence for pair in islice(kept, 0, None, stride) for sentence in pair),
            wanted.vocab_size,
            symbols=wanted.symbols,
        )
    write_bytes(path, pieces.to_bytes())
    return pieces


def _write_tokens(
    work: Path, wanted: Preparation, times: np.ndarray, pieces: SentencePieceTokenizer, held_out: Collection[str]
) -> tuple[dict[str, int], list[list[int]]]:
    """Write the training shards, recording the progress after every chunk; return counts, and where the pairs made by
    rule begin and end.

    These come behind the chunk that they are made from, whose number of the first pair is their seed; none is made from
    a source in `held_out`, which is in lower case.
    """
    progress = work / "progress.json"
    done: dict[str, Any] = {"read": 0, "counts": [0, 0, 0], "by_rule": []}
    if progress.exists():
        with _unfinished(work):
            done |= read_json(progress)
    text = islice(_with_progress(wanted.train, "writing tokens", len(times)), done["read"], None)
    with ShardWriter(work / "train", pieces.vocab_size, done["counts"]) as writer:
        for start in range(done["read"], len(times), CHUNK):
            chunk, chunk_times = list(islice(text, CHUNK)), times[start : start + CHUNK]
            read = start + len(chunk)
            epoch = [each for each, count in zip(chunk, chunk_times, strict=True) for _ in range(count)]
            usable = [pair for pair in epoch if pair[0].casefold() not in held_out]
            made = list(synthetic_pairs(usable, wanted.synthesis, seed=start))
            ends = []
            for part, part_times in ((chunk, chunk_times), (made, np.ones(len(made), dtype=np.int64))):
                if wanted.segmentation.bpe_dropout:
                    _append_sampled(writer, pieces, part, part_times, wanted.segmentation, start)
                else:
                    _append(writer, pieces, part, part_times)
                ends.append(writer.counts[0])
            writer.flush()
            done["by_rule"] += [ends] if made else []
            write_text(progress, readable_json({**done, "read": read, "counts": writer.counts}))
    return dict(zip(COUNTS, writer.counts, strict=True)), done["by_rule"]


def _write_validation(work: Path, pairs: list[Pair], pieces: SentencePieceTokenizer) -> dict[str, int]:
    """Write the shards of the validation pairs, and their text."""
    with ShardWriter(work / "valid", pieces.vocab_size) as writer:
        _append(writer, pieces, pairs, np.ones(len(pairs), dtype=np.int64))
    for side, lines in zip(SIDES, zip(*pairs, strict=True), strict=True):
        (work / f"valid.{side}.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return dict(zip(COUNTS, writer.counts, strict=True))


def _append(writer: ShardWriter, pieces: SentencePieceTokenizer, pairs: list[Pair], times: np.ndarray) -> None:
    """Write the tokens of each pair `times` times."""
    wanted = [(pair, int(count)) for pair, count in zip(pairs, times, strict=True) if count]
    if wanted:
        rows = [pieces.encode_batch([pair[side] for pair, _ in wanted]) for side in range(2)]
        writer.append(
            *([ids for ids, (_, count) in zip(side, wanted, strict=True) for _ in range(count)] for side in rows)
        )


def _append_sampled(
    writer: ShardWriter,
    pieces: SentencePieceTokenizer,
    pairs: list[Pair],
    times: np.ndarray,
    segmentation: Segmentation,
    start: int,
) -> None:
    """Write the tokens of each pair `times * segmentations` times, in other pieces each time.

    The random numbers depend on the number of the first of these pairs.
    """
    times = times.astype(np.int64) * segmentation.segmentations
    for number in range(times.max(initial=0)):
        wanted = [pair for pair, count in zip(pairs, times, strict=True) if count > number]
        seeds = np.random.SeedSequence((start, number)).generate_state(2).tolist()
        writer.append(
            *(
                pieces.sample_batch([pair[side] for pair in wanted], segmentation.bpe_dropout, seeds[side])
                for side in range(2)
            )
        )


def _finish(folder: Path, work: Path) -> dict[str, Any]:
    """Move all output to the folder, the manifest last; after an interruption, call it again to move the rest."""
    (folder / MANIFEST).unlink(missing_ok=True)  # until the end the folder is incomplete
    for name in ("train", "valid", "tokenizer.model", SETTINGS, CHECKSUMS, *(f"valid.{side}.txt" for side in SIDES)):
        if (work / name).exists():
            if (folder / name).is_dir():
                shutil.rmtree(folder / name)
            (work / name).replace(folder / name)
    (work / MANIFEST).replace(folder / MANIFEST)
    shutil.rmtree(work)
    return read_manifest(folder)


def _with_progress(pairs: ParallelText, what: str, total: int | None = None) -> Iterator[Pair]:
    """Iterate over normalized pairs, with a progress bar on a terminal."""
    yield from _normalized(tqdm(pairs, desc=what, total=total, unit=" pairs", unit_scale=True, disable=None))


def _normalized(pairs: Iterable[Pair]) -> Iterator[Pair]:
    """Iterate over pairs with both sides normalized as a `Translator` does before it makes tokens of them."""
    return ((normalized(source), normalized(target)) for source, target in pairs)


def _names(text: ParallelText) -> str:
    return ", ".join(map(str, text.files))


def _counted(counts: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {reason}" for reason, count in counts.items())
