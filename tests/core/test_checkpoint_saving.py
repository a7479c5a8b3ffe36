"""Saving survives what may happen: a full disk, a kill, a power cut."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from safetensors import SafetensorError

from core import checkpoint
from core.checkpoint import save_checkpoint, write_atomically
from core.model import Transformer
from core.tokenizer import SentencePieceTokenizer
from tests.core.checkpoints import Metadata, Tensors

ROOT = Path(checkpoint.__file__).parent.parent


@pytest.mark.parametrize("failing", ["save_file", "fsync", "replace"])
def test_a_failure_leaves_the_old_file(
    failing: str,
    tiny_model: Transformer,
    tokenizer: SentencePieceTokenizer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = tmp_path / "model.safetensors"
    save_checkpoint(path, tiny_model, tokenizer, {"save": "old"})
    old = path.read_bytes()

    def save_half(tensors: Tensors, temporary: Path, _: Metadata) -> None:
        temporary.write_bytes(b"half a file")
        raise SafetensorError("No space left on device")

    def fail(*_: object) -> None:
        raise OSError("No space left on device")

    if failing == "save_file":
        monkeypatch.setattr(checkpoint, "save_file", save_half)
    else:
        monkeypatch.setattr(os, failing, fail)
    with pytest.raises(OSError, match="No space left on device"):
        save_checkpoint(path, tiny_model, tokenizer, {"save": "new"})
    assert path.read_bytes() == old
    assert list(tmp_path.iterdir()) == [path], "no temporary file is left"


KILLED = """
import os, signal, sys, time
from pathlib import Path
from core.checkpoint import load_checkpoint, save_checkpoint

path = Path(sys.argv[1])
loaded = load_checkpoint(path)
for delay in range(8):
    saved, told = os.pipe()
    child = os.fork()
    if child == 0:
        for number in range(10**6):
            save_checkpoint(path, loaded.model, loaded.tokenizer, {"child": delay, "number": number})
            os.write(told, b".")
    os.read(saved, 1)
    time.sleep(delay * 0.0013)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    print(load_checkpoint(path).training["child"])
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs to fork")
def test_a_killed_process_leaves_a_whole_file(tiny_checkpoint: Path, tmp_path: Path) -> None:
    """A child saves over and over, and is killed a different moment after its first save, eight times."""
    path = tmp_path / "model.safetensors"
    path.write_bytes(tiny_checkpoint.read_bytes())
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(path)],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout.split() == list("01234567"), done.stderr


@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_who_may_read_it_is_the_users_choice(
    mask: int, mode: int, tiny_model: Transformer, tokenizer: SentencePieceTokenizer, tmp_path: Path
) -> None:
    before = os.umask(mask)
    try:
        save_checkpoint(tmp_path / "model.safetensors", tiny_model, tokenizer)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "model.safetensors").stat().st_mode) == mode


def test_a_folder_that_is_not_there(tiny_model: Transformer, tokenizer: SentencePieceTokenizer, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="missing"):
        save_checkpoint(tmp_path / "missing" / "model.safetensors", tiny_model, tokenizer)


def test_the_file_and_its_folder_are_flushed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The content before the new name, the name before the return; a file system that cannot flush a folder is no
    reason to fail.
    """
    events: list[str] = []
    replace_file = os.replace

    def fsync(descriptor: int) -> None:
        is_folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
        events.append("flush folder" if is_folder else "flush file")
        if is_folder:
            raise OSError("Invalid argument")

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "replace", lambda *names: (events.append("rename"), replace_file(*names)))
    write_atomically(tmp_path / "file", lambda temporary: temporary.write_text("content"))
    assert events == ["flush file", "rename", "flush folder"]
    assert (tmp_path / "file").read_text() == "content"
