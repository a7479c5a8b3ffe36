"""Tuples in tuples are found without building them."""

import io
import pickle
import zipfile
from pathlib import Path
from typing import Any

import pytest
import torch

from core.checkpoint import CheckpointError
from core.formats.pickle_sizes import check_tuples
from core.formats.weights import load_pytorch


def nested(depth: int, width: int = 2) -> bytes:
    """A pickle of a dictionary whose key is a tuple of some of the tuple before, and so on."""
    value: Any = ()
    made = [value]
    for _ in range(depth):
        value = (value,) * width
        made.append(value)
    return pickle.dumps(made, 2).removesuffix(b".") + b"}" + pickle.dumps(value, 2)[2:].removesuffix(b".") + b"K\1s."


@pytest.mark.parametrize("protocol", range(2, 5))
def test_what_files_hold_is_read_to_its_end(protocol: int) -> None:
    value = {"a": (1, (2, 3)), "b": [(), {"c": (b"x", 1.5)}, {4}], "long": list(range(5000)), ("x", 1): slice(1, 2)}
    file = io.BytesIO(pickle.dumps(value, protocol) + pickle.dumps(value, protocol) + b"rest")
    check_tuples(file)
    check_tuples(file)
    assert file.read() == b"rest"


@pytest.mark.parametrize(("depth", "width"), [(40, 2), (10, 200)])
def test_tuples_in_tuples_are_refused(depth: int, width: int) -> None:
    check_tuples(io.BytesIO(nested(8)))
    with pytest.raises(ValueError, match=r"^it has a tuple of more than 1000000 elements, tuples in tuples$"):
        check_tuples(io.BytesIO(nested(depth, width)))


@pytest.mark.parametrize(
    "data", [b"", b"\x80\2", b"\x80\2\x86.", b"\x80\2h\1.", b"\x80\2t.", b"\x80\4\x8d" + b"\x7f" * 8]
)
def test_damaged_pickles_are_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"pickle|takes what it has not made|opcode|expected"):
        check_tuples(io.BytesIO(data))


@pytest.mark.parametrize("is_archive", [True, False])
def test_pytorch_files_are_checked_before_they_are_read(is_archive: bool, tmp_path: Path) -> None:
    path = tmp_path / "model.pt"
    torch.save({"a": torch.zeros(2, 3)}, path, _use_new_zipfile_serialization=is_archive)
    assert torch.equal(load_pytorch(path, "model.pt")["a"], torch.zeros(2, 3))
    if is_archive:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("model/data.pkl", nested(40))
    else:
        data = path.read_bytes()
        file = io.BytesIO(data)
        for _ in range(3):
            check_tuples(file)
        path.write_bytes(data[: file.tell()] + nested(40) + data[file.tell() :])
    with pytest.raises(CheckpointError, match=r"^model.pt is .*it has a tuple of more than 1000000 elements"):
        load_pytorch(path, "model.pt")
