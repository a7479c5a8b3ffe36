import io
import json
import math
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.analysis.corpus.distributions import NAMES as DISTRIBUTION_NAMES
from core.analysis.corpus.index import PLACES, CorpusIndex
from core.analysis.corpus.index_file import (
    COLUMNS,
    SUFFIX,
    CorpusIndexError,
    index_bytes,
    load_index,
    parse_index,
    save_index,
)
from core.analysis.corpus.recording import Neuron
from core.files.shipped_files import shipped_folder

Arrays = dict[str, np.ndarray]


def test_a_file_has_the_whole_index(tmp_path: Path, index: CorpusIndex):
    path = tmp_path / "index.corpus.npz"
    save_index(path, index)
    found = load_index(path)
    assert (found.facts, found.sentences) == (index.facts, index.sentences)
    assert list(map(repr, found.cards)) == list(map(repr, index.cards))  # NaN is equal to nothing
    for head in index.rows:
        assert all(found.head_examples(head, place) == index.head_examples(head, place) for place in PLACES)
    assert found.neuron_examples(Neuron("decoder", 1, 5)) == index.neuron_examples(Neuron("decoder", 1, 5))
    assert all((found.neurons[stack].quantiles == table.quantiles).all() for stack, table in index.neurons.items())
    written, read = index.known_distributions(), found.known_distributions()
    assert all((getattr(read, name) == getattr(written, name)).all() for name in vars(written))
    assert index_bytes(found) == index_bytes(index)


def test_a_file_from_before_the_distributions_is_read_and_says_what_is_missing(index: CorpusIndex):
    def change(arrays: Arrays) -> None:
        header(version=1)(arrays)
        for name in DISTRIBUTION_NAMES:
            del arrays[name]

    found = parse_index(rewritten(index, change), "old.corpus.npz")
    assert found.distributions is None
    assert list(map(repr, found.cards)) == list(map(repr, index.cards))
    with pytest.raises(ValueError, match="made by an earlier version: deciles, weights, distances and top tokens"):
        found.known_distributions()
    assert index_bytes(parse_index(index_bytes(found), "again.corpus.npz")) == index_bytes(found)


def rewritten(index: CorpusIndex, change: Callable[[Arrays], Any]) -> bytes:
    with np.load(io.BytesIO(index_bytes(index))) as file:
        arrays = {name: file[name].copy() for name in file.files}
    change(arrays)
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


def header(**changes: object) -> Callable[[Arrays], None]:
    def change(arrays: Arrays) -> None:
        found = {**json.loads(arrays["header"].tobytes()), **changes}
        arrays["header"] = np.frombuffer(json.dumps(found).encode(), np.uint8)

    return change


def test_a_file_from_before_the_mean_distance_is_read(index: CorpusIndex):
    def change(arrays: Arrays) -> None:
        header(columns=list(COLUMNS[:-1]))(arrays)
        arrays["cards"] = arrays["cards"][:, :-1]

    assert COLUMNS[-1] == "distance"
    found = parse_index(rewritten(index, change), "old.corpus.npz")
    assert list(map(repr, found.cards)) == [repr(replace(card, distance=math.nan)) for card in index.cards]
    assert not any(math.isnan(card.distance) for card in index.cards)
    with pytest.raises(CorpusIndexError, match="its columns are not those of this Headlight: build it again"):
        parse_index(rewritten(index, header(columns=list(COLUMNS[1:]))), "other.corpus.npz")


@pytest.mark.parametrize("path", sorted(shipped_folder("checkpoints").glob(f"*{SUFFIX}")), ids=lambda path: path.name)
def test_shipped_indexes_are_read(path: Path):
    assert load_index(path).cards


def put(name: str, place: Any, value: object) -> Callable[[Arrays], None]:
    return lambda arrays: arrays[name].__setitem__(place, value)


