"""`.ci/audit` finds the entries of an advisory database about the versions of this project."""

import json
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from packaging.utils import canonicalize_name

AUDIT = Path(__file__).parent.parent / ".ci" / "audit"
LINES = (AUDIT.parents[1] / "constraints.txt").read_text("utf-8").splitlines()
(TORCH,) = (line.removeprefix("torch==") for line in LINES if line.startswith("torch=="))


def advisory(folder: Path, name: str, number: int, events: list[dict[str, str]], **more: object) -> None:
    affected = {
        "package": {"ecosystem": "PyPI", "name": name},
        "ranges": [{"type": "GIT", "events": [{"introduced": "0"}]}, {"type": "ECOSYSTEM", "events": events}],
        **({"versions": more.pop("versions")} if "versions" in more else {}),
    }
    path = folder / "vulns" / name.lower() / f"PYSEC-2026-{number}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump({"id": path.stem, "affected": [affected], "aliases": ["CVE-1"], **more}), "utf-8")


def test_ranges_lists_and_withdrawn_advisories(tmp_path: Path) -> None:
    introduced = {"introduced": "0"}
    advisory(tmp_path, "Torch", 1, [introduced, {"last_affected": TORCH}])
    advisory(tmp_path, "torch", 2, [introduced, {"fixed": "2.6.0-cu124"}, {"introduced": TORCH}, {"fixed": "999"}])
    advisory(tmp_path, "torch", 3, [introduced, {"fixed": "1"}], versions=[TORCH])
    advisory(tmp_path, "torch", 11, [introduced, {"fixed": TORCH}])  # the lowest version only
    advisory(tmp_path, "torch", 21, [introduced, {"last_affected": "2.6"}])
    advisory(tmp_path, "torch", 22, [introduced], withdrawn="2026-01-01T00:00:00Z")
    advisory(tmp_path, "no-such-package", 23, [introduced])
    command = [sys.executable, AUDIT, tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (1, "")
    *lines, summary = done.stdout.splitlines()
    pinned = f"torch {TORCH} (pinned)"
    assert [line for line in lines if line.startswith(pinned)] == [
        f"{pinned}: PYSEC-2026-{number} CVE-1" for number in (1, 2, 3)
    ]
    lowest = [line for line in lines if not line.startswith(pinned)]
    assert [line.split(": ")[1] for line in lowest] == ["PYSEC-2026-1 CVE-1", "PYSEC-2026-11 CVE-1"]
    assert all(line.startswith("torch 2.") and "(lowest)" in line for line in lowest)
    assert summary.startswith("7 advisories, ")
    assert summary.endswith(" pinned distributions: 5 matches")


def test_nothing_found_is_said_and_so_is_nothing_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    audit = runpy.run_path(str(AUDIT))["main"]
    assert audit(tmp_path) == 2
    error = capsys.readouterr().err
    assert f"{tmp_path} has no files vulns/*/*.yaml: give a checkout of the advisory database" in error
    advisory(tmp_path, "torch", 1, [{"introduced": "0"}, {"fixed": "2"}])
    assert audit(tmp_path) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("1 advisories, ")
    assert printed.endswith(" pinned distributions: no matches\n")


def test_the_page_counts_what_is_compared() -> None:
    versions = runpy.run_path(str(AUDIT))["versions"]()
    pinned = {canonicalize_name(name) for name, _, kind in versions if kind == "pinned"}
    root = AUDIT.parents[1]
    packages = json.loads((root / ".ci/javascript/package-lock.json").read_text("utf-8"))["packages"]
    counts = re.findall(r"\((\d+)", (root / "docs" / "audit.md").read_text("utf-8").split("|")[0])
    assert counts == [str(len(pinned)), str(len(packages.keys() - {""}))]


def test_versions_of_other_systems_are_pinned_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    advisory(tmp_path, "tzdata", 1, [{"introduced": "0"}])
    assert runpy.run_path(str(AUDIT))["main"](tmp_path) == 1
    assert re.match(r"tzdata \S+ \(pinned\): PYSEC-2026-1 ", capsys.readouterr().out)
