from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open

from core.files.training_runs import steps_of_runs
from core.formats.checkpoint import load_checkpoint, save_checkpoint
from core.model import Transformer
from core.model.preset_configs import PRESETS
from core.text.tokenizer import SentencePieceTokenizer
from train.__main__ import main
from train.average import average
from train.card import write_card
from train.warm_start import Initial


def snapshots(folder: Path, tokenizer: SentencePieceTokenizer, count: int = 3, **shape: int) -> list[Path]:
    """Checkpoints of untrained models of the preset `tiny`, or of another shape."""
    folder.mkdir(parents=True, exist_ok=True)
    paths: list[Path] = []
    for number in range(1, count + 1):
        torch.manual_seed(number)
        model = Transformer(replace(PRESETS["tiny"], vocab_size=tokenizer.vocab_size, **shape))
        paths.append(folder / f"step-{number:08d}.safetensors")
        save_checkpoint(
            paths[-1],
            model,
            tokenizer,
            {"preset": "tiny", "steps": number, "command": "python -m train fit tiny --run /some/where/run"},
        )
    return paths


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, tokenizer: SentencePieceTokenizer) -> Path:
    """The folder of a run with three snapshots. Do not modify it."""
    folder = tmp_path_factory.mktemp("runs")
    snapshots(folder / "snapshots", tokenizer)
    return folder


@pytest.fixture
def paths(run: Path) -> list[Path]:
    """The snapshots of the run, oldest first."""
    return sorted((run / "snapshots").glob("*.safetensors"))


def test_parameters_are_the_mean_and_facts_the_last_ones_with_what_was_averaged(
    tmp_path: Path, paths: list[Path]
) -> None:
    average(paths, tmp_path / "mean.safetensors")
    mean = load_checkpoint(tmp_path / "mean.safetensors")
    parts = [dict(load_checkpoint(path).model.named_parameters()) for path in paths]
    for name, parameter in mean.model.named_parameters():
        torch.testing.assert_close(parameter, torch.stack([part[name] for part in parts]).mean(0), rtol=1e-6, atol=1e-7)
    assert mean.training["steps"] == 3
    assert mean.training["averaged"] == [{"file": f"step-{step:08d}.safetensors", "steps": step} for step in (1, 2, 3)]
    assert mean.training["command"] == "python -m train fit tiny --run run"


def test_mean_of_one_is_itself_without_its_scores(tmp_path: Path, tokenizer: SentencePieceTokenizer) -> None:
    [path] = snapshots(tmp_path, tokenizer, count=1)
    average([path], tmp_path / "mean.safetensors")
    mean = load_checkpoint(tmp_path / "mean.safetensors").model.state_dict()
    assert all(torch.equal(mean[name], value) for name, value in load_checkpoint(path).model.state_dict().items())
    checkpoint = load_checkpoint(path)
    save_checkpoint(path, checkpoint.model, checkpoint.tokenizer, {"scores": [{"bleu": 99}]})
    assert "scores" not in average([path], tmp_path / "mean.safetensors")


def test_half_stores_float16_in_half_the_bytes(tmp_path: Path, paths: list[Path]) -> None:
    for name, half in (("whole", False), ("half", True)):
        average(paths, tmp_path / name, half)
    with safe_open(tmp_path / "half", framework="pt") as file:
        dtypes = {name: file.get_slice(name).get_dtype() for name in file.keys()}  # noqa: SIM118
    assert dtypes.pop("tokenizer.model") == "U8"
    assert set(dtypes.values()) == {"F16"}
    assert load_checkpoint(tmp_path / "half").training["stored_as"] == "float16"
    whole, rounded = (load_checkpoint(tmp_path / name).model.state_dict() for name in ("whole", "half"))
    assert all(torch.equal(value.half().float(), rounded[name]) for name, value in whole.items())


