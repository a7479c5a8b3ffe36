"""Messages of commands have no control characters; closed and full streams end in one line."""

import ast
import io
import os
import pty
import re
import shlex
import sys
from collections.abc import Callable
from multiprocessing.context import ForkServerContext
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from core.cli import commands as core_commands
from core.files.console import CommandParser, command_line, printable, run_command, show, standard_streams
from core.files.number_range import NumberRange
from train import __main__ as train_commands

ROOT = Path(__file__).parents[3]
HARMFUL = [*range(0x20), *range(0x7F, 0xA0), 0xAD, 0x61C, *range(0x200E, 0x2010), *range(0x2028, 0x202F)]
HARMFUL += [*range(0x2060, 0x2070), 0xD800, 0xFEFF, 0xFFF9, 0xE0041, 0x10FFFF]
HARMLESS = "a ä \u00a0 漢\u3000字 👩\u200d🔬 می\u200cخواهم ▁ é e\u0301"


@pytest.mark.parametrize("code", HARMFUL)
def test_characters_that_change_a_terminal_are_escaped_as_python_writes_them(code: int) -> None:
    escaped = printable(f"a{chr(code)}b")
    assert escaped.isprintable()
    assert ast.literal_eval(f"'{escaped}'") == f"a{chr(code)}b"


def test_other_text_stays() -> None:
    assert printable(HARMLESS) == HARMLESS
    assert printable("a\nb\tc\x1b", "\n\t") == "a\nb\tc\\x1b"


def test_an_error_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    def fail() -> None:
        raise ValueError("bad \x1b]0;title\x07\nfile\u202e")

    assert run_command("python -m core inspect", fail) == 1
    assert capsys.readouterr().err == "python -m core inspect: bad \\x1b]0;title\\x07\\nfile\\u202e\n"


