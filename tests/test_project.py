"""The README, the guides and the set-up are consistent with the project."""

import argparse
import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
from functools import cache
from importlib.metadata import distribution
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from core.cli.commands import COMMANDS
from core.files.number_range import NumberRange
from core.files.shipped_files import DISTRIBUTION
from train.__main__ import COMMANDS as TRAIN_COMMANDS
from viz_app.page_list import VIEWS

ROOT = Path(__file__).parent.parent
WORKFLOW = ROOT / ".github" / "workflows" / "ci.yml"
README = (ROOT / "README.md").read_text("utf-8")
# A link to a file of the project, with or without a place in it; not within code
LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)")
# Of other programs, which texts name, too: the app, torchrun, git, a measurement of docs/.
OTHER_OPTIONS = {
    "--address",
    "--port",
    "--version",
    "--server",
    "--porcelain",
    "--ordinary",
    "--count",
    "--nnodes",
    "--max-restarts",
}
OTHER_OPTIONS |= {"--nnodes", "--max-restarts", "--nproc-per-node", "--rdzv-endpoint", "--rdzv-id", "--rdzv-backend"}
BLEU_SETS = ("multi30k-test2016", "multi30k-test2017", "tatoeba-dev", "newstest2014")


def blocks(language: str, guide: str = "README.md") -> list[str]:
    fenced = re.findall(r"^```(\w*)\n(.*?)^```$", (ROOT / guide).read_text("utf-8"), re.DOTALL | re.MULTILINE)
    return [block for found, block in fenced if found == language]


def texts() -> list[Path]:
    """All Markdown files of the project, without its environment and its build output."""
    folders = ("docs", "benchmarks", "checkpoints")
    return sorted([*ROOT.glob("*.md"), *(path for folder in folders for path in (ROOT / folder).rglob("*.md"))])


