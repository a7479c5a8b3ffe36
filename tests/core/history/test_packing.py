"""Packed histories: without loss where that is promised, thin, read in any order, and refused if damaged."""

import errno
import gzip
import shutil
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from core.checkpoint import CheckpointError, load_checkpoint, save_checkpoint
from core.file_writing import NotWrittenError
from core.history import open_history, pack_history
from core.history.eight_bits import RoundedSnapshot, to_eight_bits
from core.history.snapshot_files import COMPRESSED, COMPRESSED_DIFFERENCE, EIGHT_BITS, LOG, shuffled
from tests.core.history.snapshot_files import STEPS, rewritten, weights


@pytest.fixture(scope="module")
def rounded(tmp_path_factory: pytest.TempPathFactory, run_history: Path) -> dict[int, RoundedSnapshot]:
    """Each snapshot of `run_history` rounded to 8 bits by itself."""
    path, run = tmp_path_factory.mktemp("exact") / "exact.safetensors", open_history(run_history)
    found: dict[int, RoundedSnapshot] = {}
    for step in STEPS:
        save_checkpoint(path, run.checkpoint(step).model, run.tokenizer, {"steps": step})
        found[step] = to_eight_bits(path)
    return found


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


def test_a_folder_has_the_same_snapshots_as_one_file(
    packed_folder: Path, history_file: Path, narrow_file: Path, tmp_path: Path
) -> None:
    """Also where it was put into an archive, and where the one file was unpacked into a folder."""
    packed, narrow = open_history(history_file), open_history(narrow_file)
    suffixes = (COMPRESSED, COMPRESSED_DIFFERENCE, COMPRESSED)
    names = [f"step-{step:08d}.safetensors{suffix}" for step, suffix in zip(STEPS, suffixes, strict=True)]
    assert sorted(path.name for path in packed_folder.parent.iterdir()) == ["tiny.history"]
    assert sorted(path.name for path in packed_folder.iterdir()) == [LOG, *names]
    shutil.make_archive(str(tmp_path / "of_folder"), "zip", packed_folder.parent, "tiny.history")
    shutil.unpack_archive(history_file, tmp_path / "of_file")
    shutil.unpack_archive(narrow_file, tmp_path / "of_narrow_file")
    expected = {history: list(map(history.checkpoint, STEPS)) for history in (packed, narrow)}
    for found, same in (
        (open_history(packed_folder), packed),
        (open_history(tmp_path / "of_folder.zip"), packed),
        (open_history(tmp_path / "of_file"), packed),
        (open_history(tmp_path / "of_narrow_file"), narrow),
    ):
        assert (found.steps, found.log, found.in_eight_bits) == (same.steps, same.log, same.in_eight_bits)
        for step, other in zip(STEPS, expected[same], strict=True):
            one = found.checkpoint(step)
            assert one.training == other.training
            assert all(map(torch.equal, weights(one.model), weights(other.model)))


def test_snapshots_of_a_folder_are_read_in_any_order(four_snapshots: Path, packed_four: Path) -> None:
    run, packed = open_history(four_snapshots), open_history(packed_four)
    expected = {step: weights(run.checkpoint(step).model) for step in run.steps}
    for step in (200, 0, 300, 100, 100, 200, 0):
        own, found = expected[step], weights(packed.checkpoint(step).model)
        assert all(map(torch.equal, own if step == 300 else [each.bfloat16().float() for each in own], found))


def test_a_folder_that_lost_a_snapshot_is_refused(packed_four: Path, tmp_path: Path) -> None:
    """The next one is a difference from it; the last one is not."""
    for lost in (0, 100):
        packed = tmp_path / str(lost)
        shutil.copytree(packed_four, packed)
        next(packed.glob(f"step-{lost:08d}*")).unlink()
        found = open_history(packed)
        message = (
            rf"^{lost}: step-00000{lost + 100}\S* is the difference from another snapshot than the one before it: "
        )
        with pytest.raises(CheckpointError, match=message):
            found.checkpoint(lost + 100)
        assert found.checkpoint(300).training["steps"] == 300


