import contextlib
import io
import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch

import train.loop
import train.runs.checkpointing
import train.runs.training_state
from core.formats.checkpoint import load_checkpoint
from core.model import Transformer
from core.model.preset_configs import PRESETS
from core.model.schedule import learning_rate
from core.text.tokenizer import SentencePieceTokenizer
from tests.full_disk import no_file_over
from tests.train.conftest import Fit, parameters
from train.data.batches import Batches
from train.data.token_shards import DataError
from train.recipe import Recipe
from train.runs.run_folder import RunFolder
from train.runs.run_record import RunFolderError
from train.runs.training_state import Training


def log_of(folder: Path, kind: str) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in (folder / "log.jsonl").read_text(encoding="utf-8").splitlines()]
    return [line for line in lines if line["kind"] == kind]


class Logged(NamedTuple):
    """A run, its model, and its output on stderr."""

    run: RunFolder
    model: Transformer
    printed: str


@pytest.fixture(scope="module")
def logged(tmp_path_factory: pytest.TempPathFactory, run_fit: Fit) -> Logged:
    """A run of five steps with a line of the log, and a snapshot, for every second one. Do not modify it."""
    folder, printed = tmp_path_factory.mktemp("runs") / "logged", io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stderr(printed):
        patch.setattr(train.loop, "LOG_EVERY", 2)
        model = run_fit(folder, steps=5, snapshot_every=2, keep_snapshots=2)
    return Logged(RunFolder(folder), model, printed.getvalue())


def test_a_run_leaves_snapshots_the_best_and_a_log(logged: Logged, prepared: Path) -> None:
    run = logged.run
    assert [path.name for path in run.snapshots()] == ["step-00000004.safetensors", "step-00000005.safetensors"]
    last = load_checkpoint(run.snapshots()[-1])
    assert torch.equal(parameters(last.model), parameters(logged.model))
    assert (last.training["preset"], last.training["steps"], last.training["seed"], last.training["data"]) == (
        "tiny",
        5,
        1,
        "data",
    )
    assert last.training["manifest"] == json.loads((prepared / "manifest.json").read_text(encoding="utf-8"))
    assert [line["step"] for line in log_of(run.path, "train")] == [2, 4]
    valid = log_of(run.path, "valid")
    assert [line["step"] for line in valid] == [2, 4, 5]
    assert load_checkpoint(run.best).training["steps"] == min(valid, key=lambda line: line["nll"])["step"]
    assert list(run.tensorboard.iterdir())


def test_samples_are_translations_of_validation_sentences(logged: Logged, prepared: Path) -> None:
    samples = log_of(logged.run.path, "sample")
    assert {line["step"] for line in samples} == {2, 4, 5}
    source, target = ((prepared / f"valid.{side}.txt").read_text(encoding="utf-8") for side in ("source", "target"))
    pairs = zip(source.splitlines(), target.splitlines(), strict=True)
    assert {(line["source"], line["reference"]) for line in samples} <= set(pairs)
    assert all(isinstance(line["translation"], str) for line in samples)


def test_progress_reads_well_in_a_file(logged: Logged) -> None:
    lines = logged.printed.splitlines()
    assert (
        f"The last snapshot is {logged.run.snapshots()[-1]}: try it with `python -m core translate --checkpoint"
        in lines[-1]
    )
    assert not any("\r" in line for line in lines)
    assert "% of them padding" in lines[0]
    assert re.fullmatch(r"steps 0 to 5, \d+\.\d epochs in total, on 1 x cpu, bfloat16", lines[1])
    assert any(
        line.startswith("train 2/5: nll ") and "tokens_per_second" in line and line.endswith(" left") for line in lines
    )
    assert any(line.startswith("valid 4/5: nll ") and "perplexity" in line for line in lines)


def test_the_history_has_the_first_step_the_last_and_more_of_the_early_ones_and_changes_no_step(
    tmp_path: Path, run_fit: Fit, six_steps: Transformer
) -> None:
    model = run_fit(tmp_path / "run", history=3, keep_snapshots=1, snapshot_every=6)
    files = sorted((tmp_path / "run" / "history").glob("*.safetensors"))
    assert [load_checkpoint(file).training["steps"] for file in files] == [0, 1, 6]
    first, _, last = (parameters(load_checkpoint(file).model) for file in files)
    assert torch.equal(last, parameters(model).half().float())
    torch.manual_seed(1)
    untrained = Transformer(model.config)
    assert torch.equal(first, parameters(untrained).half().float())
    assert torch.equal(parameters(model), parameters(six_steps))


