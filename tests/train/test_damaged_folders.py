"""Damage to a prepared folder or to a run's is refused by the name of the file."""

import json
import random
import shutil
from pathlib import Path

import pytest
import torch

from tests.train.conftest import Fit, short_samples
from tests.train.test_loop import parameters
from train import __main__ as command

TEXTS = ("valid.source.txt", "valid.target.txt")
PREPARED = ("checksums.json", "manifest.json", "settings.json", "tokenizer.model", *TEXTS)
SHARDS = ("checksums.json", "source.tokens.npy", "source.offsets.npy", "target.tokens.npy", "target.offsets.npy")
SETTINGS = ["--snapshot-every", "1", "--batch-tokens", "300", "--max-length", "60"]
SETTINGS += ["--precision", "bfloat16", "--device", "cpu"]


def fit(data: Path, folder: Path, *more: str) -> int:
    return command.main(["fit", "tiny", "--data", str(data), "--run", str(folder), "--steps", "2", *SETTINGS, *more])


@pytest.fixture(scope="module")
def first_step(tmp_path_factory: pytest.TempPathFactory, prepared: Path) -> Path:
    """A run of one step. Do not modify it."""
    folder = tmp_path_factory.mktemp("begun") / "run"
    with short_samples():
        assert fit(prepared, folder, "--steps", "1") == 0
    return folder


def changed(content: bytes, place: int, count: int = 1) -> bytes:
    """The content with the lowest bits of `count` bytes changed."""
    return content[:place] + bytes(byte ^ 1 for byte in content[place : place + count]) + content[place + count :]


