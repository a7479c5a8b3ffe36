"""Imports go in the order that the contracts of pyproject.toml give, indirect ones and those in functions included."""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("core", "train", "viz_app")
WRONG = {  # an import against each contract
    "core/model/config.py": "import train.recipe",
    "core/model/layers.py": "def late():\n    from core.translator import Translator",
    "train/data/filters.py": "import train.loop",
    "viz_app/session/models.py": "from viz_app.controls import toolbar",
    "viz_app/views/heads/grid/head_detail.py": "import viz_app.views.compare.one_sentence.other_side",
    "viz_app/drawing/head_names.py": "import streamlit",
    "core/decoding/beam.py": "import plotly",
    "viz_app/frame/badges.py": "import core.native.library",
    "core/analysis/tokens/words.py": "def late():\n    import core.analysis.alignment.aligners",
}
# The command `lint-imports`, in one folder after another.
LINTER = """
import os, sys
from importlinter.cli import lint_imports

for folder in sys.argv[1:]:
    os.chdir(folder)
    sys.path[0] = folder
    print("exit status", lint_imports(no_cache=True, no_logo=True))
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The findings in the project, and in a copy with the imports of `WRONG`; each ends with the exit status."""
    copy = tmp_path_factory.mktemp("wrong")
    shutil.copy(ROOT / "pyproject.toml", copy)
    for package in PACKAGES:
        shutil.copytree(ROOT / package, copy / package, ignore=shutil.ignore_patterns("__pycache__"))
    for path, line in WRONG.items():
        with open(copy / path, "a", encoding="utf-8") as file:
            file.write(f"\n{line}\n")
    command = [sys.executable, "-c", LINTER, ROOT, copy]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return re.findall(r".*?exit status \d\n", done.stdout, re.DOTALL)


def test_the_contracts_hold(found: list[str]) -> None:
    assert found[0].endswith("exit status 0\n"), found[0]


def test_every_contract_can_be_broken(found: list[str]) -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    assert found[1].endswith("exit status 1\n")
    verdicts = re.findall(r"^(.+ (?:KEPT|BROKEN))$", found[1], re.MULTILINE)
    assert verdicts == [f"{contract['name']} BROKEN" for contract in contracts]
