"""Damaged and hostile files of weights."""

import io
import json
import os
import pickle
import struct
import zipfile
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save

from core.formats.checkpoint import CheckpointError
from core.formats.weight_files import open_weights


class Command:
    """Runs a command when it is unpickled without care."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return os.system, (f"touch {self.path}",)


def shapes_of(path: Path) -> dict[str, tuple[int, ...]]:
    with open_weights(path, path.name) as weights:
        return dict(weights.shapes)


def assert_refused(path: Path, message: str) -> None:
    with pytest.raises(CheckpointError, match=message):
        shapes_of(path)


@pytest.mark.parametrize("legacy", [False, True])
def test_weight_files_are_read(legacy: bool, tmp_path: Path) -> None:
    state = {"a": torch.randn(3, 4).half(), "b": torch.randn(5, 2).T}
    torch.save(state, tmp_path / "model.bin", _use_new_zipfile_serialization=not legacy)
    with open_weights(tmp_path / "model.bin", "model.bin") as weights:
        assert weights.shapes == {"a": (3, 4), "b": (2, 5)}
        assert weights.dtypes == {"a": torch.float16, "b": torch.float32}
        assert torch.equal(weights.read("a"), state["a"].float())
        assert torch.equal(weights.read("b"), state["b"])
        assert weights.read("b").is_contiguous()


@pytest.mark.parametrize("legacy", [False, True])
@pytest.mark.parametrize(
    ("protocol", "reason"), [(2, r"it calls for \w+\.\w+, and"), (4, "Headlight unpickles nothing else")]
)
def test_nothing_is_executed(
    legacy: bool, protocol: int, reason: str, tmp_path: Path, recwarn: pytest.WarningsRecorder
) -> None:
    """The message names the forbidden name, without PyTorch's advice to allow everything."""
    path = tmp_path / "model.bin"
    options = {"_use_new_zipfile_serialization": not legacy, "pickle_protocol": protocol}
    torch.save({"a": Command(tmp_path / "executed")}, path, **options)
    with pytest.raises(
        CheckpointError, match=rf"^model.bin is not a file of tensors alone, or damaged: {reason}"
    ) as found:
        shapes_of(path)
    assert "weights_only" not in str(found.value)
    assert str(found.value).endswith("save its tensors alone: torch.save(model.state_dict(), FILE)")
    assert not recwarn.list
    path.write_bytes(pickle.dumps(Command(tmp_path / "executed")))
    with pytest.raises(CheckpointError):
        shapes_of(path)
    assert not (tmp_path / "executed").exists()


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ([torch.zeros(2)], r"^model.bin holds a list, expected tensors by name$"),
        ({"a": 5}, r"^model.bin holds a int under 'a', expected tensors by name$"),
        ({5: torch.zeros(2)}, r"^model.bin holds a Tensor under 5, expected tensors by name$"),
        ({"a": torch.zeros(2, dtype=torch.int64)}, r"'a' has type torch.int64, torch.strided, cpu, expected one of F3"),
        ({"a": torch.eye(3).to_sparse()}, r"it calls for torch.\w+._\w+, and what is not an ordinary tensor"),
        ({"a": torch.zeros(2, device="meta")}, "it calls for torch._utils._rebuild_meta_tensor_no_storage, and"),
    ],
)
def test_only_tensors_by_name_are_read(state: Any, message: str, tmp_path: Path) -> None:
    torch.save(state, tmp_path / "model.bin")
    assert_refused(tmp_path / "model.bin", message)


def repacked(path: Path, compression: int = zipfile.ZIP_STORED, **changes: bytes) -> Path:
    """The archive with another compression or other entries, by the end of their name."""
    with zipfile.ZipFile(path) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    target = path.with_name("repacked.bin")
    with zipfile.ZipFile(target, "w", compression) as archive:
        for name, data in entries.items():
            archive.writestr(name, changes.get(name.split("/")[-1].replace(".", "_"), data))
    return target


