"""Packed histories: without loss where that is promised, thin, read in any order, and refused if damaged."""

import errno
import gzip
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from core.checkpoint import CheckpointError, load_checkpoint, save_checkpoint
from core.file_writing import NotWrittenError
from core.history import open_history, pack_history, snapshots
from core.history.eight_bits import to_eight_bits
from core.history.snapshots import COMPRESSED, COMPRESSED_DIFFERENCE, EIGHT_BITS, LOG
from tests.core.history.snapshot_files import STEPS, rewritten, weights


def test_a_packed_history_keeps_the_last_snapshot_exactly_and_rounds_the_others(
    run_history: Path, history_file: Path
) -> None:
    run, packed = open_history(run_history), open_history(history_file)
    assert (packed.steps, packed.log) == (run.steps, run.log)
    for step in STEPS:
        own, found = weights(run.checkpoint(step).model), weights(packed.checkpoint(step).model)
        expected = own if step == STEPS[-1] else [each.bfloat16().float() for each in own]
        assert all(map(torch.equal, expected, found))
    assert packed.checkpoint(0).training == {"preset": "tiny", "steps": 0, "stored_as": "bfloat16"}


def test_a_folder_has_the_same_snapshots_as_one_file(run_history: Path, history_file: Path, tmp_path: Path) -> None:
    """Also where it was put into an archive, and where the one file was unpacked into a folder."""
    folder, packed = pack_history(run_history, tmp_path / "tiny.history"), open_history(history_file)
    suffixes = (COMPRESSED, COMPRESSED_DIFFERENCE, COMPRESSED)
    names = [f"step-{step:08d}.safetensors{suffix}" for step, suffix in zip(STEPS, suffixes, strict=True)]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["tiny.history"]
    assert sorted(path.name for path in (tmp_path / "tiny.history").iterdir()) == [LOG, *names]
    shutil.make_archive(str(tmp_path / "of_folder"), "zip", tmp_path, "tiny.history")
    shutil.unpack_archive(history_file, tmp_path / "of_file")
    pack_history(run_history, tmp_path / "narrow.zip", eight_bits=True)
    shutil.unpack_archive(tmp_path / "narrow.zip", tmp_path / "of_narrow_file")
    for found, same in (
        (folder, packed),
        (open_history(tmp_path / "of_folder.zip"), packed),
        (open_history(tmp_path / "of_file"), packed),
        (open_history(tmp_path / "of_narrow_file"), open_history(tmp_path / "narrow.zip")),
    ):
        assert (found.steps, found.log, found.in_eight_bits) == (same.steps, same.log, same.in_eight_bits)
        for step in STEPS:
            one, other = found.checkpoint(step), same.checkpoint(step)
            assert one.training == other.training
            assert all(map(torch.equal, weights(one.model), weights(other.model)))


def test_snapshots_of_a_folder_are_read_in_any_order(four_snapshots: Path, tmp_path: Path) -> None:
    run, packed = open_history(four_snapshots), pack_history(four_snapshots, tmp_path / "packed")
    for step in (200, 0, 300, 100, 100, 200, 0):
        own, found = weights(run.checkpoint(step).model), weights(packed.checkpoint(step).model)
        assert all(map(torch.equal, own if step == 300 else [each.bfloat16().float() for each in own], found))


def test_a_folder_that_lost_a_snapshot_is_refused(four_snapshots: Path, tmp_path: Path) -> None:
    """The next one is a difference from it; the last one is not."""
    for lost in (0, 100):
        packed = tmp_path / str(lost)
        pack_history(four_snapshots, packed)
        next(packed.glob(f"step-{lost:08d}*")).unlink()
        found = open_history(packed)
        message = (
            rf"^{lost}: step-00000{lost + 100}\S* is the difference from another snapshot than the one before it: "
        )
        with pytest.raises(CheckpointError, match=message):
            found.checkpoint(lost + 100)
        assert found.checkpoint(300).training["steps"] == 300


@pytest.fixture
def four_snapshots(run_history: Path, tmp_path: Path) -> Path:
    """Snapshots of `run_history`, and one more between them."""
    folder = tmp_path / "four"
    shutil.copytree(run_history / "history", folder)
    one, other = (load_checkpoint(folder / f"step-00000{step}.safetensors") for step in (100, 300))
    for own, last in zip(weights(one.model), weights(other.model), strict=True):
        own.data.lerp_(last, 0.5)
    save_checkpoint(folder / "step-00000200.safetensors", one.model, one.tokenizer, {"preset": "tiny", "steps": 200})
    return folder


