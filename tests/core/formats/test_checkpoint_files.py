"""Files that are not checkpoints: other formats, truncated, damaged, or with a false header."""

import json
import pickle
import random
import re
from pathlib import Path
from typing import Any

import pytest
import torch

from core.formats.checkpoint import ADVICE, MAX_HEADER_BYTES, load_checkpoint
from core.text.text_files import read_text
from tests.core.checkpoints import EMBEDDING, assert_not_loaded
from tests.core.formats.small_models import assert_refused

UNREADABLE = rf"^bad\.safetensors \(\d+ bytes\) is cut off, damaged or not a safetensors file: {ADVICE} \("


def header_and_data(path: Path) -> tuple[dict[str, Any], bytes]:
    whole = path.read_bytes()
    end = 8 + int.from_bytes(whole[:8], "little")
    return json.loads(whole[8:end]), whole[end:]


def write_raw(path: Path, header: dict[str, Any] | bytes, data: bytes) -> Path:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)
    return path


class Malicious:
    """Unpickling it creates a file on disk."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return (open, (str(self.path), "w"))


@pytest.mark.parametrize("form", ["torch zip", "torch legacy", "pickle 2", "pickle 5"])
def test_a_pickle_is_refused_and_not_run(form: str, tmp_path: Path) -> None:
    path, proof = tmp_path / "model.safetensors", tmp_path / "it ran"
    if form.startswith("torch"):
        torch.save({"model": Malicious(proof)}, path, _use_new_zipfile_serialization=form == "torch zip")
    else:
        path.write_bytes(pickle.dumps({"model": Malicious(proof)}, protocol=int(form[-1])))
    assert_not_loaded(
        path, r"^model\.safetensors is a (zip archive or a PyTorch file|pickle, .*), expected a \.safetensors file: "
    )
    assert not proof.exists()
    with path.open("rb") as file:
        torch.load(file, weights_only=False) if form.startswith("torch") else pickle.load(file)
    assert proof.exists(), "had it been unpickled, the proof would be there"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"x",
        b"12345678",
        b"12345678[",
        b"<!doctype html><html></html>",
        b"\x89PNG\r\n\x1a\n" + b"\0" * 99,
        bytes(1000),
        random.Random(0).randbytes(9999),
    ],
)
def test_other_files_are_refused(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(data)
    assert_not_loaded(
        path, rf"^model\.safetensors \({len(data)} bytes\) is not a safetensors file: expected a JSON header"
    )


def test_a_file_cut_off_anywhere_is_refused(tiny_checkpoint: Path, tmp_path: Path) -> None:
    whole = tiny_checkpoint.read_bytes()
    header = 8 + int.from_bytes(whole[:8], "little")
    path = tmp_path / "cut.safetensors"
    message = rf"^cut\.safetensors (is truncated|\(\d+ bytes\) is (cut off|not a safetensors file)).*{ADVICE}"
    for length in (*range(12), header - 1, header + 1, *range(header, len(whole), len(whole) // 20), len(whole) - 1):
        path.write_bytes(whole[:length])
        assert_not_loaded(path, message)
    path.write_bytes(whole[:100])
    truncated = rf"^cut\.safetensors is truncated: its header should have {header - 8} bytes, the whole file has 100;"
    assert_not_loaded(path, rf"{truncated} {ADVICE}$")


def test_surplus_bytes_are_refused(tiny_checkpoint: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.safetensors").write_bytes(tiny_checkpoint.read_bytes() + b"\0" * 8)
    assert_not_loaded(tmp_path / "bad.safetensors", UNREADABLE)


def test_a_missing_file_and_a_folder(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load_checkpoint(tmp_path / "nowhere.safetensors")
    assert_not_loaded(tmp_path, r"is a folder, expected a \.safetensors file: `python -m core convert` makes one")
    for device in (Path("/dev/zero"), Path("/dev/null")):
        assert_not_loaded(device, rf"^{device.name} is not a regular file, expected a \.safetensors")
    assert_refused(Path("/dev/zero"), r"^zero is not a regular file: give one folder")
    with pytest.raises(ValueError, match=r"^/dev/zero is not a regular file: give a file or a pipe$"):
        read_text(Path("/dev/zero"))
    assert read_text(Path("/dev/null")) == ""


# --- Headers that lie ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [MAX_HEADER_BYTES + 1, 2**40, 2**64 - 1])
def test_a_huge_header_is_not_read(length: int, tmp_path: Path) -> None:
    path = tmp_path / "huge.safetensors"
    path.write_bytes(length.to_bytes(8, "little") + b"{" * 100)
    assert_not_loaded(
        path, rf"^huge\.safetensors declares a header of {length} bytes, at most {MAX_HEADER_BYTES} are read$"
    )


@pytest.mark.parametrize(
    "header", [b"{", b"{}}", b'{"a": \xff\xfe}', b"{" * 5000, b'{"a": 1}', b'{"a": NaN}', b'{"a": {"dtype": "F32"}}']
)
def test_a_header_that_is_no_header(header: bytes, tmp_path: Path) -> None:
    assert_not_loaded(write_raw(tmp_path / "bad.safetensors", header, b"\0" * 16), UNREADABLE)


BYTES = 400 * 32 * 4  # of the embedding
LIES: dict[str, dict[str, Any]] = {
    "out of the file": {"data_offsets": [2**40, 2**40 + BYTES]},
    "a shape of another size": {"shape": [400, 33]},
    "a shape beyond all integers": {"shape": [2**62, 2**62]},
    "a negative offset": {"data_offsets": [-BYTES, 0]},
    "backward offsets": {"data_offsets": [BYTES, 0]},
    "an unknown type": {"dtype": "F33"},
}


@pytest.mark.parametrize("lie", [*LIES, "overlap", "metadata that is no text", "gap"])
def test_a_header_that_lies_about_the_data(lie: str, tiny_checkpoint: Path, tmp_path: Path) -> None:
    header, data = header_and_data(tiny_checkpoint)
    match lie:
        case "overlap":
            first, second = (name for name in header if re.match(r"encoder.*self_attention\.q_proj\.weight", name))
            header[second]["data_offsets"] = header[first]["data_offsets"]
        case "metadata that is no text":
            header["__metadata__"]["format_version"] = 1
        case "gap":
            del header[EMBEDDING]
        case _:
            header[EMBEDDING] |= LIES[lie]
    path = write_raw(tmp_path / "bad.safetensors", header, data)
    assert_not_loaded(path, UNREADABLE)