@pytest.fixture(scope="module")
def four_snapshots(run_history: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Snapshots of `run_history`, and one more between them. Do not modify it."""
    folder = tmp_path_factory.mktemp("runs") / "four"
    shutil.copytree(run_history / "history", folder)
    one, other = (load_checkpoint(folder / f"step-00000{step}.safetensors") for step in (100, 300))
    for own, last in zip(weights(one.model), weights(other.model), strict=True):
        own.data.lerp_(last, 0.5)
    save_checkpoint(folder / "step-00000200.safetensors", one.model, one.tokenizer, {"preset": "tiny", "steps": 200})
    return folder


@pytest.fixture(scope="module")
def packed_four(four_snapshots: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Them in a folder. Do not modify it: copy it."""
    path = tmp_path_factory.mktemp("packed") / "four"
    pack_history(four_snapshots, path)
    return path


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
        (  # the checksum
            lambda data: data[:-8] + bytes(4) + data[-4:],
            r"^damaged: step-00000300\S*\.gz is cut off or damaged: .*\(CRC check failed",
        ),
        (  # a block of a type that is not defined, behind the header
            lambda data: data[:10] + b"\xff" + data[11:],
            r"^damaged: step-00000300\S*\.gz is cut off or damaged: .*invalid block type",
        ),
        (lambda data: gzip.compress(b"no checkpoint"), r"^step-00000300\.safetensors \(13 bytes\) is not a "),
        (lambda data: gzip.compress(bytes(2**20)), r"^damaged: step-00000300\S* has more than 1000000 bytes, the most"),
    ],
)
def test_a_damaged_file_of_a_folder_is_refused(
    packed_folder: Path,
    tmp_path: Path,
    change: Callable[[bytes], bytes],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shutil.copytree(packed_folder, tmp_path / "damaged")
    path = tmp_path / "damaged" / f"step-00000300.safetensors{COMPRESSED}"
    path.write_bytes(change(path.read_bytes()))
    monkeypatch.setattr("core.history.snapshot_files.MAX_PACKED", 10**6)
    with pytest.raises(CheckpointError, match=message):
        open_history(tmp_path / "damaged")


def test_a_history_in_eight_bits_is_smaller_and_rounds_all_snapshots(
    run_history: Path, history_file: Path, narrow_file: Path
) -> None:
    run, packed = open_history(run_history), open_history(narrow_file)
    assert narrow_file.stat().st_size < 0.7 * history_file.stat().st_size  # the tokenizer is as long
    assert (packed.steps, packed.log) == (run.steps, run.log)
    assert packed.checkpoint(300).training["stored_as"] == "8 bits"
    for step in STEPS:
        for own, found in zip(*(weights(each.checkpoint(step).model) for each in (run, packed)), strict=True):
            assert torch.equal(found, own.bfloat16().float()) or (found - own).norm() < 0.03 * own.norm()


def test_snapshots_in_eight_bits_are_read_in_any_order(
    narrow_file: Path, rounded: dict[int, RoundedSnapshot], tmp_path: Path
) -> None:
    """They are differences; each is the snapshot that is rounded by itself."""
    packed, expected = open_history(narrow_file), dict[int, list[torch.Tensor]]()
    for step, snapshot in rounded.items():
        snapshot.write_checkpoint(tmp_path / "rounded.safetensors")
        expected[step] = weights(load_checkpoint(tmp_path / "rounded.safetensors").model)
    for step in (0, 300, 100, 100, 0, 300):
        assert all(map(torch.equal, expected[step], weights(packed.checkpoint(step).model)))


def test_whole_snapshots_in_eight_bits_are_read(
    narrow_file: Path, rounded: dict[int, RoundedSnapshot], tmp_path: Path
) -> None:
    """Earlier versions wrote no differences."""
    with zipfile.ZipFile(tmp_path / "whole.zip", "w") as archive:
        for step, snapshot in rounded.items():
            archive.writestr(f"step-{step:08d}.safetensors{EIGHT_BITS}", snapshot.to_bytes())
    whole, packed = open_history(tmp_path / "whole.zip"), open_history(narrow_file)
    assert whole.in_eight_bits
    for step in STEPS:
        found, other = whole.checkpoint(step), packed.checkpoint(step)
        assert all(map(torch.equal, weights(found.model), weights(other.model)))


def test_an_archive_that_lost_a_snapshot_is_refused(narrow_file: Path, tmp_path: Path) -> None:
    """The next one is a difference from it."""
    for lost, message in (
        (
            "100",
            r"^step-00000300\.safetensors\.8bit-difference is the difference from step-00000100\.safetensors, but ",
        ),
        ("000.", r"^step-00000100\S* is the difference from step-00000000\.safetensors, but comes after no other"),
    ):
        rewritten(
            narrow_file,
            tmp_path / "lost.zip",
            lambda name, data, lost=lost: [] if lost in name else [(name, data)],
        )
        with pytest.raises(CheckpointError, match=message):
            open_history(tmp_path / "lost.zip")


@pytest.mark.parametrize("last", [COMPRESSED, COMPRESSED_DIFFERENCE])
def test_snapshots_together_unpack_to_some_times_their_size(
    packed_folder: Path, tmp_path: Path, last: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Zeros: each snapshot alone is small enough, and a difference needs all before it."""
    monkeypatch.setattr("core.budget.FREE_BYTES", 5 * 2**20 // 2)
    folder = tmp_path / "bomb"
    folder.mkdir()
    for step in range(4):
        suffix = COMPRESSED_DIFFERENCE if step else COMPRESSED
        checksum = b"" if step == 0 else zlib.crc32(bytes(2**20)).to_bytes(4, "little")
        data = checksum + bytes(2**20)
        (folder / f"step-{step:08d}.safetensors{suffix}").write_bytes(gzip.compress(shuffled(data)))
    if last == COMPRESSED:
        (folder / "step-00000009.safetensors.shuffled.gz").write_bytes(gzip.compress(bytes(2**22)))
    with pytest.raises(
        CheckpointError, match=r"^bomb has \d+ bytes, and its snapshots up to step-0000000[29]\S* would unp"
    ):
        open_history(folder)