def test_a_mean_of_several_runs_records_them_all(tmp_path: Path, tokenizer: SentencePieceTokenizer) -> None:
    """A checkpoint, two runs that go back to it, and one from elsewhere; a run from their mean records all."""
    paths = snapshots(tmp_path, tokenizer, count=4)
    begun_from: dict[str, Any] = {}
    for number, path in enumerate(paths):
        checkpoint = load_checkpoint(path)
        init = [{}, {"init": begun_from}, {"init": {"sha256": "0" * 64}}, {"init": begun_from}][number]
        command = f"python -m train fit tiny --run runs/{number}"
        facts = {"command": command, "steps": 10 + number, "stored_as": "float32", **init}
        save_checkpoint(path, checkpoint.model, checkpoint.tokenizer, facts)
        begun_from = begun_from or Initial.read(path, checkpoint.config, tokenizer).facts
    mean = tmp_path / "mean.safetensors"
    parent, side, elsewhere, own = average(paths, mean)["averaged"]
    assert parent == {"file": paths[0].name, "steps": 10, "sha256": begun_from["sha256"]}
    assert side["run"] == {"command": "python -m train fit tiny --run runs/1", "steps": 11, "stored_as": "float32"}
    assert elsewhere["run"]["init"] == {"sha256": "0" * 64}
    assert own == {"file": paths[3].name, "steps": 13}
    next_run = Initial.read(mean, load_checkpoint(mean).config, tokenizer).facts
    assert steps_of_runs({"steps": 20, "init": next_run}) == [10, 11, None, 12, 13, 20]
    earlier, side_run = tmp_path / "step-00000000.safetensors", load_checkpoint(paths[1])
    save_checkpoint(earlier, side_run.model, side_run.tokenizer, {**side_run.training, "steps": 5})
    average([paths[0], earlier, paths[1], paths[3]], mean)
    assert steps_of_runs(load_checkpoint(mean).training) == [10, 11, 13]
    write_card(mean, tmp_path / "card.md")
    commands = (tmp_path / "card.md").read_text("utf-8").partition("```sh\n")[2].partition("\n```")[0]
    assert commands.splitlines() == [
        "python -m train fit tiny --run runs/0",
        "python -m train fit tiny --run runs/1",
        "python -m train fit tiny --run runs/3",
        "python -m train average runs/0/snapshots/step-00000001.safetensors runs/1/snapshots/step-00000000.safetensors "
        "runs/1/snapshots/step-00000002.safetensors runs/3/snapshots/step-00000004.safetensors -o mean.safetensors",
    ]


def test_checkpoints_of_other_runs_are_refused(tmp_path: Path, tokenizer: SentencePieceTokenizer) -> None:
    one, other = (snapshots(tmp_path, tokenizer, count=1)[0], snapshots(tmp_path / "C", tokenizer, count=1, d_ff=32)[0])
    with pytest.raises(ValueError, match="different configurations"):
        average([one, other], tmp_path / "mean.safetensors")
    third, fourth = (
        snapshots(tmp_path / name, SentencePieceTokenizer.train(text, 290, num_threads=1), count=1)[0]
        for name, text in (
            ("T", ["other text with the same number of pieces", "and more words, so that there is enough of it"]),
            ("U", ["a wholly different text of some other words", "so that pieces differ"]),
        )
    )
    with pytest.raises(ValueError, match="different tokenizers"):
        average([third, fourth], tmp_path / "mean.safetensors")
    with pytest.raises(ValueError, match="no checkpoints to average"):
        average([], tmp_path / "mean.safetensors")
    assert not (tmp_path / "mean.safetensors").exists()


def test_what_float16_cannot_hold_is_refused(tmp_path: Path, tokenizer: SentencePieceTokenizer) -> None:
    [path] = snapshots(tmp_path, tokenizer, count=1)
    checkpoint = load_checkpoint(path)
    checkpoint.model.embedding.tokens.weight[5, 5] = 1e5
    save_checkpoint(path, checkpoint.model, checkpoint.tokenizer)
    with pytest.raises(ValueError, match=r"embedding\.tokens\.weight holds the weight 1e\+05, at most 65504 is read"):
        average([path], tmp_path / "mean.safetensors", half=True)


def test_command_takes_the_last_snapshots_of_a_run(
    tmp_path: Path, run: Path, paths: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    by_folder, by_files = tmp_path / "a.safetensors", tmp_path / "b.safetensors"
    assert main(["average", str(run), "--last", "2", "-o", str(by_folder)]) == 0
    assert main(["average", *map(str, paths[1:]), "-o", str(by_files)]) == 0
    one, other = (load_checkpoint(path) for path in (by_folder, by_files))
    assert one.training == other.training
    assert [part["steps"] for part in one.training["averaged"]] == [2, 3]
    assert all(torch.equal(value, other.model.state_dict()[name]) for name, value in one.model.state_dict().items())
    assert main(["average", str(run), "--last", "4", "-o", str(by_folder)]) == 0
    assert "has 3 snapshots, fewer than 4: the mean is of all of them" in capsys.readouterr().err
    assert [part["steps"] for part in load_checkpoint(by_folder).training["averaged"]] == [1, 2, 3]
    (tmp_path / "empty").mkdir()
    assert main(["average", str(tmp_path / "empty"), "-o", str(by_folder)]) == 1
    assert "has no snapshots to average" in capsys.readouterr().err
    assert main(["average", str(tmp_path / "none"), "--last", "4", "-o", str(by_folder)]) == 1
    assert "none: give a run's folder, or checkpoints, oldest first" in capsys.readouterr().err
    assert main(["average", *map(str, paths), "--last", "2", "-o", str(by_folder)]) == 1
    assert "--last applies to one run's folder" in capsys.readouterr().err
