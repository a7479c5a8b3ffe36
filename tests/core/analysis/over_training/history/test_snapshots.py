"""Histories: opened one snapshot at a time, and refused if hostile."""

import errno
import os
import random
import shutil
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from core.analysis.over_training.history import open_history, pack_history, snapshots
from core.analysis.over_training.history.eight_bits import RoundedSnapshot, to_eight_bits
from core.analysis.over_training.history.snapshot_files import DIFFERENCE, EIGHT_BITS, LOG
from core.files import budget
from core.files.file_writing import NotWrittenError
from core.formats.checkpoint import CheckpointError, load_checkpoint, save_checkpoint
from core.formats.opening import own_file
from core.formats.source_files import open_source
from core.model import Transformer
from core.model.preset_configs import PRESETS
from core.text.tokenizer import SentencePieceTokenizer
from tests.core.analysis.over_training.history.snapshot_files import STEPS, rewritten, weights
from tests.damage import damaged


def test_a_run_its_snapshots_and_an_archive_of_them_are_the_same_history(run_history: Path, tmp_path: Path) -> None:
    archive = tmp_path / "plain.zip"
    with zipfile.ZipFile(archive, "w") as file:
        for path in (run_history / "history").iterdir():
            file.write(path, f"run/history/{path.name}")
    for source in (run_history, run_history / "history", archive):
        found = open_history(source)
        assert found.steps == STEPS
        for step in STEPS:
            own = load_checkpoint(run_history / "history" / f"step-{step:08d}.safetensors")
            assert all(map(torch.equal, weights(own.model), weights(found.translator(step).model)))
    assert [line["step"] for line in open_history(run_history).log] == [25, 25, 300, 300]
    assert open_history(archive).log == ()


def test_steps_in_a_name_may_be_those_of_all_runs(run_history: Path, tmp_path: Path) -> None:
    shutil.copytree(run_history / "history", tmp_path / "runs")
    last = load_checkpoint(tmp_path / "runs" / "step-00000300.safetensors")

    def save(step: int, **training: object) -> None:
        path = tmp_path / "runs" / f"step-{step:08d}.safetensors"
        save_checkpoint(path, last.model, last.tokenizer, training)

    before = {"steps": 300, "init": {"steps": 50}}
    save(450, steps=100, init=before)
    assert open_history(tmp_path / "runs").steps == (*STEPS, 450)
    save(100, steps=100, init=before)  # the run's own steps
    assert open_history(tmp_path / "runs").checkpoint(100).training["steps"] == 100
    save(451, steps=100, init=before)
    message = r"says that it was trained for 100 steps, 450 with the runs before, its name says 451$"
    with pytest.raises(CheckpointError, match=message):
        open_history(tmp_path / "runs")
    save(451, steps=100, init={"steps": "many"})
    with pytest.raises(CheckpointError, match=r"says that it was trained for 100 steps, its name says 451$"):
        open_history(tmp_path / "runs")


def test_a_digest_is_of_the_files(run_history: Path, history_file: Path, tmp_path: Path) -> None:
    shutil.copy(history_file, tmp_path / "again.zip")
    assert open_history(tmp_path / "again.zip").digest == open_history(history_file).digest
    assert open_history(run_history).digest != open_history(history_file).digest


