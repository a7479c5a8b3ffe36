"""The command `headlight`: the settings it hands to Streamlit, and those it refuses."""

import os
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from viz_app.server import command
from viz_app.session import environment


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[tuple[list[str], dict[str, str]]]:
    """Commands and environments, instead of servers."""
    calls: list[tuple[list[str], dict[str, str]]] = []

    def run(arguments: list[str], env: dict[str, str], **_: Any) -> subprocess.CompletedProcess[str]:
        calls.append((arguments, env))
        return subprocess.CompletedProcess(arguments, 7)

    def execve(path: str, arguments: list[str], env: dict[str, str]) -> None:
        assert path == arguments[0]
        calls.append((arguments, env))
        raise SystemExit(7)

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(os, "execve", execve)
    return calls


@pytest.mark.parametrize("is_posix", [True, False])
def test_it_starts_streamlit_from_any_folder(
    started: list[tuple[list[str], dict[str, str]]],
    tiny_checkpoint: Path,
    monkeypatch: pytest.MonkeyPatch,
    is_posix: bool,
) -> None:
    """In place of this process where signals need that, else as another one, whose status is returned."""
    monkeypatch.setattr(command, "IS_POSIX", is_posix)
    monkeypatch.chdir(tiny_checkpoint.parent)
    options = ["--checkpoint", tiny_checkpoint.name, "--port", "9000", "--", "--server.headless", "true"]
    with pytest.raises(SystemExit) if is_posix else nullcontext():
        assert command.main(options) == 7
    ((arguments, variables),) = started
    assert arguments[:4] == [sys.executable, "-m", "streamlit", "run"]
    assert Path(arguments[4]).is_absolute()
    assert Path(arguments[4]).name == "main.py"
    assert arguments[5:] == ["--server.port", "9000", "--server.headless", "true"]
    assert variables[environment.CHECKPOINT_VARIABLE] == str(tiny_checkpoint.resolve())


@pytest.mark.parametrize(
    ("options", "variables", "message"),
    [
        (["--checkpoint", "none.safetensors"], {}, "there is no checkpoint none.safetensors: --checkpoint takes a"),
        (["--checkpoint", "/dev/zero"], {}, "there is no checkpoint /dev/zero: --checkpoint takes a"),
        (["--checkpoint", "x" * 5000], {}, "--checkpoint takes a .safetensors file"),
        ([], {environment.HOSTS_VARIABLE: "http://a"}, "HEADLIGHT_HOSTS has the entry 'http://a'"),
        ([], {environment.UPLOAD_VARIABLE: "much"}, "HEADLIGHT_UPLOAD_MB is 'much'"),
    ],
)
def test_a_wrong_setting_ends_it_before_anything_starts(
    started: list[tuple[list[str], dict[str, str]]],
    options: list[str],
    variables: dict[str, str],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SystemExit) as ended:
        command.main(options)
    assert ended.value.code == 2
    assert message in capsys.readouterr().err
    assert not started


def test_it_says_its_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        command.main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("headlight 0.")
