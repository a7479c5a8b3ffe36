"""What the cells of notebooks and the code of pages wrote, cached or from a process of its own.

`python docs/generate/cell_outputs.py DIGEST FILE...` runs files and caches their outputs.
"""

import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

from build_cache import ROOT, cached, digest, save
from notebooks import Cell, cells_of, run_notebook


class CellError(Exception):
    """Code of the documentation does not run."""


class CellOutputs:
    """Outputs of files by their path: those of earlier builds, or of a process that runs beside this one.

    That process imports the code of now, even if this one has imported an earlier state of it.
    """

    def __init__(self, program: str, paths: list[Path]) -> None:
        """Start the process if outputs of a file are not in the cache.

        Args:
            program: digest of the code that the files call.
            paths: notebooks, and pages with blocks of Python.
        """
        self._keys = {path: _key(program, path) for path in paths}
        stale = [str(path) for path, key in self._keys.items() if cached(path.stem, key) is None]
        command = [sys.executable, __file__, program, *stale]
        env = {**os.environ, "OMP_NUM_THREADS": "1"}  # for small models, more threads wait for each other
        options = {"stderr": subprocess.PIPE, "text": True, "cwd": ROOT, "env": env}
        self._process = subprocess.Popen(command, **options) if stale else None

    def cells(self, path: Path) -> list[Cell]:
        """Return the cells of a file, as soon as all files have run.

        Raises:
            CellError: a cell of any file failed.
        """
        if self._process is not None:
            errors = self._process.communicate()[1]
            if self._process.returncode:
                raise CellError(f"code of the documentation does not run; correct it or what it calls:\n{errors}")
            self._process = None
        return [Cell(**cell) for cell in cached(path.stem, self._keys[path]) or []]


def _key(program: str, path: Path) -> str:
    code = [Path(__file__).with_name(f"{name}.py").read_bytes() for name in ("notebooks", "cell_outputs")]
    return digest(program, *code, json.dumps(cells_of(path)))


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    for file in map(Path, sys.argv[2:]):
        save(file.stem, _key(sys.argv[1], file), [asdict(cell) for cell in run_notebook(file)])
