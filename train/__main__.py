"""`python -m train COMMAND`: prepare data, train, average, evaluate.

`--help` lists the commands.
"""

import argparse
import signal
import sys

from core.files.console import CommandParser, run_command, show, standard_streams
from core.files.shipped_files import installed_version
from train.runs.run_record import RunFolderError
from train.runs.stop_signals import StoppedError

EXTRA = ("tensorboard", "sacrebleu", "PYEVALB")  # packages of the extra `train`
try:
    from train.cli import (
        average,
        card,
        closest,
        evaluate,
        evaluate_lines,
        evaluate_trees,
        fit,
        history,
        prepare,
        prepare_lines,
        prepare_trees,
        presets,
        synthesize,
        table3,
    )
except ModuleNotFoundError as error:
    package = (error.name or "").partition(".")[0]
    if package not in EXTRA:
        raise
    sys.exit(f"python -m train needs {package}, which is not installed: pip install {' '.join(EXTRA)}")

COMMANDS = (
    prepare,
    prepare_trees,
    prepare_lines,
    closest,
    fit,
    average,
    history,
    evaluate,
    evaluate_trees,
    evaluate_lines,
    card,
    table3,
    presets,
    synthesize,
)


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit status: 1 after an error, which is explained on stderr."""
    parser = build_parser()
    with standard_streams():
        options = parser.parse_args(arguments)
        name = f"{parser.prog} {options.command}"
        try:
            return run_command(name, lambda: options.run(options), (RunFolderError,))
        except StoppedError as stopped:
            show(f"{name}: {stopped}")
            return 128 + stopped.signal_number
        except KeyboardInterrupt:
            show(f"{name}: interrupted; the files already saved are intact")
            return 128 + signal.SIGINT


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands; each sets `run` to its function."""
    parser = CommandParser(prog="python -m train", description="Prepare data, train, average and evaluate.")
    parser.add_argument("--version", action="version", version=f"headlight {installed_version()}")
    commands = parser.add_subparsers(dest="command", required=True, title="commands", metavar="COMMAND")
    for command in COMMANDS:
        command.add_command(commands)
    return parser


if __name__ == "__main__":
    sys.exit(main())
