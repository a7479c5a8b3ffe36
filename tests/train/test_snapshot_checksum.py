"""Changed bytes of a snapshot are noticed by everything of `train` that reads one."""

import hashlib
import shutil
from pathlib import Path

import pytest

from core.formats.checkpoint import CheckpointError
from tests.train.conftest import Fit
from train.__main__ import main
from train.card import record_scores
from train.snapshot_checksum import check_checksum, checksum_file, with_checksum


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, run_fit: Fit) -> Path:
    """A run with two snapshots and two of its history. Do not modify it."""
    folder = tmp_path_factory.mktemp("runs") / "finished"
    run_fit(folder, steps=3, snapshot_every=1, keep_snapshots=2, history=2)
    return folder


def change_weight(path: Path) -> None:
    """Change one byte of the weights, which stay finite."""
    content = bytearray(path.read_bytes())
    content[-4] ^= 1  # the lowest bits of the last number
    path.write_bytes(content)


def test_every_snapshot_has_its_checksum_and_dropped_ones_leave_none(finished: Path) -> None:
    snapshots = sorted(finished.rglob("*.safetensors"))
    assert len(snapshots) == 2 + 2 + 1  # of the run, of its history, and the best
    assert sorted(finished.rglob("*.sha256")) == sorted(map(checksum_file, snapshots))
    for path in snapshots:
        digest, name = checksum_file(path).read_text(encoding="utf-8").split()
        assert (digest, name) == (hashlib.sha256(path.read_bytes()).hexdigest(), path.name)
        check_checksum(path)


@pytest.mark.parametrize("command", ["average", "history", "fit --init", "evaluate"])
def test_a_changed_snapshot_is_refused_by_name(
    command: str, finished: Path, prepared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = shutil.copytree(finished, tmp_path / "run")
    path = (run / "history" if command == "history" else run / "snapshots") / "step-00000003.safetensors"
    change_weight(path)
    valid = [prepared / f"valid.{side}.txt" for side in ("source", "target")]
    arguments = {
        "average": ["average", str(run), "-o", str(tmp_path / "out.safetensors")],
        "history": ["history", str(run), "-o", str(tmp_path / "out.zip")],
        "fit --init": ["fit", "tiny", "--data", str(prepared), "--run", str(tmp_path / "new"), "--init", str(path)],
        "evaluate": ["evaluate", str(path), "--source", str(valid[0]), "--target", str(valid[1])],
    }[command]
    assert main([*arguments, "--device", "cpu"] if command == "fit --init" else arguments) == 1
    message = capsys.readouterr().err
    assert f"{path} is damaged: its checksum is not that of {path.name}.sha256; take another snapshot" in message


def test_a_copy_without_a_checksum_is_read_and_a_kill_leaves_none(finished: Path, tmp_path: Path) -> None:
    path = tmp_path / "copy.safetensors"
    shutil.copy(finished / "best.safetensors", path)
    check_checksum(path)
    checksum_file(path).write_text("0" * 64, encoding="utf-8")
    with pytest.raises(CheckpointError, match=r"copy\.safetensors is damaged: its checksum"):
        check_checksum(path)
    with pytest.raises(KeyboardInterrupt), with_checksum(path):
        raise KeyboardInterrupt
    assert not checksum_file(path).exists()


def test_recorded_scores_change_the_checksum(finished: Path, tmp_path: Path) -> None:
    for name in ("best.safetensors", "best.safetensors.sha256"):
        shutil.copy(finished / name, tmp_path / name)
    path = tmp_path / "best.safetensors"
    record_scores(path, [])
    assert path.read_bytes() != (finished / path.name).read_bytes()
    check_checksum(path)
    change_weight(path)
    with pytest.raises(CheckpointError, match="its checksum is not that of"):
        record_scores(path, [])
