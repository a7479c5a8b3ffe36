"""Input in windows: lines, their sentences, errors, and a digest of the bytes read."""

import gzip
import hashlib
import io
import lzma
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.cli.file_translation import lines
from core.cli.file_translation.lines import InputReader, LineWindow, count_lines, open_input, read_windows, split_lines
from core.translator import Translator


@given(
    data=st.lists(st.sampled_from([b"a", b"bc", b"\n", b"\xff", b"\r\n"]), max_size=60).map(b"".join),
    skipped=st.integers(0, 10),
)
def test_every_byte_is_in_one_line(data: bytes, skipped: int) -> None:
    reader = InputReader(io.BytesIO(data))
    expected = data.splitlines(keepends=True) if b"\r" not in data else [line + b"\n" for line in data.split(b"\n")]
    if b"\r" in data:
        expected[-1] = expected[-1][:-1]
        expected = expected if expected[-1] else expected[:-1]
    reader.skip(skipped)
    assert reader.lines_read == min(skipped, len(expected))
    assert reader.digest == hashlib.sha256(b"".join(expected[:skipped])).hexdigest()
    assert list(reader) == expected[skipped:]
    assert reader.lines_read == len(expected) == count_lines(io.BytesIO(data))
    assert reader.digest == hashlib.sha256(data).hexdigest()


def test_a_line_without_end_does_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "MAX_LINE_BYTES", 10)
    data = b"x" * 95 + b"\nshort\n"
    reader = InputReader(io.BytesIO(data))
    assert list(reader) == [b"x" * 11, b"short\n"]
    assert reader.digest == hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize(("limit", "value"), [("WINDOW_LINES", 3), ("WINDOW_BYTES", 24)])
def test_windows_do_not_depend_on_where_reading_starts(monkeypatch: pytest.MonkeyPatch, limit: str, value: int) -> None:
    monkeypatch.setattr(lines, limit, value)
    data = b"".join(b"Line %d.\n" % number for number in range(10))
    windows = list(read_windows(InputReader(io.BytesIO(data))))
    assert [window.end - window.start for window in windows] == [3, 3, 3, 1]
    assert b"".join(line for window in windows for line in window.lines) == data
    for done, window in enumerate(windows, start=1):
        reader = InputReader(io.BytesIO(data))
        reader.skip(window.end)
        assert reader.digest == window.digest
        assert list(read_windows(reader)) == windows[done:]


def test_lines_that_cannot_be_translated(translator: Translator) -> None:
    window = LineWindow(10, (b" A dog. \n", b"\n", b"b\xffd\n", b"x" * 600 + b"\n", b"It rains. " * 100, b"\r\n"), "")
    stops = LineWindow(0, ("\u4eca\u65e5\u3002" * 300).encode().splitlines(), "")  # without a space between sentences
    assert split_lines(stops, translator) == ([("\u4eca\u65e5\u3002",) * 300], [])
    sentences, problems = split_lines(window, translator)
    assert sentences == [("A dog.",), (), (), (), ("It rains.",) * 100, ()]
    assert problems == [
        "line 13 of the input is not UTF-8 text: byte 0xff at position 1; convert it to UTF-8",
        "line 14: the text has 602 tokens, at most 512 can be translated at once: shorten or split it",
    ]
    with pytest.raises(ValueError, match="line 13 of the input is not UTF-8 text"):
        split_lines(window, translator, strict=True)


@pytest.mark.parametrize(("suffix", "compress"), [(".gz", gzip.compress), (".xz", lzma.compress), (".txt", bytes)])
def test_compressed_inputs(tmp_path: Path, suffix: str, compress: Callable[[bytes], bytes]) -> None:
    data = b"A dog.\n" * 1000
    path = tmp_path / f"in{suffix}"
    path.write_bytes(compress(data))
    with open_input(path) as stream:
        assert count_lines(stream) == 1000
        assert stream.read() == data


@pytest.mark.parametrize(("suffix", "compress"), [(".gz", gzip.compress), (".xz", lzma.compress)])
@pytest.mark.parametrize("damage", [lambda data: data[:-20], lambda data: b"no archive, only text"])
def test_damaged_inputs(
    tmp_path: Path, suffix: str, compress: Callable[[bytes], bytes], damage: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / f"in{suffix}"
    path.write_bytes(damage(compress(b"A dog.\n" * 1000)))
    with (
        pytest.raises(
            ValueError, match=rf"in{suffix} is damaged or not a {suffix} file .*: compress or download it again"
        ),
        open_input(path) as stream,
    ):
        stream.read()


def test_a_pipe_is_not_counted() -> None:
    class Pipe(io.BytesIO):
        def seekable(self) -> bool:
            return False

    assert count_lines(Pipe(b"a\nb\n")) is None
