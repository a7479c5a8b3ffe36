"""Imports go in the order that the contracts of pyproject.toml give, indirect imports included."""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGES = ("core", "train", "viz_app")
WRONG = {  # an import against each contract
    "core/config.py": "import train.recipe",
    "core/model/layers.py": "def late():\n    from core.translator import Translator",
    "train/data/filters.py": "import train.loop",
    "viz_app/session/models.py": "from viz_app.controls import toolbar",
    "viz_app/features/heads/head_detail.py": "import viz_app.features.compare.other_side",
    "viz_app/figures/theme.py": "import streamlit",
    "core/decoding/beam.py": "import plotly",
    "core/analysis/tokens/words.py": "import core.analysis.alignment.aligners",
}
LINTER = "from importlinter.cli import lint_imports_command; lint_imports_command()"


def lint(root: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", LINTER, "--no-cache", "--no-logo"]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=120)


def test_the_contracts_hold() -> None:
    found = lint(ROOT)
    assert found.returncode == 0, found.stdout + found.stderr


def test_every_contract_can_be_broken(tmp_path: Path) -> None:
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for package in PACKAGES:
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    for path, line in WRONG.items():
        with open(tmp_path / path, "a", encoding="utf-8") as file:
            file.write(f"\n{line}\n")
    found = lint(tmp_path)
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    assert found.returncode == 1
    verdicts = re.findall(r"^(.+ (?:KEPT|BROKEN))(?: \(\d+ ignored imports?\))?$", found.stdout, re.MULTILINE)
    assert verdicts == [f"{contract['name']} BROKEN" for contract in contracts]