def anchors(text: str) -> set[str]:
    """Names of a text's headings in an address."""
    headings = re.findall(r"^#+ (.+)$", re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def table_rows(text: str) -> list[list[str]]:
    """The cells of all rows of all tables, without the rules below their titles."""
    rows = (line.strip("|").split("|") for line in text.splitlines() if line.startswith("|") and line.strip("|- "))
    return [[cell.strip() for cell in row] for row in rows]


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def pins() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    return {normal(name): version for name, version in (line.split("==") for line in lines if line[0] != "#")}


@cache
def requirements(name: str) -> list[Requirement]:
    return [Requirement(text) for text in distribution(name).requires or []]


@cache
def required(*extras: str) -> set[str]:
    """Names of all distributions that Headlight needs here with these extras, indirectly too, as installed.

    PyTorch's libraries for CUDA, which its CPU builds do without, are left out.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    texts = {"": project["dependencies"], **project["optional-dependencies"]}
    own = {extra: [Requirement(text) for text in texts[extra]] for extra in texts}
    found, waiting = set[tuple[str, str]](), {(DISTRIBUTION, extra) for extra in ("", *extras)}
    while waiting:
        name, extra = waiting.pop()
        found.add((name, extra))
        for requirement in own[extra] if name == DISTRIBUTION else requirements(name):
            if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
                waiting |= {(normal(requirement.name), each) for each in ("", *requirement.extras)} - found
    return {name for name, _ in found if not name.startswith(("nvidia-", "cuda-", "triton"))} - {DISTRIBUTION}


def test_every_dependency_is_pinned() -> None:
    assert required("test") - pins().keys() == set()
    assert all(re.fullmatch(r"\d[\w.]*", version) for version in pins().values()), "only public releases"


def test_the_oldest_python_can_install_the_pinned_versions() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    (oldest,), pinned = SpecifierSet(project["requires-python"]), pins()
    refused = {
        name: versions
        for name in sorted(required("test"))
        if distribution(name).version.partition("+")[0] == pinned[name]  # of other versions nothing is known here
        for versions in distribution(name).metadata.get_all("Requires-Python", [])
        if oldest.version not in SpecifierSet(versions)
    }
    assert refused == {}, f"not for Python {oldest.version}"


def test_the_requirements_with_hashes_have_the_pinned_versions() -> None:
    text = (ROOT / ".ci" / "requirements.txt").read_text("utf-8")
    hashed = re.findall(r"^([\w.-]+)==(\S+)[^\\\n]*((?:\\\n    --hash=sha256:[0-9a-f]{64} ?)+)$", text, re.MULTILINE)
    assert len(hashed) == len(re.findall(r"^\w", text, re.MULTILINE))
    versions = {normal(name): version for name, version, _ in hashed}
    assert required("all") - versions.keys() == set()
    pinned = pins()
    assert {name: version for name, version in versions.items() if pinned.get(name, version) != version} == {}


def test_setup_takes_one_command() -> None:
    set_up = [block for block in blocks("sh") if "venv .venv" in block]
    assert len(set_up) == 2
    assert all(block.count("\n") == 1 and "pip install -c constraints.txt -e" in block for block in set_up)
    assert "streamlit run viz_app/main.py" in set_up[0]
    assert set_up[1].endswith("pytest\n")


def run_ci(folder: Path, failing: str = "") -> tuple[int, list[str]]:
    """Exit status of `.ci/run`, and its calls of programs, which are recorded instead, but for bash, cat and grep."""
    programs, copy = folder / "bin", folder / "clone"
    for path in (programs, copy / ".ci", copy / ".venv" / "bin"):
        path.mkdir(parents=True)
    names = ("python3", "python", "apt-get", "ruff", "pyright", "lint-imports", "mktemp", "mkdocs", "rm", "node")
    for program in (
        *(programs / name for name in names),
        *(copy / ".venv" / "bin" / name for name in ("pip", "pytest")),
    ):
        name = program.relative_to(copy) if program.is_relative_to(copy) else program.name
        # what a program prints is read as a folder: of Node.js, and for temporary files
        record = f'echo "{name} $@" >> "{folder}/calls"\necho "{folder}"'
        program.write_text(f"#!/bin/sh\n{record}\nexit {int(program.name == failing)}\n")
        program.chmod(0o755)
    shutil.copy(ROOT / ".ci" / "run", copy / ".ci" / "run")
    shutil.copy(ROOT / "README.md", copy)
    environment = {"PATH": f"{programs}:/usr/bin:/bin"}
    done = subprocess.run([copy / ".ci" / "run"], env=environment, capture_output=True)
    calls = [call.rstrip() for call in (folder / "calls").read_text().splitlines()]
    return done.returncode, [call for call in calls if not call.startswith(("apt-get", "python3 -c", "python -c"))]


def test_ci_runs_the_command_of_the_readme_and_all_other_checks(tmp_path: Path) -> None:
    status, calls = run_ci(tmp_path)
    assert status == 0
    assert calls[:3] == ["python3 -m venv .venv", ".venv/bin/pip install -c constraints.txt -e .[test]", "mktemp -d"]
    assert calls[-3:] == [".venv/bin/pytest", ".venv/bin/pytest --disturb 1", f"rm -r {tmp_path}"]
    npm = f"{tmp_path}/lib/node_modules/npm/bin/npm-cli.js"
    assert sorted(calls[3:-3]) == [
        "lint-imports --no-cache",
        f"mkdocs build --quiet --site-dir {tmp_path}/site",
        f"node {npm} --prefix .ci/javascript ci --no-audit --no-fund",
        f"node {npm} --prefix .ci/javascript run check",
        "pyright",
        "ruff check",
        "ruff format --check",
    ]


def test_forges_run_the_same_command() -> None:
    (job,) = yaml.safe_load(WORKFLOW.read_text("utf-8"))["jobs"].values()
    assert [step["run"] for step in job["steps"] if "run" in step] == [".ci/run"]


def test_the_root_has_few_files() -> None:
    """Of tools only those that look nowhere else."""
    tracked = subprocess.run(["git", "-C", ROOT, "ls-files", ":(glob)*"], capture_output=True, text=True).stdout
    assert len(tracked.splitlines()) <= 14, tracked


@pytest.mark.parametrize("failing", ["pip", "ruff", "mkdocs", "node", "pytest"])
def test_ci_fails_if_any_check_fails(tmp_path: Path, failing: str) -> None:
    status, calls = run_ci(tmp_path, failing)
    assert status == 1
    assert (".venv/bin/pytest" in calls) == (failing == "pytest")


def test_browser_tests_and_no_others_are_run_again_in_ci(request: pytest.FixtureRequest) -> None:
    for item in request.session.items:
        is_browser_test = item.get_closest_marker("browser") is not None
        is_run_again = item.get_closest_marker("flaky") is not None
        assert is_run_again == (is_browser_test and bool(os.environ.get("CI"))), item.nodeid


def test_every_folder_has_quick_tests(request: pytest.FixtureRequest) -> None:
    """Every one whose files are all collected, as they are with the whole suite and with `-m quick`."""
    items = request.session.items
    files = {item.path for item in items}
    quick = {item.path.parent for item in items if item.get_closest_marker("quick")}
    whole = {path.parent for path in files if set(path.parent.glob("test_*.py")) <= files}
    assert sorted(whole - quick) == []


def test_the_file_map_names_what_is_there() -> None:
    (file_map,) = blocks("", "docs/file_map.md")
    folder = ROOT
    for line in file_map.splitlines():
        path = line.split()[0]
        if not line.startswith(" "):
            folder = ROOT / path
            assert folder.exists(), path
        else:
            assert (folder / path).exists(), line
            for other in re.findall(r"\b\w+\.py\b", line):
                assert (folder / other).exists() or (folder / path / other).exists(), line


@pytest.mark.parametrize("package", ["core", "train", "viz_app"])
def test_the_file_map_leaves_out_no_module(package: str) -> None:
    (file_map,) = blocks("", "docs/file_map.md")
    part = file_map.partition(f"{package}/ ")[2]
    named = set(re.findall(r"[\w.]+", re.split(r"^\S", part, maxsplit=1, flags=re.MULTILINE)[0]))
    there = {path.parent.name if path.stem == "__init__" else path.name for path in (ROOT / package).rglob("*.py")}
    top = {path.name for path in (ROOT / package).iterdir()} - {"__init__.py"}
    assert sorted(there & top - named) == []


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", "docs/architecture.md"])
def test_every_path_that_the_guides_name_is_there(name: str) -> None:
    text = (ROOT / name).read_text("utf-8")
    paths = re.findall(r"`((?:core|train|viz_app|tests|docs|benchmarks)/[\w/]+\.\w+)`", text)
    assert paths
    assert [path for path in paths if "NAME" not in path and not (ROOT / path).exists()] == []


EXAMPLES = [
    (guide, number) for guide in ("README.md", "docs/python.md") for number in range(len(blocks("python", guide)))
]


@pytest.mark.parametrize(("guide", "number"), EXAMPLES)
def test_the_examples_run(guide: str, number: int, tiny_checkpoint: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On a small model, which is quick."""
    example = blocks("python", guide)[number]
    replaced = example.replace("checkpoints/en-de.safetensors", str(tiny_checkpoint)).replace(
        '["cross"][4]', '["cross"][1]'
    )
    replaced = (
        replaced.replace('PRESETS["base"]', 'PRESETS["tiny"]')
        .replace("37_000", "60")
        .replace("decoder.layers.5", "decoder.layers.1")
        .replace("decoder.5.", "decoder.1.")
    )
    assert replaced != example
    exec(compile(replaced, guide, "exec"), {})
    assert capsys.readouterr().out


def test_the_examples_have_types(tmp_path: Path) -> None:
    """As a script of a user, in another folder and with strict checks."""
    for guide, number in EXAMPLES:
        (tmp_path / f"{Path(guide).stem}{number}.py").write_text(blocks("python", guide)[number], "utf-8")
    (tmp_path / "pyrightconfig.json").write_text('{"typeCheckingMode": "strict"}', "utf-8")
    command, environment = [sys.executable, "-m", "pyright", "-p", tmp_path], os.environ | {"PYTHONPATH": str(ROOT)}
    command += ["--pythonpath", sys.executable]
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 errors" in done.stdout


def test_the_readme_is_short() -> None:
    assert len(README.encode()) <= 9_000, "texts belong into docs/"
    (example,) = blocks("python")
    assert len([line for line in example.splitlines() if line]) == 6, "six lines of Python"
    assert re.findall(r"^(\d)\. ", README, re.MULTILINE) == list("12345"), "five things to try"
    assert all("--depth 1" in command for command in re.findall(r"git clone .*", README))


def test_the_readme_has_every_checkpoint_with_the_scores_of_its_card() -> None:
    """BLEU of each test set, and the size; of parsing and pictures the score that is their measure."""
    named = set[str]()
    for row in table_rows(README):
        if not (link := re.fullmatch(r"\[(.+)\]\(checkpoints/(.+)\.md\)", row[0])):
            continue
        assert link[1] == link[2]
        name = link[1]
        named.add(name)
        card = (ROOT / "checkpoints" / f"{name}.md").read_text("utf-8")
        facts = {cells[0]: cells[1] for cells in table_rows(card) if len(cells) == 2}
        assert row[2] == f"{int(facts['parameters'].replace(',', '')) / 1e6:.1f} M", name
        assert row[3] == facts["file"].removesuffix(", float16"), name
        scores = table_rows(card.partition("\n## Scores\n")[2].partition("\n## ")[0])
        if scores[0][2] != "BLEU":  # F1, or character error rates
            assert re.findall(r"(\d+\.\d+) ", row[4] + " ")[: len(scores) - 1] == [cells[2] for cells in scores[1:]], (
                name
            )
            assert f"checkpoints/{name}.safetensors" in row[5], "the command names the checkpoint"
            continue
        option = re.search(r"--iterations (\d+)", row[8])
        of_row = [cells for cells in scores[1:] if option is None or cells[-1] == option[1]]
        assert {cells[0]: float(cells[2]) for cells in of_row} == {
            each: float(cell) for each, cell in zip(BLEU_SETS, row[4:8], strict=True) if cell
        }, name
        titles = dict(zip(scores[0], of_row[0], strict=True))
        for title, default in (("beam size", "4"), ("length penalty", "0.6")):
            given = re.search(rf"--{title.replace(' ', '-')} ([\d.]+)", row[8])
            assert titles[title] == (given[1] if given else default), (name, title)
        assert (signature := re.search(r"^- BLEU: (`.+`)$", card, re.MULTILINE))
        assert f"sacreBLEU signature {signature[1]}" in README, name
    assert named == {path.stem for path in (ROOT / "checkpoints").glob("*.safetensors")}


def test_the_results_are_those_of_the_cards() -> None:
    """Rows that name a test set: BLEU, chrF, other kinds of BLEU, and perplexity."""
    sets = dict(zip(("test_2016_flickr", "test_2017_flickr", "dev", "newstest2014"), BLEU_SETS, strict=True))
    compared = 0
    for section in (ROOT / "docs" / "results.md").read_text("utf-8").split("\n## "):
        if not (link := re.search(r"\[card\]\(\.\./checkpoints/(.+)\.md\)", section)):
            continue
        card = (ROOT / "checkpoints" / f"{link[1]}.md").read_text("utf-8")
        scores = {cells[0]: cells for cells in table_rows(card) if cells[0] in BLEU_SETS and len(cells) > 6}
        for row in table_rows(section):
            name, _, seed = row[0].partition(", ")
            test_set = sets.get(name.split(" ")[-1])
            if test_set is None or seed not in ("", "seed 1"):  # the checkpoints of other seeds are not shipped
                continue
            compared += 1
            in_card = scores[test_set]
            assert int(row[1].replace(",", "")) == int(in_card[1])
            assert [float(cell) for cell in row[2:6]] == [float(cell) for cell in in_card[2:6]], row
            assert abs(float(row[6]) - float(in_card[6])) <= 0.0051, row
    assert compared == 2 * 4 + 2 * 2


def test_the_pages_of_the_app_are_listed_in_the_order_of_the_sidebar() -> None:
    listed = re.findall(r"^\| \[(.+)\]\(pages/(\w+)\.md\) \|", (ROOT / "docs/app.md").read_text("utf-8"), re.MULTILINE)
    assert listed == [(page.title, page.name) for page in VIEWS]
    assert [page.name for page in VIEWS if not (ROOT / "docs" / "pages" / f"{page.name}.png").exists()] == []


def parsers() -> dict[str, argparse.ArgumentParser]:
    """The parser of each command, by its name with its package: `core translate`."""
    found = dict[str, argparse.ArgumentParser]()
    for package, commands in (("core", COMMANDS), ("train", TRAIN_COMMANDS)):
        for name, (_, add_arguments, _) in commands.items():
            add_arguments(found.setdefault(f"{package} {name}", argparse.ArgumentParser()))
    return found


def test_every_command_is_in_the_documentation() -> None:
    of_core = (ROOT / "docs/command_line.md").read_text("utf-8")
    everything = "".join(path.read_text("utf-8") for path in (ROOT / "docs").rglob("*.md"))
    missing = [
        name
        for name in parsers()
        if not re.search(rf"python -m {name}\b", everything)
        and not (name.startswith("core ") and f"`{name.removeprefix('core ')}`" in of_core)
    ]
    assert missing == [], (
        "an example in the page of its view, docs/command_line.md or docs/training.md, or a sentence on what it writes"
    )


def test_every_example_of_a_command_has_its_options() -> None:
    known, unknown, compared = parsers(), list[str](), 0
    for path in texts():
        for block in re.findall(r"^```sh\n(.*?)^```$", path.read_text("utf-8"), re.DOTALL | re.MULTILINE):
            if "git checkout" in block:  # an earlier commit, whose options are others
                continue
            called = re.findall(r"-m (core|train) (?:-- )?([a-z][\w-]*)([^|<>;&\n#]*)", block.replace("\\\n", " "))
            for package, command, arguments in called:
                name, compared = f"{package} {command}", compared + 1
                options = re.findall(r"(?<!\S)--?[a-z][\w-]*", arguments)
                there = known[name]._option_string_actions if name in known else {}
                unknown += [f"{path.name}: {name} {option}" for option in options if option not in there]
                unknown += [f"{path.name}: {name}"] * (name not in known)
    assert compared > 20
    assert unknown == []


def test_every_number_of_a_command_has_a_range(capsys: pytest.CaptureFixture[str]) -> None:
    """All else, infinity and what is not a number included, is refused before the command starts."""
    actions = [(name, parser, action) for name, parser in parsers().items() for action in parser._actions]
    compared = 0
    for name, parser, action in actions:
        (option, *_), allowed = action.option_strings or [action.dest], action.type
        if allowed in (None, Path, str):
            continue
        compared += 1
        assert isinstance(allowed, NumberRange), f"{name} {option}"
        for text in ("nan", "inf", "-inf", "x", f"{allowed.least - 1}", f"{allowed.most + 1}"):
            with pytest.raises(SystemExit):
                parser.parse_args([f"{option}={text}"])
            assert f"argument {option}: {text} must be {allowed}" in capsys.readouterr().err, name
    assert compared > 100


def test_options_that_texts_of_the_program_name_exist() -> None:
    """In errors, help and explanations, so that none recommends what no command has."""
    known = OTHER_OPTIONS | {option for parser in parsers().values() for option in parser._option_string_actions}
    for package in ("core", "train"):
        for path in (ROOT / package).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*[a-z](?![\w-]|\(|:)", node.value))
                    assert named <= known, f"{path}, line {node.lineno}"


@pytest.mark.parametrize("guide", texts(), ids=lambda guide: str(guide.relative_to(ROOT)))
def test_every_link_to_a_file_leads_to_it(guide: Path) -> None:
    """To its heading, too. MkDocs checks links between its pages, not those of the README or to other files."""
    text = re.sub(r"^```.*?^```$|`[^`\n]+`", "", guide.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    for path, anchor in LINK.findall(text):
        linked = guide.parent / path if path else guide
        assert linked.exists(), path
        if anchor and linked.suffix == ".md":
            assert anchor in anchors(linked.read_text("utf-8")), f"{path}#{anchor}"


def test_pre_commit_downloads_nothing() -> None:
    config = (ROOT / ".pre-commit-config.yaml").read_text("utf-8")
    assert set(re.findall(r"repo: (.+)", config)) == {"local"}
    assert set(re.findall(r"language: (.+)", config)) == {"system"}
    assert all(entry.startswith(".venv/bin/") for entry in re.findall(r"entry: (.+)", config))


def test_the_sanitizers_check_the_instruction_sets_that_are_installed() -> None:
    modules = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]["ext-modules"]
    installed = {
        (module["name"].rpartition("_")[2], argument.removeprefix("-march="))
        for module in modules
        for argument in module["extra-compile-args"]
        if argument.startswith("-march=")
    }
    checked = re.findall(r"\[(\w+)\]=([\w-]+)", (ROOT / ".ci" / "sanitizers").read_text("utf-8"))
    assert set(checked) == installed


def test_nothing_names_a_package_registry() -> None:
    paths = [ROOT / name for name in ("README.md", "constraints.txt", "pyproject.toml")]
    for path in (*paths, *(ROOT / ".ci").glob("*"), *(ROOT / ".ci/javascript").glob("*.*"), WORKFLOW):
        text = path.read_text("utf-8") if path.is_file() else ""
        assert not re.search(r"pypi\.|index-url|find-links|registry\.npmjs|file://", text), path
