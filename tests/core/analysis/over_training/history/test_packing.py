"""Packed histories: rounded, thin, read in any order, and refused if damaged."""

import errno
import shutil
import zipfile
from pathlib import Path

import pytest
import torch

from core.analysis.over_training.history import open_history, pack_history
from core.analysis.over_training.history.eight_bits import RoundedSnapshot, to_eight_bits
from core.analysis.over_training.history.snapshot_files import DIFFERENCE, EIGHT_BITS, LOG
from core.files.file_writing import NotWrittenError
from core.formats.checkpoint import CheckpointError, load_checkpoint, save_checkpoint
from tests.core.analysis.over_training.history.snapshot_files import STEPS, rewritten, weights


@pytest.fixture(scope="module")
def rounded(tmp_path_factory: pytest.TempPathFactory, run_history: Path) -> dict[int, RoundedSnapshot]:
    """Each snapshot of `run_history` rounded to 8 bits by itself."""
    path, run = tmp_path_factory.mktemp("exact") / "exact.safetensors", open_history(run_history)
    found: dict[int, RoundedSnapshot] = {}
    for step in STEPS:
        save_checkpoint(path, run.checkpoint(step).model, run.tokenizer, {"steps": step})
        found[step] = to_eight_bits(path)
    return found


def test_a_packed_history_is_smaller_and_rounds_all_snapshots(run_history: Path, history_file: Path) -> None:
    run, packed = open_history(run_history), open_history(history_file)
    of_run = sum(path.stat().st_size for path in (run_history / "history").iterdir())
    assert history_file.stat().st_size < 0.6 * of_run  # the tokenizer is as long
    assert (packed.steps, packed.log) == (run.steps, run.log)
    assert packed.in_eight_bits
    assert not run.in_eight_bits
    assert packed.checkpoint(0).training == {"preset": "tiny", "steps": 0, "stored_as": "8 bits"}
    for step in STEPS:
        for own, found in zip(*(weights(each.checkpoint(step).model) for each in (run, packed)), strict=True):
            assert torch.equal(found, own.bfloat16().float()) or (found - own).norm() < 0.02 * own.norm()


def test_a_packed_history_is_one_file(run_history: Path, history_file: Path, tmp_path: Path) -> None:
    """Whose files may be unpacked into a folder."""
    suffixes = (EIGHT_BITS, DIFFERENCE, DIFFERENCE)
    names = [f"step-{step:08d}.safetensors{suffix}" for step, suffix in zip(STEPS, suffixes, strict=True)]
    with zipfile.ZipFile(history_file) as archive:
        assert archive.namelist() == [*names, LOG]
    shutil.unpack_archive(history_file, tmp_path / "unpacked")
    packed, unpacked = open_history(history_file), open_history(tmp_path / "unpacked")
    assert (unpacked.steps, unpacked.log, unpacked.in_eight_bits) == (packed.steps, packed.log, True)
    for step in STEPS:
        one, other = packed.checkpoint(step), unpacked.checkpoint(step)
        assert one.training == other.training
        assert all(map(torch.equal, weights(one.model), weights(other.model)))
    with pytest.raises(ValueError, match=r"run\.history must end in \.zip: a packed history is one file$"):
        pack_history(run_history, tmp_path / "run.history")
    assert [path.name for path in tmp_path.iterdir()] == ["unpacked"]


def test_a_file_is_written_whole_or_not_at_all(
    run_history: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(NotWrittenError, match=r"new\.zip cannot be written \(No such file or directory\)"):
        pack_history(run_history, tmp_path / "none" / "new.zip")

    def full(*arguments: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("core.analysis.over_training.history.packing.zipfile.ZipFile.writestr", full)
    with pytest.raises(NotWrittenError, match=r"new\.zip cannot be written \(No space left on device\)"):
        pack_history(run_history, tmp_path / "new.zip")
    assert list(tmp_path.iterdir()) == []


def test_snapshots_in_eight_bits_are_read_in_any_order(
    history_file: Path, rounded: dict[int, RoundedSnapshot], tmp_path: Path
) -> None:
    """They are differences; each is the snapshot that is rounded by itself."""
    packed, expected = open_history(history_file), dict[int, list[torch.Tensor]]()
    for step, snapshot in rounded.items():
        snapshot.write_checkpoint(tmp_path / "rounded.safetensors")
        expected[step] = weights(load_checkpoint(tmp_path / "rounded.safetensors").model)
    for step in (0, 300, 100, 100, 0, 300):
        assert all(map(torch.equal, expected[step], weights(packed.checkpoint(step).model)))


def test_snapshots_in_eight_bits_may_all_be_whole(
    history_file: Path, rounded: dict[int, RoundedSnapshot], tmp_path: Path
) -> None:
    with zipfile.ZipFile(tmp_path / "whole.zip", "w") as archive:
        for step, snapshot in rounded.items():
            archive.writestr(f"step-{step:08d}.safetensors{EIGHT_BITS}", snapshot.to_bytes())
    whole, packed = open_history(tmp_path / "whole.zip"), open_history(history_file)
    assert whole.in_eight_bits
    for step in STEPS:
        found, other = whole.checkpoint(step), packed.checkpoint(step)
        assert all(map(torch.equal, weights(found.model), weights(other.model)))


def test_an_archive_that_lost_a_snapshot_is_refused(history_file: Path, tmp_path: Path) -> None:
    """The next one is a difference from it."""
    for lost, next_one in (("100", "step-00000300"), ("000.", "step-00000100")):
        path = tmp_path / f"{next_one}.zip"
        rewritten(history_file, path, lambda name, data, lost=lost: [] if lost in name else [(name, data)])
        with pytest.raises(CheckpointError, match=rf"^{next_one}\S* is the difference from step-\S*{lost}"):
            open_history(path)