def replaced(name: str, make: Callable[[np.ndarray], np.ndarray]) -> Callable[[Arrays], None]:
    return lambda arrays: arrays.update({name: make(arrays[name])})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (header(format="other"), "its format is 'other', expected 'headlight-corpus-index'"),
        (header(version=3), "its version is 3, this Headlight reads 1 and 2: build it again"),
        (header(version=True), "its version is True, this Headlight reads 1 and 2: build it again"),
        (header(version=1), "the array 'diagonal_shares' is unknown"),
        (lambda arrays: arrays.pop("weight_counts"), "the array 'weight_counts' is missing"),
        (replaced("sample_sentences", lambda values: values[:0]), "its sample has 0 sentences, expected 1 to 10000"),
        (put("sample_sentences", 0, 12), "its sample has a sentence beyond its 12 sentences"),
        (put("sample_queries", (0, 0), 500), "it has an example beyond the end of its sentence"),
        (put("distance_shares", (0, 0), -1), "distance_shares has values that are negative or not finite"),
        (put("token_ids", (0, 0, 0, 0), -2), "it has the token id -2, expected -1 or more"),
        (replaced("token_values", lambda values: values[:, :1]), "token_values is float32 .*expected float32"),
        (header(places=["any"]), "its places are not those of this Headlight"),
        (header(facts={"corpus": 1}), "its facts are"),
        (header(heads={"encoder_self": [10**9, 10**9]}), "its heads are .*expected layers and their sizes"),
        (header(neurons={"encoder": [2, 48], "decoder": [3, True]}), "its neurons are"),
        (replaced("header", lambda _: np.frombuffer(b"[]", np.uint8)), "expected a JSON object"),
        (replaced("header", lambda _: np.zeros(2**17, np.uint8)), "its header has 131072 bytes"),
        (replaced("sources", lambda _: np.frombuffer(b"\xff", np.uint8)), "can't decode byte"),
        (replaced("sources", lambda _: np.frombuffer(b"one", np.uint8)), "it has 1 texts for 12 sentences"),
        (replaced("sources", lambda _: np.frombuffer(b"\n" * 11, np.uint8)), "it has a blank sentence"),
        (put("source_lengths", 0, 5000), "or one of more than 1024 tokens"),
        (put("target_ids", 0, -1), "it has the token id -1"),
        (lambda arrays: arrays.pop("cards"), "the array 'cards' is missing"),
        (lambda arrays: arrays.update(more=np.zeros(1)), "the array 'more' is unknown"),
        (replaced("cards", lambda cards: cards[:-1]), r"cards is float64 \[29, \d+\], expected float64 \[30, \d+\]"),
        (put("cards", (0, 0), np.inf), "its cards have values that are infinite"),
        (replaced("head_keys", lambda keys: keys.astype(np.int64)), "head_keys is int64 .*expected uint16"),
        (put("head_strengths", (0, 0, 0), np.nan), "head_strengths has values that are negative or not finite"),
        (put("head_strengths", (0, 0, 0), 0), "the examples of head are not in order"),
        (put("head_sentences", (0, 0, 0), 12), "it has an example beyond its 12 sentences"),
        (put("head_queries", (0, 0, 0), 500), "it has an example beyond the end of its sentence"),
        (put("encoder_positions", (0, 0, 0), 500), "it has an example beyond the end of its sentence"),
        (replaced("head_strengths", lambda values: values[..., :0]), "it has 0 examples of a head"),
        (replaced("lines", lambda lines: np.asfortranarray(np.stack([lines] * 2))), r"lines is uint32 \[2, 12\]"),
        (replaced("lines", lambda _: np.array(["a"] * 12)), "lines is <U1"),
    ],
)
def test_a_hostile_file_is_refused(index: CorpusIndex, change: Callable[[Arrays], Any], message: str):
    with pytest.raises(CorpusIndexError, match=f"x.npz is not a corpus index, or is damaged: .*{message}"):
        parse_index(rewritten(index, change), "x.npz")


def test_objects_are_not_unpickled(index: CorpusIndex):
    file = io.BytesIO()
    np.savez(file, lines=np.array([{}], object), allow_pickle=True)
    with pytest.raises(CorpusIndexError, match="the array 'lines' has type object"):
        parse_index(file.getvalue(), "x.npz")


def test_declared_sizes_are_checked_before_memory_is_taken(monkeypatch: pytest.MonkeyPatch):
    file, array = io.BytesIO(), io.BytesIO()
    np.lib.format.write_array_header_1_0(array, {"descr": "<f8", "fortran_order": False, "shape": (10**12,)})
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("cards.npy", array.getvalue())
    with pytest.raises(CorpusIndexError, match=r"the array 'cards' has type float64 and shape \[1000000000000\]"):
        parse_index(file.getvalue(), "x.npz")
    monkeypatch.setattr("core.analysis.corpus.index_file.MAX_INDEX_BYTES", 10)
    with pytest.raises(CorpusIndexError, match=r"it has \d+ bytes and would unpack to 128, at most 10 are read"):
        parse_index(file.getvalue(), "x.npz")


def test_files_that_are_none_are_refused(tmp_path: Path, index: CorpusIndex):
    for number, content in enumerate([b"", b"not a zip file", index_bytes(index)[:-40]]):
        path = tmp_path / f"{number}.npz"
        path.write_bytes(content)
        with pytest.raises(CorpusIndexError, match=f"{number}.npz is not a corpus index, or is damaged"):
            load_index(path)


@pytest.mark.parametrize(
    "place", ["data", "start of the data", "signature", "name", "checksum in the directory", "offset in the directory"]
)
def test_a_file_with_a_wrong_byte_is_refused(index: CorpusIndex, place: str):
    content = bytearray(index_bytes(index))
    content[places(content)[place]] ^= 0xFF
    with pytest.raises(CorpusIndexError, match=r"x\.npz is not a corpus index, or is damaged"):
        parse_index(bytes(content), "x.npz")


@pytest.mark.parametrize("place", ["checksum", "size"])
def test_what_the_header_of_an_array_repeats_is_not_read(index: CorpusIndex, place: str):
    """The directory at the end of the archive has it, too."""
    content = bytearray(index_bytes(index))
    content[places(content)[place]] ^= 0xFF
    assert index_bytes(parse_index(bytes(content), "x.npz")) == index_bytes(index)


def places(content: bytes | bytearray) -> dict[str, int]:
    """A byte of each part of the archive that belongs to the array `head_keys`; see the specification of ZIP, 4.3."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        entry, directory = archive.getinfo("head_keys.npy"), archive.start_dir
    header, name = entry.header_offset, entry.filename.encode()
    start = header + 30 + len(name) + int.from_bytes(content[header + 28 : header + 30], "little")
    listed = content.index(name, directory) - 46
    return {
        "signature": header,
        "checksum": header + 14,
        "size": header + 25,
        "name": header + 30,
        "start of the data": start,
        "data": start + entry.compress_size // 2,
        "checksum in the directory": listed + 16,
        "offset in the directory": listed + 42,
    }


def test_the_number_of_tokens_has_a_bound(index: CorpusIndex, monkeypatch: pytest.MonkeyPatch):
    tokens = sum(len(sentence.target) for sentence in index.sentences)
    monkeypatch.setattr("core.analysis.corpus.index_file.MAX_INDEX_TOKENS", tokens - 1)
    with pytest.raises(
        CorpusIndexError, match=rf"its translations have {tokens} tokens, at most {tokens - 1} are read$"
    ):
        parse_index(index_bytes(index), "x.npz")
