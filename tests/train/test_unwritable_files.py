"""Every command says which file it could not write and what to do, and leaves the older file as it was."""

import os
import re
import sys
import tempfile
import zipfile
from multiprocessing.context import ForkServerContext
from pathlib import Path

import pytest

from core.cli import commands as core_commands
from tests.full_disk import no_file_over
from train import __main__ as train_commands

READ_ONLY = Path("/sys/kernel")  # not even root can create a file there


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory, tiny_checkpoint: Path, run_history: Path) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("inputs")
    text = folder / "text.txt"
    text.write_text("A dog runs.\nWhere?\n", encoding="utf-8")
    return {
        "checkpoint": str(tiny_checkpoint),
        "run": str(run_history),
        "snapshot": str(run_history / "history" / "step-00000300.safetensors"),
        "text": str(text),
    }


SENTENCE = "--checkpoint {checkpoint} --text Where? --beam-size 1"
COMMANDS = {
    "translate": "core translate --checkpoint {checkpoint} --input {text} --workers 1 --output {out}",
    "convert": "core convert {checkpoint} {out}.safetensors",
    "to-marian": "core convert {checkpoint} {out} --to marian",
    "explain-html": f"core explain {SENTENCE} -o {{out}}.html",
    "explain-npz": f"core explain {SENTENCE} -o {{out}}.npz",
    "explain-json": f"core explain {SENTENCE} -o {{out}}.json",
    "score": "core score --checkpoint {checkpoint} --input {text} -o {out}",
    "corpus": "core corpus --checkpoint {checkpoint} --input {text} -o {out}.corpus.npz",
    "average": "train average {snapshot} -o {out}.safetensors",
    "card": "train card {snapshot} -o {out}.md",
    "history": "train history {run} -o {out}.zip",
}


def run(command: str, inputs: dict[str, str], out: Path) -> int:
    package, *arguments = command.format(**inputs, out=out).split()
    return (core_commands if package == "core" else train_commands).main(arguments)


@pytest.fixture(params=COMMANDS)
def command(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr("core.decoding.limits.MAX_EXTRA_TOKENS", 4)
    return COMMANDS[request.param]


def last_line(capsys: pytest.CaptureFixture[str]) -> str:
    return capsys.readouterr().err.splitlines()[-1]


def test_a_full_disk(command: str, inputs: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each file gets no more than 20 bytes."""
    path = tmp_path / command.split()[-1].replace("{out}", "out").replace("marian", "out")
    is_new = "translate" in command or "marian" in command  # older output is refused
    if not is_new:
        path.write_text("older")
    with no_file_over(20):
        assert run(command, inputs, tmp_path / "out") == 1
    message = last_line(capsys)
    assert str(path) in message
    assert "cannot be written (" in message
    assert "free disk space, or give another path" in message
    assert is_new or path.read_text() == "older"
    assert [each for each in tmp_path.iterdir() if each.name.startswith(".")] == []


def test_a_folder_that_is_read_only(command: str, inputs: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(command, inputs, READ_ONLY / "out") == 1
    message = last_line(capsys)
    assert str(READ_ONLY / "out") in message
    assert "give another" in message


@pytest.mark.parametrize(
    "command", ["core convert {zip} {out}.safetensors", "core over-training --history {history} --text Where?"]
)
def test_a_full_folder_for_temporary_files(
    command: str, inputs: dict[str, str], history_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    archive = tmp_path / "model.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.write(inputs["checkpoint"], "model.safetensors")
    with no_file_over(20):
        assert run(command, {**inputs, "zip": str(archive), "history": str(history_file)}, tmp_path / "out") == 1
    folder = f"{tempfile.gettempdir()}/headlight-"
    expected = rf"{folder}\S+ cannot be written \(File too large\): free disk space, or give another path"
    assert re.search(expected, last_line(capsys))


def print_to_full_disk(arguments: list[str], stderr: Path) -> None:
    """Run `python -m core` with standard output on a full disk."""
    for name, number in (("/dev/full", 1), (str(stderr), 2)):
        os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT), number)
    sys.exit(core_commands.main(arguments))


@pytest.mark.parametrize("command", ["inspect {checkpoint}", "translate --checkpoint {checkpoint} --input {text}"])
def test_standard_output_on_a_full_disk(
    command: str, inputs: dict[str, str], processes: ForkServerContext, tmp_path: Path
) -> None:
    arguments, stderr = command.format(**inputs).split(), tmp_path / "stderr.txt"
    process = processes.Process(target=print_to_full_disk, args=(arguments, stderr))
    process.start()
    process.join(60)
    assert process.exitcode == 1
    expected = "standard output cannot be written (No space left on device): free disk space, or redirect it elsewhere"
    assert stderr.read_text().splitlines()[-1] == f"python -m core {arguments[0]}: {expected}"
