"""The cost of reading a pickle is known without reading it."""

import io
import pickle
import zipfile
from pathlib import Path
from typing import Any

import pytest
import torch

from core.formats.checkpoint import CheckpointError
from core.formats.pickle_sizes import ForeignCallError, check_pickle
from core.formats.weight_files import load_pytorch


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
    check_pickle(file, ["builtins.slice"])
    check_pickle(file, ["builtins.slice"])
    assert file.read() == b"rest"


@pytest.mark.parametrize(("depth", "width"), [(40, 2), (10, 200)])
def test_tuples_in_tuples_are_refused(depth: int, width: int) -> None:
    check_pickle(io.BytesIO(nested(8)))
    with pytest.raises(ValueError, match=r"^to read it would take more than \d+ steps$"):
        check_pickle(io.BytesIO(nested(depth, width)))


@pytest.mark.parametrize(
    "data", [b"", b"\x80\2", b"\x80\2\x86.", b"\x80\2h\1.", b"\x80\2t.", b"\x80\4\x8d" + b"\x7f" * 8]
)
def test_damaged_pickles_are_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"pickle|takes what it has not made|opcode|expected"):
        check_pickle(io.BytesIO(data))


def name(of: str) -> bytes:
    return "c{}\n{}\n".format(*of.rsplit(".", 1)).encode()


def text(of: str) -> bytes:
    return b"X" + len(of).to_bytes(4, "little") + of.encode()


PAIRS = b"(" + b"".join(b"M" + number.to_bytes(2, "little") + b"N\x86" for number in range(2000)) + b"l"
NUMBERS = b"(" + b"".join(b"M" + number.to_bytes(2, "little") for number in range(2000)) + b"l"
FIELDS = b"(" + b"".join(text(str(number)) + b"N" for number in range(2000)) + b"d"
KEY = b"()" + b"\x85q\1h\1\x86" * 5 + b"t"


@pytest.mark.parametrize(
    ("made", "used"),
    [
        (PAIRS, name("collections.OrderedDict") + b"h\0\x85R"),
        (NUMBERS, name("builtins.set") + b"h\0\x85R"),
        (NUMBERS, name("__builtin__.set") + b"h\0\x85R"),
        (NUMBERS, name("collections.Counter") + b"h\0\x85\x81"),
        (FIELDS, name("collections.OrderedDict") + b")Rh\0b"),
        (text("x" * 2**18), name("_codecs.encode") + b"h\0\x85R"),
        (b"(" + b")" * 2000 + b"t", b"}h\0Ns"),
    ],
)
def test_copies_of_what_was_made_once_are_refused(made: bytes, used: bytes) -> None:
    """Each is some thousand steps, and takes some bytes."""
    for times in (1, 2000):
        file = io.BytesIO(b"\x80\2" + made + b"q\0(" + used * times + b"l.")
        if times == 1:
            check_pickle(file)
        else:
            with pytest.raises(ValueError, match=r"^to read it would take more than \d+ steps$"):
                check_pickle(file)


@pytest.mark.parametrize("data", [pickle.dumps(dict.fromkeys(range(500)), 2), pickle.dumps([0] * 1000, 2)])
def test_the_operations_of_all_pickles_of_a_file_are_bounded(data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """However small each is: a file of 9 MB had 2.6 million operations, which took 17 seconds."""
    taken = check_pickle(io.BytesIO(data))
    assert 1000 < taken < 3000
    monkeypatch.setattr("core.formats.pickle_sizes.MAX_PICKLE_STEPS", 2 * taken)
    assert check_pickle(io.BytesIO(data), steps=taken) == 2 * taken
    with pytest.raises(ValueError, match=rf"^to read it would take more than {2 * taken} steps$"):
        check_pickle(io.BytesIO(data), steps=taken + 1)


def test_a_number_takes_no_elements() -> None:
    with pytest.raises(ValueError, match=r"^it adds elements to what has none$"):
        check_pickle(io.BytesIO(b"\x80\2K\1Na."))


def test_texts_that_double_are_refused() -> None:
    encode, data = name("_codecs.encode"), text("x") + text("utf-8") + b"\x86R"
    doubled = encode * 41 + data + (text("hex") + b"\x86R") * 40
    with pytest.raises(ValueError, match=r"^to read it would take more than \d+ steps$"):
        check_pickle(io.BytesIO(b"\x80\2" + doubled + b"."))


@pytest.mark.parametrize(
    "called",
    [
        "builtins.bytearray",
        "__builtin__.bytearray",
        "torch.FloatTensor",
        "torch.storage.UntypedStorage",
        "torch._utils._rebuild_device_tensor_from_cpu_tensor",
        "torch._utils._rebuild_qtensor",
        "torch._tensor._rebuild_from_type_v2",
    ],
)
def test_what_makes_gigabytes_of_a_number_is_refused(called: str) -> None:
    found = called.replace("__builtin__", "builtins")
    with pytest.raises(ForeignCallError, match=rf"^it calls for {found}$"):
        check_pickle(io.BytesIO(b"\x80\2" + name(called) + b"K\1\x85R."))
    check_pickle(io.BytesIO(b"\x80\2" + name(called) + b"K\1\x85R."), [found])


@pytest.mark.parametrize("place", ["model/data.pkl", "model/DATA.PKL", 3, 4])
def test_weight_files_are_checked_before_they_are_read(place: str | int, tmp_path: Path) -> None:
    """PyTorch does not tell upper from lower case; older files are five pickles before the weights."""
    is_archive, path = isinstance(place, str), tmp_path / "model.pt"
    torch.save({"a": torch.zeros(2, 3)}, path, _use_new_zipfile_serialization=is_archive)
    assert torch.equal(load_pytorch(path, "model.pt")["a"], torch.zeros(2, 3))
    if isinstance(place, str):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(place, nested(40))
    else:
        data = path.read_bytes()
        file = io.BytesIO(data)
        for _ in range(place):
            check_pickle(file)
        path.write_bytes(data[: file.tell()] + nested(40) + data[file.tell() :])
    with pytest.raises(CheckpointError, match=r"^model.pt is .*to read it would take more than \d+ steps"):
        load_pytorch(path, "model.pt")


def test_an_archive_has_one_directory(tmp_path: Path) -> None:
    """PyTorch reads the one that its end declares, and `zipfile` the one before its end."""
    path, file = tmp_path / "model.pt", io.BytesIO()
    torch.save({"a": torch.zeros(2, 3)}, path)
    with zipfile.ZipFile(path) as archive, zipfile.ZipFile(file, "w") as plain:  # a directory of the old kind
        for entry in archive.namelist():
            plain.writestr(entry, archive.read(entry))
    large, small = path.read_bytes(), file.getvalue()
    for data, offset in (
        (large, len(large) - 98),
        (large, len(large) - 50),
        (large, len(large) - 34),
        (small, len(small) - 6),
    ):
        path.write_bytes(data)
        assert torch.equal(load_pytorch(path, "model.pt")["a"], torch.zeros(2, 3))
        other = bytearray(data)
        other[offset] ^= 1
        path.write_bytes(other)
        with pytest.raises(CheckpointError, match=r"^model.pt: its directory is not where|^model.pt is a da"):
            load_pytorch(path, "model.pt")
