"""Saving is atomic: a full disk, a kill or a power cut leaves a whole file."""

import os
import stat
import time
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext
from pathlib import Path

import pytest
from safetensors import SafetensorError

from core.files.file_writing import NotWrittenError, write_atomically
from core.formats import checkpoint
from core.formats.checkpoint import load_checkpoint, save_checkpoint
from core.model import Transformer
from core.text.tokenizer import SentencePieceTokenizer
from tests.core.checkpoints import Metadata, Tensors


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


def save_repeatedly(path: Path, child: int, saved: Connection) -> None:
    loaded = load_checkpoint(path)
    for number in range(10**6):
        save_checkpoint(path, loaded.model, loaded.tokenizer, {"child": child, "number": number})
        saved.send(number)


def test_a_killed_process_leaves_a_whole_file(tiny_checkpoint: Path, tmp_path: Path, processes: ForkServerContext):
    """Kill a process that saves over and over, at different times after its first save."""
    path = tmp_path / "model.safetensors"
    path.write_bytes(tiny_checkpoint.read_bytes())
    for child in range(5):
        ours, theirs = processes.Pipe()
        process = processes.Process(target=save_repeatedly, args=(path, child, theirs))
        process.start()
        assert ours.poll(60)
        time.sleep(child * 0.002)
        process.kill()
        process.join()
        assert load_checkpoint(path).training["child"] == child


@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_file_permissions_follow_the_umask(
    mask: int, mode: int, tiny_model: Transformer, tokenizer: SentencePieceTokenizer, tmp_path: Path
) -> None:
    before = os.umask(mask)
    try:
        save_checkpoint(tmp_path / "model.safetensors", tiny_model, tokenizer)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "model.safetensors").stat().st_mode) == mode


def test_a_folder_that_is_not_there(tiny_model: Transformer, tokenizer: SentencePieceTokenizer, tmp_path: Path) -> None:
    with pytest.raises(NotWrittenError, match=r"missing/model.safetensors cannot be written \(No such file"):
        save_checkpoint(tmp_path / "missing" / "model.safetensors", tiny_model, tokenizer)


def test_the_file_and_its_folder_are_flushed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Content is flushed before the rename, the rename before the return, if the file system can flush folders."""
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
