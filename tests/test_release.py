"""A release: one version everywhere, and every file that the code looks for in the wheel."""

import importlib
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from multiprocessing.context import ForkServerContext
from pathlib import Path

import pytest

from viz_app.language import ENGLISH, LANGUAGES

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_version_changelog_and_citation_agree() -> None:
    version = PROJECT["project"]["version"]
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.search(r"^## (Unreleased|(\S+) \((\d{4}-\d\d-\d\d)\))$", changes, re.MULTILINE)
    assert newest, "a section is `## 1.2.3 (2026-01-31)`, or `## Unreleased`"
    released = re.search(rf"^## {re.escape(version)} \((\S+)\)$", changes, re.MULTILINE)
    assert released
    assert newest[2] in (version, None)
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {version}\n" in citation
    assert f"\ndate-released: {released[1]}\n" in citation


def test_the_wheel_carries_one_model_with_its_card_and_table_3() -> None:
    folders = PROJECT["tool"]["setuptools"]["data-files"]
    experiments = [f"docs/table3/{path.name}" for path in (ROOT / "docs/table3").iterdir()]
    assert experiments
    for name in experiments:
        assert folders[f"share/headlight/{name}"] == [f"{name}/*"]
    assert folders["share/headlight/docs/measurements"] == ["docs/measurements/extrapolation.csv"]
    files = [path for pattern in folders["share/headlight/checkpoints"] for path in ROOT.glob(pattern)]
    assert {path.name.partition(".")[0] for path in files} == {"en-de"}
    assert {".safetensors", ".md"} <= {path.suffix for path in files}
    assert sum(path.stat().st_size for path in files) < 30e6


def test_a_wheel_has_no_module_that_was_deleted(tmp_path: Path) -> None:
    """With the setup of this project, in a small one that was built before."""
    shutil.copy(ROOT / "setup.py", tmp_path)
    (tmp_path / "pyproject.toml").write_text(
        '[project]\nname = "small"\nversion = "1"\n[tool.setuptools.packages.find]\ninclude = ["core*"]\n', "utf-8"
    )
    for file in ("core/__init__.py", "core/kept.py", "build/lib/core/deleted.py", "build/lib/gone/__init__.py"):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).touch()
    subprocess.run([sys.executable, "setup.py", "-q", "build"], cwd=tmp_path, check=True)
    built = {str(path.relative_to(tmp_path / "build/lib")) for path in (tmp_path / "build/lib").rglob("*.py")}
    assert built == {"core/__init__.py", "core/kept.py"}


@pytest.mark.parametrize("editable", [False, True])
def test_a_build_has_the_compiled_texts_of_every_language_and_not_their_sources(tmp_path: Path, editable: bool) -> None:
    """With the setup of this project, in a small one: in an editable one they are beside their sources."""
    folder = "viz_app/language/catalogues"
    shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("*.mo"))
    shutil.copy(ROOT / "setup.py", tmp_path)
    (tmp_path / "viz_app/__init__.py").touch()
    settings = {name: PROJECT["tool"]["setuptools"][name] for name in ("package-data", "exclude-package-data")}
    (tmp_path / "pyproject.toml").write_text(
        '[project]\nname = "small"\nversion = "1"\n[tool.setuptools.packages.find]\ninclude = ["viz_app*"]\n'
        + "".join(
            f"[tool.setuptools.{name}]\n" + "".join(f"{json.dumps(key)} = {values}\n" for key, values in found.items())
            for name, found in settings.items()
        ),
        "utf-8",
    )
    build = ["egg_info", "build"] if not editable else ["editable_wheel", "--dist-dir", "dist"]
    subprocess.run([sys.executable, "setup.py", "-q", *build], cwd=tmp_path, check=True)
    built = tmp_path if editable else tmp_path / "build/lib"
    names = {f"{folder}/{code}/LC_MESSAGES/headlight" for code in LANGUAGES if code != ENGLISH}
    assert all((built / f"{name}.mo").stat().st_size > 100_000 for name in names)
    assert list((tmp_path / "build/lib").rglob("*.po")) == []
    if not editable:
        in_archive = (tmp_path / "small.egg-info" / "SOURCES.txt").read_text("utf-8").splitlines()
        assert {f"{name}.po" for name in names} <= set(in_archive)


@pytest.mark.parametrize("name", [*PROJECT["project"]["scripts"], "python -m core", "python -m train"])
def test_every_command_says_its_version(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module, _, function = PROJECT["project"]["scripts"].get(name, f"{name[10:]}.__main__:main").partition(":")
    monkeypatch.setattr(sys, "argv", [name, "--version"])
    with pytest.raises(SystemExit) as end:
        getattr(importlib.import_module(module), function)()
    assert end.value.code == 0
    assert capsys.readouterr().out == f"headlight {PROJECT['project']['version']}\n"


@pytest.mark.parametrize("name", PROJECT["project"]["scripts"])
def test_messages_name_the_program_that_was_called(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module, _, function = PROJECT["project"]["scripts"][name].partition(":")
    monkeypatch.setattr(sys, "argv", [f"/usr/bin/{name}", "--no-such-option"])
    monkeypatch.delitem(sys.modules, module)
    with pytest.raises(SystemExit):
        getattr(importlib.import_module(module), function)()
    assert f"\n{name}: error: " in capsys.readouterr().err


def test_all_third_party_files_are_named_in_the_notice() -> None:
    notice = (ROOT / "NOTICE").read_text(encoding="utf-8").lower()
    vendored = [path.name for path in (ROOT / "viz_app/drawing/vendor").glob("*.js")]
    assert vendored
    for name in vendored:
        library, version = re.match(r"([a-z0-9]+)-([0-9.]+[0-9])", name).groups()  # pyright: ignore[reportOptionalMemberAccess]
        assert f"{library} {version}" in notice


def test_no_text_tells_to_install_headlight_by_its_name() -> None:
    """On the index there is another project of that name."""
    by_name = re.compile(r"""install (?:-\S+ )*["']?headlight\b(?!-\S*whl|\.whl)""")
    suffixes = (".py", ".md", ".json", ".ipynb", ".toml")
    folders = (ROOT / name for name in ("core", "train", "viz_app", "docs"))
    files = [path for folder in folders for path in folder.rglob("*") if path.suffix in suffixes]
    assert len(files) > 500
    assert [path for path in (*files, *ROOT.glob("*.md")) if by_name.search(path.read_text("utf-8"))] == []
    assert by_name.search("pip install 'headlight[train]'")


def import_training(stderr: Path) -> None:
    """Import the command line of training as if sacreBLEU were not installed."""
    with stderr.open("w") as file:
        os.dup2(file.fileno(), 2)
    for name in [name for name in sys.modules if name.partition(".")[0] in ("train", "sacrebleu")]:
        del sys.modules[name]  # imported in advance in some processes
    sys.modules["sacrebleu"] = None  # type: ignore[assignment]
    importlib.import_module("train.__main__")


def test_training_without_its_packages_names_them(processes: ForkServerContext, tmp_path: Path) -> None:
    process = processes.Process(target=import_training, args=(tmp_path / "stderr.txt",))
    process.start()
    process.join(60)
    assert process.exitcode == 1
    err = (tmp_path / "stderr.txt").read_text()
    assert "python -m train needs sacrebleu, which is not installed: install Headlight with its extra `train`" in err
