"""`python -m train COMMAND`: prepare data, train, average, evaluate.

`--help` lists the commands.
"""

import sys
from importlib import import_module
from pathlib import Path

from core.files.console import Command, run_program
from core.files.extras import MissingPackageError, needs
from train.runs.run_record import RunFolderError

NAMES = (
    *("prepare", "prepare-trees", "prepare-lines", "closest", "fit", "average", "history"),
    *("evaluate", "evaluate-trees", "evaluate-lines", "card", "table3", "presets"),
)
PROGRAM = script if (script := Path(sys.argv[0]).stem) == "headlight-train" else "python -m train"
try:
    with needs("train", PROGRAM):
        COMMANDS: dict[str, Command] = {
            name: import_module(f"train.cli.{name.replace('-', '_')}").COMMAND for name in NAMES
        }
except MissingPackageError as error:
    sys.exit(str(error))


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit status, see `run_program`."""
    about = "Prepare data, train, average and evaluate."
    return run_program(PROGRAM, about, COMMANDS, arguments, (RunFolderError,))


if __name__ == "__main__":
    sys.exit(main())
