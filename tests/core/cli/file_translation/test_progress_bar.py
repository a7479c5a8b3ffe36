"""Progress on a terminal and elsewhere."""

import re
from contextlib import closing
from types import SimpleNamespace

import pytest

from core.cli.file_translation import progress_bar
from core.cli.file_translation.progress_bar import LineProgress


def test_lines_now_and_then_without_a_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    seconds = 0.0
    monkeypatch.setattr(progress_bar, "time", SimpleNamespace(monotonic=lambda: seconds))
    with closing(LineProgress(total=1000, done=200)) as progress:
        for seconds, done in ((10.0, 250), (40.0, 400), (60.0, 500), (80.0, 600)):  # noqa: B007
            progress.update(done)
        progress.message("line 7 is bad")
        seconds = 100.0
        progress.update(1000)
        progress.complete()
    assert capsys.readouterr().err.splitlines() == [
        "400/1000 lines, 5.0 lines/s, 00:40 so far, 02:00 left",
        "600/1000 lines, 5.0 lines/s, 01:20 so far, 01:20 left",
        "line 7 is bad",
        "1000/1000 lines, 8.0 lines/s, 01:40 so far",
    ]


def test_an_input_of_unknown_length(capsys: pytest.CaptureFixture[str]) -> None:
    with closing(LineProgress(total=None, done=0)) as progress:  # closed before the end, as by an error
        progress.update(5)
    assert capsys.readouterr().err.startswith("5/? lines, ")
    with closing(LineProgress(total=None, done=0)) as progress:
        progress.update(7)
        progress.complete()
    assert capsys.readouterr().err.startswith("7/7 lines, ")


def test_the_bar_of_a_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    with closing(LineProgress(total=4, done=1)) as progress:
        progress.update(2)
        progress.message("line 7 is bad")
        progress.update(4)
    err = capsys.readouterr().err
    assert "line 7 is bad\n" in err
    assert re.search(r"\| 4/4 \[", err)
