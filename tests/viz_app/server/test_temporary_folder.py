"""Temporary files of the server: gone with it, or removed by the next one."""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from viz_app.server.launch import running_app
from viz_app.server.temporary_folder import PREFIX, TemporaryFolder, remove_leftovers

HOLDER = "from viz_app.server.temporary_folder import *; print(TemporaryFolder().path, flush=True); input()"


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


@pytest.fixture
def holder() -> Iterator[tuple["subprocess.Popen[str]", Path]]:
    """Another process, and its folder with a file."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        folder = Path(process.stdout.readline().strip())
        (folder / "copy").write_bytes(b"1")
        yield process, folder
        process.kill()


def test_all_temporary_files_are_in_the_folder_until_it_is_removed(temporary: Path) -> None:
    folder = TemporaryFolder()
    copy = Path(tempfile.mkdtemp())
    (copy / "model.safetensors").write_bytes(b"1")
    assert copy.parent == folder.path
    folder.remove()
    folder.remove()
    assert list(temporary.iterdir()) == []
    assert tempfile.gettempdir() == str(temporary)


def test_the_folder_of_a_killed_process_is_removed_and_that_of_a_living_one_is_not(
    holder: tuple["subprocess.Popen[str]", Path], temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    process, folder = holder
    own = TemporaryFolder()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    (temporary / "headlight-other").mkdir()  # of another program
    (temporary / f"{PREFIX}link").symlink_to(temporary / "headlight-other")
    remove_leftovers()
    assert (folder / "copy").exists()
    process.kill()
    process.wait()
    remove_leftovers()
    assert not folder.exists()
    assert own.path.exists()
    assert (temporary / "headlight-other").exists()
    own.remove()


def test_a_process_that_ends_takes_its_folder_along(holder: tuple["subprocess.Popen[str]", Path]) -> None:
    process, folder = holder
    process.communicate("\n")
    assert process.returncode == 0
    assert not folder.exists()


def test_a_server_that_is_terminated_leaves_nothing(tiny_checkpoint: Path, temporary: Path) -> None:
    with running_app(tiny_checkpoint):
        (folder,) = temporary.glob(f"{PREFIX}*")
        (folder / "copy").write_bytes(b"1")
    assert list(temporary.iterdir()) == []
