"""`python -m train COMMAND`: prepare data, train, average, evaluate.

`--help` lists the commands.
"""

import sys
from pathlib import Path

from core.files.console import run_program
from core.files.extras import MissingPackageError, needs
from train.runs.run_record import RunFolderError

PROGRAM = script if (script := Path(sys.argv[0]).stem) == "headlight-train" else "python -m train"
try:
    with needs("train", PROGRAM):
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
except MissingPackageError as error:
    sys.exit(str(error))

MODULES = (
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
COMMANDS = {each.__name__.rpartition(".")[2].replace("_", "-"): each.COMMAND for each in MODULES}


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit status, see `run_program`."""
    about = "Prepare data, train, average and evaluate."
    return run_program(PROGRAM, about, COMMANDS, arguments, (RunFolderError,))


if __name__ == "__main__":
    sys.exit(main())
