import argparse
import os
import re
import signal
import sys
from dataclasses import fields, replace
from pathlib import Path

import pytest

import train.__main__ as command
import train.cli.fit
import train.cli.presets
import train.presets
from core.files.console import StoppedError
from core.formats.checkpoint import load_checkpoint
from core.model.preset_configs import PRESETS
from train.data.token_shards import read_manifest
from train.recipe import Recipe, fitted_to_minutes, recipe_for


def fit_arguments(prepared: Path, folder: Path, *more: str) -> list[str]:
    settings = ["--steps", "2", "--snapshot-every", "2", "--max-length", "60", "--batch-tokens", "200"]
    return ["fit", "tiny", "--data", str(prepared), "--run", str(folder), "--device", "cpu", *settings, *more]


def test_fit_takes_every_field_of_the_recipe(tmp_path: Path, prepared: Path) -> None:
    more = ("--precision", "float32", "--rate-scale", "0.5", "--bucketing", "target", "--dropout", "0.25")
    assert command.main(fit_arguments(prepared, tmp_path / "run", *more)) == 0
    best = load_checkpoint(tmp_path / "run" / "best.safetensors")
    assert best.model.config == replace(PRESETS["tiny"], vocab_size=read_manifest(prepared)["vocab_size"], dropout=0.25)
    recipe = best.training["recipe"]
    assert (recipe["precision"], recipe["rate_scale"], recipe["bucketing"], recipe["steps"]) == (
        "float32",
        0.5,
        "target",
        2,
    )
    assert recipe["warmup"] == 50  # the preset's


def test_few_minutes_of_a_cpu_take_small_batches_and_a_run_keeps_its_own(
    tmp_path: Path, prepared: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert fitted_to_minutes(recipe_for("multi30k"), 10, on_cpu=False) == {"cooldown_minutes": 2.5}
    batches = [fitted_to_minutes(recipe_for("multi30k"), each, True)["batch_tokens"] for each in (1, 10, 20, 600)]
    assert fitted_to_minutes(recipe_for("multi30k"), 10, True)["schedule"] == "constant"
    assert batches == [1_024, 1_024, 2_048, 4_096]
    arguments = ["fit", "tiny", "--data", str(prepared), "--run", str(tmp_path), "--device", "cpu", "--steps", "2"]
    assert command.main([*arguments, "--batch-tokens", "200", "--minutes", "30"]) == 0
    assert "batches of at most 200 tokens; the learning rate rises for 50 steps or 3 minutes" in capsys.readouterr().err
    assert command.main([*arguments, "--minutes", "60"]) == 0  # goes on, although `tiny` has batches of 256
    assert "batches of at most 200 tokens" in (said := capsys.readouterr().err)
    assert "falls to 0 in the last 15 minutes" in said


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--precision", "float64"], r"precision \('float64'\) must be 'auto', 'bfloat16' or 'float32'"),
        (["--bucketing", "none"], r"bucketing \('none'\) must be one of longest, target, packed"),
        (["--schedule", "cosine"], r"schedule \('cosine'\) must be one of inverse_sqrt, constant"),
        (["--cooldown-minutes", "2"], r"cooldown_minutes \(2\) must be at most minutes \(0\)"),
        (["--keep", "0.5"], r"keep \(0.5\) needs --init with a model of the data's vocabulary"),
        (["--keep", "0.5", "--bucketing", "packed"], r"keep \(0.5\) must be 0 with --bucketing packed, whose loss has"),
        (
            ["--only", "encoder,head"],
            r"only \('encoder,head'\) must be all or parts of names of parameters, .* not head",
        ),
        (["--history", "1"], r"history \(1\) must be at least 2, for the first and the last step; 0 turns it off"),
    ],
)
def test_a_bad_recipe_is_explained(
    tmp_path: Path, prepared: Path, more: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main(fit_arguments(prepared, tmp_path / "run", *more)) == 1
    error = capsys.readouterr().err
    assert error.startswith("python -m train fit: ")
    assert re.search(message, error)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        (StoppedError("stopped after step 7", signal.SIGTERM), 143, "stopped after step 7"),
        (KeyboardInterrupt(), 130, "interrupted; the files already saved are intact"),
        (FloatingPointError("the loss is nan"), 1, "the loss is nan"),
        (OSError(28, "No space left on device"), 1, "No space left on device"),
    ],
)
def test_exit_statuses(
    tmp_path: Path,
    prepared: Path,
    error: BaseException,
    status: int,
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(train.cli.fit, "fit", fail)
    assert command.main(fit_arguments(prepared, tmp_path / "run")) == status
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    "command_line", [["fit", "tiny", "--data", "data", "--run", "run"], ["evaluate-trees", "model", "--trees", "trees"]]
)
def test_an_unknown_device_is_an_error(
    command_line: list[str], prepared: Path, tmp_path: Path, tiny_checkpoint: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "trees").write_text("(TOP (S (NN works)))", encoding="utf-8")
    places = {"data": prepared, "run": tmp_path / "run", "model": tiny_checkpoint, "trees": tmp_path / "trees"}
    assert command.main([str(places.get(word, word)) for word in command_line] + ["--device", "abacus"]) == 1
    assert "device (abacus) must be cuda, cuda:N, mps or cpu" in capsys.readouterr().err


def test_an_unprepared_folder_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(fit_arguments(tmp_path, tmp_path / "run")) == 1
    assert (
        "has no manifest.json: run `python -m train prepare` there, or run it again if it did not finish"
        in capsys.readouterr().err
    )


def test_help_lists_every_command_and_every_command_has_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert {"prepare", "prepare-trees", "fit", "evaluate-trees", "card", "table3"} <= command.COMMANDS.keys()
    for name in ("", *command.COMMANDS):
        with pytest.raises(SystemExit) as ended:
            command.main([name, "--help"] if name else ["--help"])
        assert ended.value.code == 0
        printed = capsys.readouterr().out
        if name:
            assert printed.startswith(f"usage: python -m train {name} ")
            summary = command.COMMANDS[name][0]
            assert f"\n\n{summary[0].upper()}{summary[1:]}.\n\n" in re.sub(r"(?<!\n)\n(?!\n)", " ", printed)
        else:
            assert re.findall(r"^    ([a-z][\w-]*)", printed, re.MULTILINE) == list(command.COMMANDS)


def test_every_option_has_help() -> None:
    for name, (_, add_arguments, _) in command.COMMANDS.items():
        add_arguments(parser := argparse.ArgumentParser())
        assert [action.dest for action in parser._actions if not action.help] == [], name


def test_recipe_options_show_the_defaults_of_the_base_model(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command.main(["fit", "--help"])
    printed = " ".join(capsys.readouterr().out.split())
    for field in fields(Recipe):
        option = f"--{field.name.replace('_', '-')}"
        assert re.search(rf"{option} [A-Z]+ .*?\[{re.escape(str(getattr(recipe_for('base'), field.name)))}\]", printed)


def test_a_closed_pipe_is_no_error(
    tiny_checkpoint: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As with `| head`."""
    monkeypatch.setattr(train.cli.presets, "shipped_folder", lambda _: tiny_checkpoint.parent)
    monkeypatch.setattr(train.presets, "PRESETS", {"tiny": PRESETS["tiny"]})
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "w", encoding="utf-8") as cut:
        monkeypatch.setattr(sys, "stdout", cut)
        assert command.main(["presets"]) == 1
    assert capsys.readouterr().err == ""
