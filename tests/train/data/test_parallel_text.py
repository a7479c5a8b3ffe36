import bz2
import gzip
import lzma
import re
import zipfile
from pathlib import Path

import pyarrow
import pytest
from pyarrow import parquet

from tests.train.conftest import write_lines
from train.data.parallel_text import ParallelText, read_lines, read_pairs, read_parallel
from train.data.token_shards import DataError

LINES = ["Äpfel und Öl", "", "  two  spaces  ", "a\u2028b\x0bc\x85d", "tab\there", "last"]
TEXT = "".join(f"{line}\n" for line in LINES)
PAIRS = [("one", "eins"), ("two words", "zwei Wörter"), ("", "nichts")]


def zst(content: bytes) -> bytes:
    return pyarrow.compress(content, "zstd", asbytes=True)


PACK = {"": bytes, ".gz": gzip.compress, ".xz": lzma.compress, ".bz2": bz2.compress, ".zst": zst}


@pytest.mark.parametrize("ending", PACK)
def test_compressed_lines_are_read(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"text.de{ending}"
    path.write_bytes(PACK[ending](TEXT.encode()))
    assert list(read_lines(path)) == LINES


def test_other_line_ends_and_byte_order_marks_are_removed(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\nno end")
    assert list(read_lines(path)) == ["one", "two", "no end"]


def test_unreadable_files_are_errors(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"there is no file .*none.txt"):
        list(read_lines(tmp_path / "none.txt"))
    with pytest.raises(DataError, match="is a folder: name the files in it"):
        list(read_lines(tmp_path))
    (tmp_path / "latin1").write_bytes("gut\nschön\n".encode("latin-1"))
    with pytest.raises(DataError, match=r"line 2 of .*latin1 is not UTF-8 text: byte 0xf6 at position 3; convert"):
        list(read_lines(tmp_path / "latin1"))
    for ending in (".gz", ".xz", ".bz2", ".zst"):
        path = tmp_path / f"cut{ending}"
        path.write_bytes(PACK[ending](TEXT.encode() * 500)[:-20])
        with pytest.raises(DataError, match=rf"cut{ending} cannot be read after line \d+"):
            list(read_lines(path))
        path.write_bytes(b"this was never packed\n")
        with pytest.raises(DataError, match=rf"cut{ending} cannot be read after line 0"):
            list(read_lines(path))


def test_files_are_read_one_after_the_other(tmp_path: Path) -> None:
    files = [
        write_lines(tmp_path / name, lines)
        for name, lines in (("a.en", ["1", "2"]), ("b.en", ["3"]), ("a.de", ["eins", "zwei"]), ("b.de", ["drei"]))
    ]
    assert list(read_parallel(files[:2], files[2:])) == [("1", "eins"), ("2", "zwei"), ("3", "drei")]
    with pytest.raises(DataError, match="2 source files but 1 target files: give them in pairs"):
        list(read_parallel(files[:2], files[2:3]))


@pytest.mark.parametrize(("left", "right"), [(3, 5), (5, 3), (1, 2), (2, 1), (0, 1), (1, 0)])
def test_sides_of_different_length_are_not_parallel(tmp_path: Path, left: int, right: int) -> None:
    source, target = write_lines(tmp_path / "a", ["x"] * left), write_lines(tmp_path / "b", ["y"] * right)
    with pytest.raises(DataError, match=f"are not parallel: {left} lines but {right}"):
        list(read_parallel([source], [target]))


def test_tsv(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "text.tsv", ["\t".join(pair) for pair in PAIRS])
    assert list(read_pairs(path)) == PAIRS
    (tmp_path / "text.tsv.gz").write_bytes(gzip.compress(path.read_bytes()))
    assert list(read_pairs(tmp_path / "text.tsv.gz")) == PAIRS
    named = write_lines(tmp_path / "named.tsv", ["id\tde\ten", *(f"7\t{target}\t{source}" for source, target in PAIRS)])
    assert list(read_pairs(named, ("en", "de"))) == PAIRS
    with pytest.raises(DataError, match="has 1 columns in line 2, expected at least 2 with tabs between them"):
        list(read_pairs(write_lines(tmp_path / "bad.tsv", ["a\tb", "c"])))


def test_moses_zip(tmp_path: Path) -> None:
    path = tmp_path / "corpus.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("README", "about")
        for name, side in (("corpus.en", 0), ("corpus.de", 1)):
            archive.writestr(name, "".join(f"{pair[side]}\n" for pair in PAIRS))
    assert list(read_pairs(path, ("en", "de"))) == PAIRS
    assert list(read_pairs(path, ("de", "en"))) == [(target, source) for source, target in PAIRS]
    with pytest.raises(DataError, match=r"should hold one \*.en and \*.fr each; it holds README, corpus.en, corpus.de"):
        list(read_pairs(path, ("en", "fr")))
    path.write_bytes(b"PK no zip")
    with pytest.raises(DataError, match=r"corpus.zip cannot be read: "):
        list(read_pairs(path, ("en", "de")))


def test_parquet(tmp_path: Path) -> None:
    source, target = map(list, zip(*PAIRS, strict=True))
    flat, nested = tmp_path / "flat.parquet", tmp_path / "nested.parquet"
    parquet.write_table(pyarrow.table({"id": [1, 2, 3], "de": target, "en": source}), flat)
    parquet.write_table(pyarrow.table({"translation": [{"en": one, "de": other} for one, other in PAIRS]}), nested)
    for path in (flat, nested):
        assert list(read_pairs(path, ("en", "de"))) == PAIRS
        with pytest.raises(DataError, match="has no column fr: its columns are "):
            list(read_pairs(path, ("en", "fr")))
    flat.write_bytes(b"PAR1 and then nothing")
    with pytest.raises(DataError, match=r"flat.parquet cannot be read"):
        list(read_pairs(flat, ("en", "de")))


def test_files_of_both_sides_need_a_known_suffix_and_languages(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"text.en should end in .tsv, .zip or .parquet"):
        list(read_pairs(tmp_path / "text.en"))
    with pytest.raises(DataError, match="names its sides by language: add --languages"):
        list(read_pairs(tmp_path / "text.zip"))
    with pytest.raises(DataError, match="there is no file"):
        list(read_pairs(tmp_path / "text.parquet", ("en", "de")))


def test_a_parallel_text_can_be_read_again(tmp_path: Path) -> None:
    contents = {"a": "1", "b": "eins", "c.tsv": "2\tzwei"}
    files = [write_lines(tmp_path / name, [line]) for name, line in contents.items()]
    text = ParallelText(*([file] for file in files))
    assert list(text) == list(text) == [("1", "eins"), ("2", "zwei")]
    assert text.files == files


@pytest.mark.parametrize("ending", [".gz", ".xz", ".bz2"])
def test_damage_within_a_compressed_file_is_named(ending: str, tmp_path: Path) -> None:
    """Most of it is noticed after some lines. The format .zst has no checksum by default."""
    path = tmp_path / f"text.en{ending}"
    content = PACK[ending]("".join(f"{number} {number * number}\n" for number in range(2000)).encode())
    for place in range(30, len(content), len(content) // 20):
        path.write_bytes(content[:place] + bytes([content[place] ^ 0x55]) + content[place + 1 :])
        with pytest.raises(DataError, match=rf"{re.escape(str(path))} (cannot be read after line|is not UTF-8)"):
            list(read_lines(path))