@pytest.mark.parametrize(("commands", "name"), [(core_commands, "translate"), (train_commands, "presets")])
def test_arguments_are_refused_without_their_control_characters(
    commands: ModuleType, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A pattern such as `*` may stand for any names of files."""
    with pytest.raises(SystemExit):
        commands.main([name, "--x\x1b]0;title\x07\n.txt\u202e"])
    assert capsys.readouterr().err.endswith("error: unrecognized arguments: --x\\x1b]0;title\\x07\\n.txt\\u202e\n")


def test_a_message_that_cannot_be_written_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    with open("/dev/full", "w", encoding="utf-8") as full:
        monkeypatch.setattr(sys, "stderr", full)
        show("lost")
        monkeypatch.undo()
        with pytest.raises(OSError, match="No space"):
            full.close()


def test_all_messages_are_shown_by_the_console() -> None:
    """Only progress bars are given standard error, to draw on it."""
    found: list[str] = []
    for path in [*ROOT.glob("core/**/*.py"), *ROOT.glob("train/**/*.py")]:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and any(
                word.arg == "file" and ast.unparse(word.value) == "sys.stderr" for word in node.keywords
            ):
                text = ast.unparse(node)
                if not re.match(r"tqdm\(|(\w+\.)+write\(printable\(", text):
                    found.append(f"{path.relative_to(ROOT)}: {text}")
    assert found == ["core/files/console.py: print(printable(message, '\\n\\t'), file=sys.stderr, flush=True)"]


def test_a_terminal_gets_no_control_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = pty.openpty()
    with open(theirs, "w", encoding="utf-8") as terminal:
        monkeypatch.setattr(sys, "stdout", terminal)
        with standard_streams():
            print("piece \x1b[2J\u202e\tnext")
        assert sys.stdout is terminal
        assert os.read(ours, 1000) == b"piece \\x1b[2J\\u202e\tnext\r\n"
    os.close(ours)


def run_with(closed: tuple[int, ...], full: tuple[int, ...], arguments: list[str], out: Path) -> None:
    """Run a command as a shell does with `<&-`, `>&-`, `2>&-`, `>/dev/full`; streams that stay open go to a file."""
    package, *arguments = arguments
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        os.dup2(os.open("/dev/full" if number in full else out / name, os.O_RDWR | os.O_CREAT), number)
        stream = io.TextIOWrapper(
            io.FileIO(number, "rw"[number > 0], closefd=False), "utf-8", line_buffering=number > 1
        )
        setattr(sys, name, None if number in closed else stream)
        if number in closed:
            os.close(number)
    main: Callable[[list[str]], int] = (core_commands if package == "core" else train_commands).main
    status = main(arguments)
    (out / "status").write_text(str(status))
    os._exit(0)  # what is not flushed by now is lost


TRANSLATE = "core translate --checkpoint {checkpoint} --beam-size 1"
NO_INPUT = "standard input is closed: redirect it from a file, or from /dev/null"
NO_OUTPUT = "standard output is closed: redirect it to a file, or to /dev/null"
FULL = "standard output cannot be written (No space left on device): free disk space, or redirect it elsewhere"


@pytest.mark.parametrize(
    ("command", "closed", "full", "message"),
    [
        (TRANSLATE, (0,), (), NO_INPUT),
        (TRANSLATE, (0, 1, 2), (), None),
        (f"{TRANSLATE} --input {{text}}", (1,), (), NO_OUTPUT),
        (f"{TRANSLATE} --input {{text}}", (), (1,), FULL),
        (f"{TRANSLATE} --input {{text}} --output {{out}}/translations", (0, 1), (), ""),
        (f"{TRANSLATE} --input {{text}} --output {{out}}/translations", (0, 1, 2), (), ""),
        ("core score --checkpoint {checkpoint}", (0,), (), NO_INPUT),
        ("core lens --checkpoint {checkpoint} --text Where? --target Wo?", (1,), (), NO_OUTPUT),
        ("core lens --checkpoint {checkpoint} --text Where? --target Wo?", (0, 2), (), ""),
        ("core cut --checkpoint {checkpoint} --text Where? --target Wo? --cut 'cross L1 H1'", (2,), (), ""),
        ("core inspect {checkpoint}", (1,), (), NO_OUTPUT),
        ("core inspect {checkpoint}", (), (1, 2), None),
        ("train presets {checkpoint}", (1,), (), NO_OUTPUT),
        ("train presets {checkpoint}", (0, 2), (), ""),
        ("train card {checkpoint} -o {out}/card.md", (), (1,), FULL),
    ],
)
def test_streams_that_are_closed_or_full(
    command: str,
    closed: tuple[int, ...],
    full: tuple[int, ...],
    message: str | None,
    processes: ForkServerContext,
    tiny_checkpoint: Path,
    tmp_path: Path,
) -> None:
    for name, content in (("text.txt", "Where?\n"), ("stdout", ""), ("stderr", "")):
        (tmp_path / name).write_text(content, encoding="utf-8")
    places = {"checkpoint": tiny_checkpoint, "text": tmp_path / "text.txt", "out": tmp_path}
    arguments = shlex.split(command.format(**places))
    process = processes.Process(target=run_with, args=(closed, full, arguments, tmp_path))
    process.start()
    process.join(60)
    errors = (tmp_path / "stderr").read_text().splitlines()
    assert (tmp_path / "status").read_text() == ("1" if message or message is None else "0"), errors
    if message:
        assert errors[-1] == f"python -m {arguments[0]} {arguments[1]}: {message}"
    assert not any("Traceback" in line for line in errors)
    if "--output" in arguments:
        assert (tmp_path / "translations").read_text().count("\n") == 1
    if message == "" and 1 not in closed:
        assert "python -m" not in (tmp_path / "stdout").read_text(), "messages are not among the results"


@given(st.text(st.sampled_from("-aä ;&|$`'\"\\\n*?~#%<>(){}[]!"), min_size=1))
@example("my model; echo pasted;.safetensors")
@example("--help")
def test_names_in_a_command_are_one_word_each(name: str) -> None:
    program, option, word = shlex.split(command_line("core", "--checkpoint", Path(name)))
    assert (program, option) == ("core", "--checkpoint")
    assert Path(word) == Path(name)
    assert not word.startswith("-")


def test_help_says_a_default_once_and_names_a_value_by_its_type(capsys: pytest.CaptureFixture[str]) -> None:
    parser = CommandParser()
    parser.add_argument("--count", type=NumberRange(int, 1), default=3, help="how many")
    parser.add_argument("--share", type=float, default=0.5)
    parser.add_argument("--output", type=Path, default=Path("out"), help="the file (default: beside the model)")
    parser.add_argument("--quick", action="store_true", help="a short run")
    with pytest.raises(SystemExit):
        parser.parse_args(["--help"])
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert lines[-4:] == [
        "--count N how many (default: 3)",
        "--share X (default: 0.5)",
        "--output FILE the file (default: beside the model)",
        "--quick a short run",
    ]