def test_few_snapshots_are_in_memory(run_history: Path, history_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[str] = []

    def load(path: Path) -> object:
        loaded.append(path.name)
        return load_checkpoint(path)

    monkeypatch.setattr(snapshots, "load_checkpoint", load)
    monkeypatch.setattr(snapshots, "KEPT", 2)
    found = open_history(history_file)
    assert loaded == ["step-00000300.safetensors"]
    for step in (300, 0, 0, 100, 0, 300):
        found.translator(step)
    assert loaded[1:] == [f"step-{step:08d}.safetensors" for step in (0, 100, 300)]


def test_a_run_prefers_its_history_to_its_snapshots(run_history: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(run_history, run)
    (run / "snapshots").mkdir()
    shutil.copy(run / "history" / "step-00000300.safetensors", run / "snapshots" / "step-00000300.safetensors")
    assert open_history(run).steps == STEPS
    shutil.rmtree(run / "history")
    with pytest.raises(CheckpointError, match=r"^run has 1 snapshots named as .*expected 2 to 200"):
        open_history(run)


def test_what_is_no_history_is_refused(tiny_checkpoint: Path, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"^there is no .*none: give a run's folder"):
        open_history(tmp_path / "none")
    with pytest.raises(CheckpointError, match=r"^tiny.safetensors is not a history: give a run's folder"):
        open_history(tiny_checkpoint)
    os.mkfifo(tmp_path / "pipe.zip")
    for path in (tmp_path / "pipe.zip", "/dev/zero"):  # to read them would never end
        with pytest.raises(CheckpointError, match=r"is neither a file nor a folder: give a run's folder, or a zip"):
            open_history(path)


def test_an_incomplete_download_is_told_from_another_file(history_file: Path, tmp_path: Path) -> None:
    path = tmp_path / "cut.zip"
    path.write_bytes(history_file.read_bytes()[:-1000])
    with pytest.raises(CheckpointError, match=r"^cut.zip is a zip archive without its end: copy or download it again$"):
        open_history(path)


def test_other_pages_say_where_a_packed_history_opens(history_file: Path, tmp_path: Path) -> None:
    shutil.unpack_archive(history_file, tmp_path / "unpacked")
    for path in (history_file, tmp_path / "unpacked"):
        message = rf"^{path.name} has the snapshots .*on the page Over training$"
        with open_source([path]) as files, pytest.raises(CheckpointError, match=message):
            own_file(files)


LAST = f"step-00000300.safetensors{DIFFERENCE}"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda name, data: [(f"../{name}", data)], r"the name '\.\./.*' leads out of the archive"),
        (lambda name, data: [(f"a/{name}", data), (f"b/{name}", data)], r"has two files named"),
        (lambda name, data: [(name, data)] if name in (LAST, LOG) else [], r"has 1 snapshots named as"),
        (
            lambda name, data: [(name, data)] + [("step-300.safetensors", data)] * (name == LAST),
            r"has two snapshots of step",
        ),
        (lambda name, data: [(name, data[: len(data) // 2] if name == LAST else data)], r"step-00000300"),
        (lambda name, data: [(name.replace("300", "301"), data)], r"was trained for 300 steps, its name says 301"),
        (lambda name, data: [(name, b'{"kind": 1}\n' if name == LOG else data)], r"log\.jsonl, line 1 has no kind"),
        (lambda name, data: [(name, bytes(2**24) if name == LAST else data)], r"would unpack to"),
    ],
)
def test_damaged_and_hostile_archives_are_refused(
    history_file: Path,
    tmp_path: Path,
    change: Callable[[str, bytes], list[tuple[str, bytes]]],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(budget, "FREE_BYTES", 0)
    with pytest.raises(CheckpointError, match=message):
        open_history(rewritten(history_file, tmp_path / "hostile.zip", change))


def test_a_large_snapshot_in_eight_bits_is_not_read(
    history_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.unpack_archive(history_file, tmp_path)
    monkeypatch.setattr("core.analysis.over_training.history.snapshot_files.MAX_PACKED", 1000)
    for source in (history_file, tmp_path):
        with pytest.raises(CheckpointError, match=r"step-00000000.*has more than 1000 bytes, the most that is read$"):
            open_history(source)


def test_a_long_log_is_not_read(history_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshots, "MAX_LOG_BYTES", 10)
    with pytest.raises(CheckpointError, match=r"log\.jsonl has more than 10 bytes"):
        open_history(history_file)


def test_numbers_of_the_log_are_finite(history_file: Path, tmp_path: Path) -> None:
    values = '"nll": NaN', '"nll": Infinity', '"loss": 1.0'
    log = "".join(f'{{"kind": "train", "step": 1, {value}}}\n' for value in values).encode()
    path = rewritten(history_file, tmp_path / "log.zip", lambda name, data: [(name, log if name == LOG else data)])
    assert open_history(path).log == ()


def test_any_byte_may_be_damaged(history_file: Path, tmp_path: Path) -> None:
    path, data, refused = tmp_path / "damaged.zip", history_file.read_bytes(), 0
    for seed in range(40):  # the directory is at the end
        path.write_bytes(damaged(data, random.Random(seed), start=-400 if seed % 4 else 0))
        try:
            found = open_history(path)
            for step in found.steps:
                found.translator(step)
        except CheckpointError:
            refused += 1
    assert refused > 20


def test_a_snapshot_of_another_model_is_refused(run_history: Path, tmp_path: Path, tokenizer: SentencePieceTokenizer):
    shutil.copytree(run_history, tmp_path / "run")
    other = Transformer(replace(PRESETS["tiny"], vocab_size=tokenizer.vocab_size, num_heads=2))
    path = tmp_path / "run" / "history" / "step-00000100.safetensors"
    save_checkpoint(path, other, tokenizer, {"steps": 100})
    found = open_history(tmp_path / "run")
    with pytest.raises(CheckpointError, match=r"^run: step 100 has another configuration or tokenizer than step 300"):
        found.translator(100)
    with pytest.raises(ValueError, match=r"^run has no snapshot of step 7: it has those of 0, 100, 300$"):
        found.translator(7)


def test_a_link_out_of_the_folder_is_refused(run_history: Path, tmp_path: Path) -> None:
    shutil.copytree(run_history, tmp_path / "run")
    (tmp_path / "run" / "history" / "step-00000400.safetensors").symlink_to(run_history / "log.jsonl")
    with pytest.raises(CheckpointError, match=r"is a link to a file outside the folder"):
        open_history(tmp_path / "run")


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


def test_a_file_is_written_whole_or_not_at_all(run_history: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(NotWrittenError, match=r"new\.zip cannot be written \(No such file or directory\)"):
        pack_history(run_history, tmp_path / "none" / "new.zip")

    def full(*arguments: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("core.analysis.over_training.history.snapshots.zipfile.ZipFile.writestr", full)
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