def error_of_fit(data: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    assert fit(data, folder) == 1
    (message,) = capsys.readouterr().err.splitlines()
    assert message.startswith("python -m train fit: ")
    return message.removeprefix("python -m train fit: ")


@pytest.mark.parametrize("name", [*PREPARED, *(f"{part}/{name}" for part in ("train", "valid") for name in SHARDS)])
def test_each_file_of_a_prepared_folder_is_checked(
    name: str, prepared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert {path.name for path in prepared.iterdir() if path.is_file()} == set(PREPARED)
    assert {path.name for path in (prepared / "train").iterdir()} == set(SHARDS)
    data = shutil.copytree(prepared, tmp_path / "data")
    content = (data / name).read_bytes()
    for damaged in (b"", content[:-1], changed(content, 0), changed(content, len(content) - 3)):
        (data / name).write_bytes(damaged)
        message = error_of_fit(data, tmp_path / "run", capsys)
        assert message.startswith(str(data / name)) or "checksums.json" in name
        assert message.endswith("prepare it again")
    (data / name).unlink()
    if not name.endswith("checksums.json"):
        assert Path(name).name in error_of_fit(data, tmp_path / "run", capsys)
    assert not (tmp_path / "run").exists()


def test_a_folder_without_checksums_gives_the_same_losses(tmp_path: Path, prepared: Path, run_fit: Fit) -> None:
    older = shutil.copytree(prepared, tmp_path / "older")
    for path in older.rglob("checksums.json"):
        path.unlink()
    models = [run_fit(tmp_path / data.name, data=data, steps=2) for data in (prepared, older)]
    assert torch.equal(*map(parameters, models))


def damaged_states(content: bytes) -> dict[str, bytes]:
    """Contents of state.pt that cannot be resumed from, by name."""
    chance = random.Random(1)
    return {
        "empty": b"",
        "foreign": b"hello\n",
        **{f"cut at {place}": content[:place] for place in chance.sample(range(1, len(content)), 6)},
        "without bytes in the middle": content[:1000] + content[1500:],
        "without its end": content[:-1],
        "zeros": bytes(len(content)),
        **{f"bytes at {place}": changed(content, place, 4) for place in chance.sample(range(len(content) - 4), 8)},
    }


def test_a_damaged_state_is_refused_with_what_to_do(
    first_step: Path, prepared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = shutil.copytree(first_step, tmp_path / "run")
    content = (run / "state.pt").read_bytes()
    kept = {path: path.read_bytes() for path in run.rglob("*") if path.is_file() and path.name != "state.pt"}
    for name, damaged in damaged_states(content).items():
        (run / "state.pt").write_bytes(damaged)
        message = error_of_fit(prepared, run, capsys)
        assert message.startswith(f"{run / 'state.pt'} is damaged or of another run ("), name
        assert message.endswith(
            "), so this run cannot be resumed: put back a copy of it, or train in another folder, from the parameters "
            f"of its last snapshot with --init {run / 'snapshots' / 'step-00000001.safetensors'}"
        )
    assert {path: path.read_bytes() for path in kept} == kept
    (run / "state.pt").write_bytes(content)
    assert fit(prepared, run) == 0


def test_states_of_other_runs_are_refused(
    first_step: Path, prepared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = shutil.copytree(first_step, tmp_path / "run")
    state = torch.load(run / "state.pt", weights_only=True)
    assert fit(prepared, tmp_path / "other", "--steps", "1", "--seed", "9") == 0
    capsys.readouterr()
    shutil.copyfile(tmp_path / "other" / "state.pt", run / "state.pt")
    assert "(its run is not that of recipe.json)" in error_of_fit(prepared, run, capsys)
    for other, reason in (
        ([1], "its content is [1], expected dict"),
        ({"step": "1"}, "step is '1', expected int"),
        ({"step": 1}, "position is None, expected dict"),
        ({**state, "model": {}}, "embedding.tokens.weight is None, expected a tensor ["),
        ({**state, "optimizer": {**state["optimizer"], "state": {}}}, "optimizer state 0 is None, expected dict"),
        ({**state, "position": {"epoch": 0, "batch": 0, "era": 1}}, "unexpected keyword argument 'era'"),
        ({**state, "position": {"epoch": 0, "batch": 1.5}}, "position batch is 1.5, expected int"),
        ({**state, "windows": [{"rows": [[1.0]], "positions": [[0, 0]]}]}, "windows rows is [1.0], expected tuple"),
        ({**state, "hours": "1"}, "hours is '1', expected float"),
        ({**state, "best_nll": None}, "best_nll is None, expected float"),
    ):
        torch.save(other, run / "state.pt")
        assert reason in error_of_fit(prepared, run, capsys)
    torch.save({name: value for name, value in state.items() if name != "run"}, run / "state.pt")
    assert fit(prepared, run) == 0, "as of an earlier version"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "is damaged: Expecting value"),
        (b"\xff", "is damaged: 'utf-8' codec"),
        (b"[]", "is damaged: it is a list, expected a JSON object"),
        (b"{}", "is damaged: preset is None, expected str; put back a copy of it"),
        ({"config": 1}, "is damaged: config is 1, expected dict; put back a copy of it"),
        ({"resumed": {"step": 1}}, "is damaged: resumed is {'step': 1}, expected list; put back a copy of it"),
        ({"config": {"era": 1}}, "is damaged: "),
        (
            {"recipe": {"steps": 0}},
            "is damaged: steps (0) must be an integer from 1 to 10^15; give another folder with --run",
        ),
    ],
)
def test_a_damaged_recipe_is_named(
    content: bytes | dict[str, object],
    reason: str,
    first_step: Path,
    prepared: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    run = shutil.copytree(first_step, tmp_path / "run")
    (run / "state.pt").unlink()
    if isinstance(content, dict):
        content = json.dumps(json.loads((run / "recipe.json").read_bytes()) | content).encode()
    (run / "recipe.json").write_bytes(content)
    assert error_of_fit(prepared, run, capsys).startswith(f"{run / 'recipe.json'} {reason}")


def test_a_damaged_line_of_the_log_is_named_and_no_line_is_lost(
    first_step: Path, prepared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = shutil.copytree(first_step, tmp_path / "run")
    log = run / "log.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    texts = dict.fromkeys(("source", "reference", "translation"), "a\u2028b\u0085c")
    sample = json.dumps({"kind": "sample", "step": 1, **texts}, ensure_ascii=False).encode()
    for damaged in (b"\xff\n", b"{\n", b'{"kind": "train", "step": "1"}\n', b"[1]\n"):
        log.write_bytes(lines[0] + damaged + b"".join(lines[1:]))
        before = log.read_bytes()
        message = error_of_fit(prepared, run, capsys)
        assert message.startswith(f"{log}, line 2 ")
        assert message.endswith(": mend or remove this line, and run the same command again")
        assert log.read_bytes() == before
    kept = b"".join([*lines, sample, b"\n"])
    log.write_bytes(kept + b'{"kind": "tra')  # as after a kill
    assert fit(prepared, run) == 0
    assert log.read_bytes().startswith(kept + b'{"kind"')