def test_a_folder_is_written_to_a_new_place_or_not_at_all(
    run_history: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "there").mkdir()
    with pytest.raises(ValueError, match=r"there exists already: give a new folder, or a file that ends in \.zip$"):
        pack_history(run_history, tmp_path / "there")
    with pytest.raises(ValueError, match=r"narrow must end in \.zip: snapshots in 8 bits are differences"):
        pack_history(run_history, tmp_path / "narrow", eight_bits=True)
    with pytest.raises(
        NotWrittenError, match=r"none/new cannot be written \(No such file or directory\): give another"
    ):
        pack_history(run_history, tmp_path / "none" / "new")

    def full(data: bytes, **options: object) -> bytes:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("core.history.packing.gzip.compress", full)
    with pytest.raises(NotWrittenError, match=r"new cannot be written \(No space left on device\): free disk space"):
        pack_history(run_history, tmp_path / "new")
    assert [path.name for path in tmp_path.iterdir()] == ["there"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda data: data[:-100],
            r"^damaged: step-00000300\S*\.gz is cut off or damaged: copy or download it again \(",
        ),
        (lambda data: b"x" + data[1:], r"^damaged: step-00000300\S*\.gz is cut off or damaged: copy or download it"),
        (lambda data: data[:99] + bytes(9) + data[108:], r"^damaged: step-00000300\S*\.gz is cut off or damaged: "),
        (lambda data: gzip.compress(b"no checkpoint"), r"^step-00000300\.safetensors \(13 bytes\) is not a "),
        (lambda data: gzip.compress(bytes(2**20)), r"^damaged: step-00000300\S* has more than 1000000 bytes, the most"),
    ],
)
def test_a_damaged_file_of_a_folder_is_refused(
    run_history: Path,
    tmp_path: Path,
    change: Callable[[bytes], bytes],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pack_history(run_history, tmp_path / "damaged")
    path = tmp_path / "damaged" / f"step-00000300.safetensors{COMPRESSED}"
    path.write_bytes(change(path.read_bytes()))
    monkeypatch.setattr(snapshots, "MAX_PACKED", 10**6)
    with pytest.raises(CheckpointError, match=message):
        open_history(tmp_path / "damaged")


def test_a_history_in_eight_bits_is_smaller_and_rounds_all_snapshots(
    run_history: Path, history_file: Path, tmp_path: Path
) -> None:
    run, packed = open_history(run_history), pack_history(run_history, tmp_path / "narrow.zip", eight_bits=True)
    assert (tmp_path / "narrow.zip").stat().st_size < 0.7 * history_file.stat().st_size  # the tokenizer is as long
    assert (packed.steps, packed.log) == (run.steps, run.log)
    assert packed.checkpoint(300).training["stored_as"] == "8 bits"
    for step in STEPS:
        for own, found in zip(*(weights(each.checkpoint(step).model) for each in (run, packed)), strict=True):
            assert torch.equal(found, own.bfloat16().float()) or (found - own).norm() < 0.03 * own.norm()


def test_snapshots_in_eight_bits_are_read_in_any_order(run_history: Path, tmp_path: Path) -> None:
    """They are differences; each is the snapshot that is rounded by itself."""
    packed, run = pack_history(run_history, tmp_path / "narrow.zip", eight_bits=True), open_history(run_history)
    for step in (0, 300, 100, 100, 0, 300):
        save_checkpoint(tmp_path / "exact", run.checkpoint(step).model, run.tokenizer, {"steps": step})
        to_eight_bits(tmp_path / "exact").write_checkpoint(tmp_path / "rounded.safetensors")
        own, found = load_checkpoint(tmp_path / "rounded.safetensors"), packed.checkpoint(step)
        assert all(map(torch.equal, weights(own.model), weights(found.model)))


def test_whole_snapshots_in_eight_bits_are_read(run_history: Path, tmp_path: Path) -> None:
    """Earlier versions wrote no differences."""
    run = open_history(run_history)
    with zipfile.ZipFile(tmp_path / "whole.zip", "w") as archive:
        for step in STEPS:
            save_checkpoint(tmp_path / "exact", run.checkpoint(step).model, run.tokenizer, {"steps": step})
            archive.writestr(f"step-{step:08d}.safetensors{EIGHT_BITS}", to_eight_bits(tmp_path / "exact").to_bytes())
    whole, packed = (
        open_history(tmp_path / "whole.zip"),
        pack_history(run_history, tmp_path / "narrow.zip", eight_bits=True),
    )
    assert whole.in_eight_bits
    for step in STEPS:
        found, other = whole.checkpoint(step), packed.checkpoint(step)
        assert all(map(torch.equal, weights(found.model), weights(other.model)))


def test_an_archive_that_lost_a_snapshot_is_refused(run_history: Path, tmp_path: Path) -> None:
    """The next one is a difference from it."""
    pack_history(run_history, tmp_path / "narrow.zip", eight_bits=True)
    for lost, message in (
        (
            "100",
            r"^step-00000300\.safetensors\.8bit-difference is the difference from step-00000100\.safetensors, but ",
        ),
        ("000.", r"^step-00000100\S* is the difference from step-00000000\.safetensors, but comes after no other"),
    ):
        rewritten(
            tmp_path / "narrow.zip",
            tmp_path / "lost.zip",
            lambda name, data, lost=lost: [] if lost in name else [(name, data)],
        )
        with pytest.raises(CheckpointError, match=message):
            open_history(tmp_path / "lost.zip")