def test_validations_do_not_change_the_training(tmp_path: Path, run_fit: Fit, three_steps: Transformer) -> None:
    """Validations, samples and snapshots take no random numbers, and a seed repeats: three of each in place of one."""
    assert torch.equal(parameters(run_fit(tmp_path, steps=3, snapshot_every=1)), parameters(three_steps))


@pytest.fixture
def seeds(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Those that PyTorch's random numbers are given: first for the weights, then for the dropout of each batch."""
    given: list[int] = []
    seeded = torch.manual_seed
    monkeypatch.setattr(torch, "manual_seed", lambda seed: given.append(seed) or seeded(seed))
    return given


def test_a_seed_decides_on_the_weights_the_dropout_and_the_order_of_the_pairs(
    tmp_path: Path, run_fit: Fit, seeds: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    epochs: list[list[list[int]]] = []
    epoch = Batches.epoch

    def recorded(batches: Batches, number: int) -> list[np.ndarray]:
        found = epoch(batches, number)
        epochs.append([pairs.tolist() for pairs in found])
        return found

    monkeypatch.setattr(Batches, "epoch", recorded)
    of_dropout: list[int] = []
    orders: list[list[list[int]]] = []
    for seed in (3, 4):
        run_fit(tmp_path / str(seed), steps=1, seed=seed)
        assert seeds.pop(0) == seed
        of_dropout.append(seeds.pop())
        orders.append(epochs[0])  # those of the validation follow
        seeds.clear()
        epochs.clear()
    assert of_dropout[0] != of_dropout[1]
    assert orders[0] != orders[1]


def test_accumulated_batches_count_as_one_and_each_has_dropout_of_its_own(
    tmp_path: Path, run_fit: Fit, seeds: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(train.loop, "LOG_EVERY", 1)
    run_fit(tmp_path / "run", steps=2, accumulate=2)
    initial, *others = seeds
    assert len(set(others) - {initial}) == 2 * 2
    state = torch.load(tmp_path / "run" / "state.pt", weights_only=True)
    assert state["position"]["batch"] == 2 * 2


def test_clipping_takes_effect_and_is_off_by_default(tmp_path: Path, run_fit: Fit, three_steps: Transformer) -> None:
    loose, tight = (parameters(run_fit(tmp_path / str(norm), steps=3, clip_norm=norm)) for norm in (1e9, 1e-3))
    assert torch.equal(parameters(three_steps), loose)
    assert not torch.equal(parameters(three_steps), tight)


def test_a_longer_run_resumes_and_a_finished_one_does_nothing(begun: Path, run_fit: Fit, six_steps: Transformer):
    assert torch.equal(parameters(run_fit(begun, steps=6)), parameters(six_steps))
    before = (begun / "log.jsonl").read_bytes()
    assert torch.equal(parameters(run_fit(begun, steps=6)), parameters(six_steps))
    assert (begun / "log.jsonl").read_bytes() == before


def test_the_command_that_sets_the_end_of_a_run_is_recorded(
    tmp_path: Path, run_fit: Fit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That of the start, unless the run was resumed to end elsewhere."""
    for options, steps, recorded in (
        ("--steps 9", 1, "--steps 9"),
        ("again", 1, "--steps 9"),
        ("--steps 2", 2, "--steps 2"),
    ):
        monkeypatch.setattr("sys.argv", ["train", *options.split()])
        run_fit(tmp_path / "run", steps=steps)
        facts = load_checkpoint(tmp_path / "run" / "snapshots" / f"step-{steps:08}.safetensors").training
        assert facts["command"] == f"python -m train {recorded}"


@pytest.mark.parametrize(
    ("change", "named"), [({"seed": 2}, r"seed \(1, not 2\)"), ({"warmup": 7}, r"warmup \(50, not 7\)")]
)
def test_another_run_in_the_same_folder_is_refused(begun: Path, run_fit: Fit, change: dict[str, Any], named: str):
    with pytest.raises(
        ValueError, match=f"holds a run with another {named}: resume it with its own settings, or give another folder"
    ):
        run_fit(begun, **change)


def test_other_data_under_the_same_name_is_refused(tmp_path: Path, begun: Path, run_fit: Fit, prepared: Path) -> None:
    damaged(prepared, tmp_path / "data")
    manifest = json.loads((tmp_path / "data" / "manifest.json").read_text(encoding="utf-8"))
    (tmp_path / "data" / "manifest.json").write_text(json.dumps({**manifest, "pairs_read": 7}), encoding="utf-8")
    with pytest.raises(ValueError, match="holds a run with another data"):
        run_fit(begun, data=tmp_path / "data")


def test_an_older_run_without_the_field_bucketing_resumes(tmp_path: Path, run_fit: Fit) -> None:
    run_fit(tmp_path / "run", steps=1, bucketing="target")
    recipe = tmp_path / "run" / "recipe.json"
    record = json.loads(recipe.read_text(encoding="utf-8"))
    for field in ("bucketing", "clip_norm", "snapshot_minutes", "patience"):
        del record["recipe"][field]
    recipe.write_text(json.dumps(record), encoding="utf-8")
    with pytest.raises(ValueError, match=r"bucketing \(target, not longest\)"):
        run_fit(tmp_path / "run")
    assert run_fit(tmp_path / "run", steps=2, bucketing="target")


def test_two_processes_do_not_train_in_one_folder(tmp_path: Path, run_fit: Fit) -> None:
    with RunFolder(tmp_path / "run").locked(), pytest.raises(RunFolderError, match="another process is training in"):
        run_fit(tmp_path / "run")
    run_fit(tmp_path / "run", steps=1)


def test_patience_stops_after_validations_that_are_no_better(
    tmp_path: Path, run_fit: Fit, monkeypatch: pytest.MonkeyPatch
) -> None:
    losses = iter([5.0, 4.0, 4.5, 4.0, 3.0])
    monkeypatch.setattr(train.runs.checkpointing, "validate", lambda *_: {"nll": next(losses), "perplexity": 1.0})
    run_fit(tmp_path / "run", steps=20, snapshot_every=1, patience=2)
    run = RunFolder(tmp_path / "run")
    assert [line["nll"] for line in log_of(run.path, "valid")] == [5.0, 4.0, 4.5, 4.0]
    assert load_checkpoint(run.best).training["steps"] == 2
    run_fit(tmp_path / "run", steps=20, snapshot_every=1, patience=2)  # and does not go on when it is run again
    assert next(losses) == 3.0


def test_snapshots_on_time_need_no_validation(tmp_path: Path, run_fit: Fit) -> None:
    run_fit(tmp_path / "run", steps=4, snapshot_every=4, snapshot_minutes=1e-9)
    assert len(RunFolder(tmp_path / "run").snapshots()) == 2  # as many as are kept
    assert [line["step"] for line in log_of(tmp_path / "run", "valid")] == [4]
    assert [path.name for path in RunFolder(tmp_path / "run").snapshots()] == [
        "step-00000003.safetensors",
        "step-00000004.safetensors",
    ]


def test_a_nonfinite_loss_stops_the_run_and_writes_its_batch(
    begun: Path,
    run_fit: Fit,
    six_steps: Transformer,
    parallel_text: list[tuple[str, str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rate = train.runs.training_state.learning_rate
    monkeypatch.setattr(
        train.runs.training_state, "learning_rate", lambda step, *rest: float("inf") if step == 4 else rate(step, *rest)
    )
    with pytest.raises(
        FloatingPointError,
        match=r"the loss of step 5 is nan; its sentence pairs are in .*not-finite-step-00000005.jsonl",
    ):
        run_fit(begun, steps=9)
    lines = (begun / "not-finite-step-00000005.jsonl").read_text(encoding="utf-8").splitlines()
    assert lines
    assert {(pair["source"], pair["target"]) for pair in map(json.loads, lines)} <= set(parallel_text)
    assert [path.name for path in RunFolder(begun).snapshots()] == ["step-00000003.safetensors"]
    monkeypatch.setattr(train.runs.training_state, "learning_rate", rate)
    assert torch.equal(parameters(run_fit(begun, steps=6)), parameters(six_steps))


def test_a_full_disk_loses_nothing(begun: Path, run_fit: Fit, six_steps: Transformer) -> None:
    kept = [(path, path.read_bytes()) for path in [begun / "state.pt", *RunFolder(begun).snapshots()]]
    for size, what in ((100_000, "the snapshot of step 6"), (400_000, "the state of step 6")):
        with (
            no_file_over(size),
            pytest.raises(
                RunFolderError,
                match=f"{what} could not be written to .*; files saved earlier are intact. Free disk space",
            ),
        ):
            run_fit(begun, steps=6)
        assert all(path.read_bytes() == content for path, content in kept)
        assert not list(begun.rglob("*.part"))
    assert torch.equal(parameters(run_fit(begun, steps=6)), parameters(six_steps))


def test_a_folder_that_cannot_be_written_is_an_error_at_once(tmp_path: Path, run_fit: Fit) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RunFolderError, match=r"the run's folder .* cannot be written: .*; give another with --run"):
        run_fit(tmp_path / "file" / "run")


def damaged(prepared: Path, folder: Path) -> Path:
    """A copy of a prepared folder, to be changed: without checksums, as folders of earlier versions."""
    shutil.copytree(prepared, folder)
    for path in folder.rglob("checksums.json"):
        path.unlink()
    return folder


def test_data_is_checked_before_anything_is_written(tmp_path: Path, run_fit: Fit, prepared: Path) -> None:
    unfinished = damaged(prepared, tmp_path / "unfinished")
    (unfinished / "manifest.json").unlink()
    with pytest.raises(DataError, match="did not finish"):
        run_fit(tmp_path / "run", data=unfinished)

    other = damaged(prepared, tmp_path / "other")
    text = ["Some other text with its own vocabulary, which is smaller.", "And a second line."]
    (other / "tokenizer.model").write_bytes(SentencePieceTokenizer.train(text, 290).to_bytes())
    with pytest.raises(
        DataError,
        match=r"vocabularies differ: the manifest of .* has 400, the tokenizer of .* has 290, the model of .* has 400",
    ):
        run_fit(tmp_path / "run", data=other)

    no_valid = damaged(prepared, tmp_path / "no-valid")
    shutil.rmtree(no_valid / "valid")
    with pytest.raises(DataError, match=r"valid has no source\.tokens\.npy"):
        run_fit(tmp_path / "run", data=no_valid)

    foreign = damaged(prepared, tmp_path / "foreign")
    ids = np.load(foreign / "train" / "source.tokens.npy")
    ids[3] = 400
    np.save(foreign / "train" / "source.tokens.npy", ids)
    with pytest.raises(DataError, match="train has token 400, but the vocabulary only 400"):
        run_fit(tmp_path / "run", data=foreign)
    with pytest.raises(DataError, match="no sentence pair of the 48 fits"):
        run_fit(tmp_path / "run", max_length=2)
    assert not (tmp_path / "run").exists()


def test_sentences_longer_than_the_learned_positions_are_an_error(tmp_path: Path, prepared: Path, recipe: Recipe):
    config = replace(PRESETS["tiny"], vocab_size=400, positions="learned")
    with pytest.raises(ValueError, match=r"max_length \(65\) must be at most the number of learned positions \(64\)"):
        train.loop.fit("tiny", config, replace(recipe, max_length=65), prepared, tmp_path / "run", torch.device("cpu"))


def test_a_run_stops_when_its_minutes_are_used_up_and_stays_stopped(tmp_path: Path, run_fit: Fit) -> None:
    """However few they are, it takes a step."""
    run_fit(tmp_path, steps=1_000_000, minutes=1e-9, snapshot_every=1_000_000)
    assert [load_checkpoint(path).training["steps"] for path in RunFolder(tmp_path).snapshots()] == [1]
    log = (tmp_path / "log.jsonl").read_bytes()
    run_fit(tmp_path, steps=1_000_000, minutes=1e-9, snapshot_every=1_000_000)
    assert (tmp_path / "log.jsonl").read_bytes() == log
    state = torch.load(tmp_path / "state.pt", weights_only=True)
    torch.save(state | {"hours": 2.0}, tmp_path / "state.pt")  # those before a resumption count
    run_fit(tmp_path, steps=2, minutes=60.0)
    assert (tmp_path / "log.jsonl").read_bytes() == log
    run_fit(tmp_path, steps=2, minutes=0.0)  # and goes on where it is given more
    assert [load_checkpoint(path).training["steps"] for path in RunFolder(tmp_path).snapshots()][-1] == 2


def test_the_rate_falls_in_the_last_minutes(tmp_path: Path, run_fit: Fit, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock on which each step takes a minute."""
    monkeypatch.setattr(Training, "hours", property(lambda self: self.step / 60))
    monkeypatch.setattr(train.loop, "LOG_EVERY", 1)
    run_fit(tmp_path, steps=100, warmup=10, minutes=6.0, cooldown_minutes=4.0, snapshot_every=1_000_000)
    rates = [line["rate"] for line in log_of(tmp_path, "train")]
    plain = []
    for step in range(1, 7):
        warmup = min(10, 0.6 * step / (step - 1)) if step > 1 else 10  # of 6 minutes a tenth, as the clock has it
        plain.append(warmup / 10 * learning_rate(step, PRESETS["tiny"].d_model, warmup))
    assert rates == pytest.approx([a * b for a, b in zip(plain, (1, 1, 1, 3 / 4, 2 / 4, 1 / 4), strict=True)])


def test_packed_batches_on_a_gpu_need_bfloat16() -> None:
    with pytest.raises(ValueError, match="--bucketing packed computes in bfloat16 on a GPU: give --precision bfloat16"):
        train.loop._check_precision(Recipe(bucketing="packed", precision="float32"), torch.device("cuda"))