def test_a_compressed_pytorch_file_is_refused_and_a_storage_shorter_than_declared_not_read_beyond_the_file(
    tmp_path: Path,
) -> None:
    torch.save({"a": torch.zeros(1_000_000)}, tmp_path / "model.bin")
    packed = repacked(tmp_path / "model.bin", zipfile.ZIP_DEFLATED)
    assert packed.stat().st_size < 100_000
    assert_refused(packed, r"is compressed or larger than the file, expected tensors as")
    assert_refused(repacked(tmp_path / "model.bin", **{"0": b"1234"}), r"damaged")


def test_an_archive_on_several_disks_is_refused(tmp_path: Path) -> None:
    """Before the end of the directory, a locator of ZIP64 says that the archive goes on elsewhere."""
    torch.save({"a": torch.zeros(2)}, tmp_path / "model.bin")
    data = (tmp_path / "model.bin").read_bytes()
    (tmp_path / "model.bin").write_bytes(data[:-22] + struct.pack("<4sLQL", b"PK\6\7", 1, 0, 1) + data[-22:])
    assert_refused(tmp_path / "model.bin", r"^model.bin is a damaged or unusual zip archive: .* multiple disks")


def test_a_shape_that_lies_takes_no_memory(tmp_path: Path) -> None:
    torch.save({"a": torch.zeros(1).expand(10**12)}, tmp_path / "model.bin")
    assert_refused(tmp_path / "model.bin", r"up to 'a' have 4000000000000 bytes, the whole file \d+: it is damaged")
    header = json.dumps({"a": {"dtype": "F32", "shape": [10**12], "data_offsets": [0, 4 * 10**12]}}).encode()
    (tmp_path / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + bytes(100))
    assert_refused(tmp_path / "model.safetensors", r"^model.safetensors is cut off, damaged or not a safetensors file")
    (tmp_path / "model.safetensors").write_bytes((2**40).to_bytes(8, "little") + b"{" + bytes(100))
    assert_refused(tmp_path / "model.safetensors", r"declares a header of 1099511627776 bytes, at most 4194304 are rea")


def test_a_name_that_occurs_twice_is_refused(tmp_path: Path) -> None:
    entries = (f'"a": {{"dtype": "F32", "shape": [1], "data_offsets": [{start}, {start + 4}]}}' for start in (0, 4))
    header = f"{{{', '.join(entries)}}}".encode()
    (tmp_path / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + bytes(8))
    assert_refused(tmp_path / "model.safetensors", r"^model.safetensors is cut off, damaged or not a safetensors file")


def test_a_large_pickle_is_refused(tmp_path: Path) -> None:
    torch.save({"a": torch.zeros(2)}, tmp_path / "model.bin")
    large = repacked(tmp_path / "model.bin", data_pkl=bytes(17 * 2**20))
    assert_refused(large, r"data.pkl' has 17825792 bytes, at most 16777216 are read$")


@pytest.mark.parametrize("kind", ["archive", "legacy", "safetensors"])
def test_every_cut_is_an_error(kind: str, tmp_path: Path) -> None:
    file, state = io.BytesIO(), {"a": torch.randn(20, 5)}
    torch.save(state, file, _use_new_zipfile_serialization=kind == "archive")
    data = save(state) if kind == "safetensors" else file.getvalue()
    for length in range(0, len(data), 13):
        (tmp_path / "model.bin").write_bytes(data[:length])
        with pytest.raises(CheckpointError):
            shapes_of(tmp_path / "model.bin")


@pytest.mark.parametrize("legacy", [False, True])
def test_changed_bytes_are_other_weights_or_an_error(legacy: bool, tmp_path: Path) -> None:
    file = io.BytesIO()
    torch.save({"a": torch.randn(2, 3), "b": torch.randn(4)}, file, _use_new_zipfile_serialization=not legacy)
    for seed in range(60):
        data = bytearray(file.getvalue())
        generator = torch.Generator().manual_seed(seed)
        for place in torch.randint(len(data), (3,), generator=generator).tolist():
            data[place] = int(torch.randint(256, (1,), generator=generator))
        (tmp_path / "model.bin").write_bytes(data)
        try:
            with open_weights(tmp_path / "model.bin", "model.bin") as weights:
                for name, shape in weights.shapes.items():
                    if shape in ((2, 3), (4,)):
                        assert weights.read(name).shape == shape
        except CheckpointError:
            pass
        except BaseException as error:
            error.add_note(f"seed {seed}")
            raise
