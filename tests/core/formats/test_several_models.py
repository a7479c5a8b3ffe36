"""Folders and archives with several models: which there are, and one of them is opened."""

import json
import shutil
import zipfile
from pathlib import Path

import pytest

from core.formats.checkpoint import CheckpointError
from core.formats.opening import own_file
from core.formats.several_models import model_names
from core.formats.source_files import open_source
from tests.core.formats.t5_models import zipped


@pytest.fixture
def folder(tmp_path: Path, tiny_checkpoint: Path) -> Path:
    """Two checkpoints of Headlight and a folder of another project, which has a folder of its own."""
    folder = tmp_path / "models"
    (folder / "opus" / "onnx").mkdir(parents=True)
    (folder / "sub").mkdir()
    shutil.copy(tiny_checkpoint, folder / "a.safetensors")
    shutil.copy(tiny_checkpoint, folder / "sub" / "a.safetensors")
    for name in ("opus/model.safetensors", "opus/onnx/decoder.bin", "corpus.npz", "notes.txt"):
        (folder / name).write_bytes(b"no checkpoint of Headlight")
    return folder


@pytest.mark.parametrize("as_archive", [False, True])
def test_the_models_of_a_folder_and_of_an_archive_are_listed(folder: Path, as_archive: bool) -> None:
    source = zipped(folder) if as_archive else folder
    assert model_names(source) == ["a.safetensors", "opus", "sub/a.safetensors"]


def test_one_model_is_no_list(folder: Path, tiny_checkpoint: Path) -> None:
    assert model_names(folder / "opus") == []
    assert model_names(tiny_checkpoint) == []
    (folder / "a.safetensors").unlink()
    shutil.rmtree(folder / "sub")
    assert model_names(folder) == []


def test_a_header_that_is_no_object_is_no_checkpoint(tmp_path: Path) -> None:
    for number, header in enumerate(([], {"__metadata__": []}, "x")):
        text = json.dumps(header).encode()
        (tmp_path / f"{number}.safetensors").write_bytes(len(text).to_bytes(8, "little") + text)
    assert model_names(tmp_path) == []


def test_one_model_of_an_archive_is_opened_alone(folder: Path, tiny_checkpoint: Path) -> None:
    archive = zipped(folder)
    with open_source([archive], "sub/a.safetensors") as files:
        own = own_file(files)
        assert files.names == {"a.safetensors"}
        assert own is not None
        assert own.read_bytes() == tiny_checkpoint.read_bytes()
    with open_source([archive], "opus") as files:
        assert files.names == {"model.safetensors", "decoder.bin"}


def test_a_damaged_archive_is_refused(tmp_path: Path, folder: Path) -> None:
    archive = zipped(folder)
    with zipfile.ZipFile(archive) as file:
        offset = file.getinfo("a.safetensors").header_offset
    content = bytearray(archive.read_bytes())
    content[offset : offset + 4] = b"0000"
    archive.write_bytes(content)
    with pytest.raises(CheckpointError, match=r"models\.zip is a damaged or unusual zip archive"):
        model_names(archive)
