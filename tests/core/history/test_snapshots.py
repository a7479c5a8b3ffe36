"""Histories: opened one snapshot at a time, packed without loss where that is promised, and refused if hostile."""

import errno
import gzip
import random
import shutil
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from core.checkpoint import CheckpointError, load_checkpoint, save_checkpoint
from core.file_writing import NotWrittenError
from core.formats import source_files
from core.formats.opening import own_file
from core.formats.source_files import open_source
from core.history import open_history, pack_history, snapshots
from core.history.eight_bits import to_eight_bits
from core.history.snapshots import COMPRESSED, COMPRESSED_DIFFERENCE, EIGHT_BITS, LOG, SHUFFLED, shuffled, unshuffled
from core.model import Transformer
from core.preset_configs import PRESETS
from core.tokenizer import SentencePieceTokenizer
from tests.damage import damaged

STEPS = (0, 100, 300)


def weights(model: Transformer) -> list[torch.Tensor]:
    return [parameter for _, parameter in model.named_parameters()]


@given(st.binary())
@settings(max_examples=30)
def test_shuffling_is_undone(data: bytes) -> None:
    assert unshuffled(shuffled(data)) == data
    assert shuffled(data)[: (len(data) + 1) // 2] == bytes(data[place] for place in range(0, len(data), 2))


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


def test_an_incomplete_download_is_told_from_another_file(history_file: Path, tmp_path: Path) -> None:
    path = tmp_path / "cut.zip"
    path.write_bytes(history_file.read_bytes()[:-1000])
    with pytest.raises(CheckpointError, match=r"^cut.zip is a zip archive without its end: copy or download it again$"):
        open_history(path)


def test_other_pages_say_where_a_packed_history_opens(run_history: Path, history_file: Path, tmp_path: Path) -> None:
    pack_history(run_history, tmp_path / "narrow.zip", eight_bits=True)
    pack_history(run_history, tmp_path / "folder")
    for path in (history_file, tmp_path / "narrow.zip", tmp_path / "folder"):
        message = rf"^{path.name} has the snapshots .*on the page Over training$"
        with open_source([path]) as files, pytest.raises(CheckpointError, match=message):
            own_file(files)


def rewritten(source: Path, target: Path, change: Callable[[str, bytes], list[tuple[str, bytes]]]) -> Path:
    """Copy an archive with other entries in place of each."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            for entry in change(name, old.read(name)):
                new.writestr(*entry)
    return target


LAST = f"step-00000300.safetensors{SHUFFLED}"


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
        (lambda name, data: [(name, b'{"kind": 1}\n' if name == LOG else data)], r"log\.jsonl cannot be read"),
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
    monkeypatch.setattr(source_files, "FREE_BYTES", 0)
    with pytest.raises(CheckpointError, match=message):
        open_history(rewritten(history_file, tmp_path / "hostile.zip", change))


def test_a_large_shuffled_snapshot_is_not_read(history_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshots, "MAX_PACKED", 1000)
    with pytest.raises(CheckpointError, match=r"step-00000300.*has more than 1000 bytes, the most that is read$"):
        open_history(history_file)


def test_a_long_log_is_not_read(history_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshots, "MAX_SMALL_FILE", 10)
    with pytest.raises(CheckpointError, match=r"log\.jsonl has more than 10 bytes"):
        open_history(history_file)


def test_numbers_of_the_log_are_finite(history_file: Path, tmp_path: Path) -> None:
    values = '"nll": NaN', '"nll": "x"', '"loss": 1.0'
    log = "".join(f'{{"kind": "train", "step": 1, {value}}}\n' for value in values).encode()
    path = rewritten(history_file, tmp_path / "log.zip", lambda name, data: [(name, log if name == LOG else data)])
    assert open_history(path).log == ()


def test_any_byte_may_be_damaged(history_file: Path, tmp_path: Path) -> None:
    path, data, refused = tmp_path / "damaged.zip", history_file.read_bytes(), 0
    for seed in range(60):  # the directory is at the end
        path.write_bytes(damaged(data, random.Random(seed), start=-400 if seed % 4 else 0))
        try:
            found = open_history(path)
            for step in found.steps:
                found.translator(step)
        except CheckpointError:
            refused += 1
    assert refused > 30


def test_a_snapshot_of_another_model_is_refused(
    run_history: Path, tmp_path: Path, tokenizer: SentencePieceTokenizer
) -> None:
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
