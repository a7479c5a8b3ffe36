"""Sources that hold a checkpoint of Headlight, of another project, or neither."""

import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest

from core.formats.checkpoint import CheckpointError, load_checkpoint
from core.formats.opening import as_sources, is_own, own_file
from core.formats.source_files import open_source
from tests.core.checkpoints import assert_not_loaded


@pytest.mark.parametrize("name", ["a.safetensors", "A.SAFETENSORS", "none", "model.bin", "model.pt", "config.json"])
def test_a_checkpoint_of_headlight_is_one_whatever_its_name(tiny_checkpoint: Path, tmp_path: Path, name: str) -> None:
    folder, archive = tmp_path / "folder", tmp_path / "ARCHIVE"
    folder.mkdir()
    shutil.copy(tiny_checkpoint, folder / name)
    (folder / "README.md").write_text("about it")
    with zipfile.ZipFile(archive, "w") as file:
        file.write(tiny_checkpoint, f"model/{name}")
    for source in (folder / name, folder, archive):
        with open_source([source]) as files:
            found = own_file(files)
            assert found is not None
            assert found.name == name
            assert found.read_bytes() == tiny_checkpoint.read_bytes()
            assert load_checkpoint(found).config.num_heads == 4
    assert as_sources([folder / name]) == [[folder / name]]


def test_a_safetensors_file_of_another_project_alone_is_named_as_such(tmp_path: Path) -> None:
    path = tmp_path / "weights"
    path.write_bytes((2).to_bytes(8, "little") + b"{}")
    with open_source([path]) as files:
        found = own_file(files)
    assert found == path
    assert_not_loaded(path, "weights is a safetensors file but not a Headlight checkpoint")


def test_several_checkpoints_of_headlight_in_one_folder_are_named(tiny_checkpoint: Path, tmp_path: Path) -> None:
    for name in ("a.safetensors", "b.safetensors"):
        shutil.copy(tiny_checkpoint, tmp_path / name)
    expected = r"has 2 checkpoints of Headlight \(a\.safetensors, b\.safetensors\): open one of them$"
    with open_source([tmp_path]) as files, pytest.raises(CheckpointError, match=expected):
        own_file(files)


def test_other_files_are_no_checkpoint_of_headlight(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "model.safetensors").write_bytes(b"damaged")
    with open_source([tmp_path]) as files:
        assert own_file(files) is None
    with open_source([tmp_path / "model.safetensors"]) as files:  # alone: its reader says why not
        assert own_file(files) == tmp_path / "model.safetensors"
    assert not is_own(tmp_path / "config.json")


def test_archives_and_own_checkpoints_stand_alone_and_all_others_belong_together(tiny_checkpoint: Path, tmp_path: Path):
    names = ("config.json", "model.safetensors", "own.safetensors", "model.zip")
    config, weights, own, archive = paths = [tmp_path / name for name in names]
    config.write_text("{}")
    weights.write_bytes((2).to_bytes(8, "little") + b"{}")
    shutil.copy(tiny_checkpoint, own)
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("config.json", "{}")
    assert as_sources(paths) == [[own], [archive], [config, weights]]
    assert as_sources([]) == []


def test_the_name_of_a_file_in_an_archive_is_bounded(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "model.zip", "w") as archive:
        archive.writestr("x" * 300, "")
    expected = r"^model\.zip: the name 'x+ is longer than 255 bytes$"
    with pytest.raises(CheckpointError, match=expected), open_source([tmp_path / "model.zip"]):
        pass


def test_arrays_of_numpy_are_no_archive_and_belong_to_the_files_around_them(tmp_path: Path) -> None:
    np.savez(tmp_path / "model.npz", Wemb=np.zeros(3))
    (tmp_path / "vocab.yml").write_text("a: 0")
    paths = [tmp_path / "model.npz", tmp_path / "vocab.yml"]
    assert as_sources(paths) == [paths]
