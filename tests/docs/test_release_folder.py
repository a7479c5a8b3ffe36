"""A release as one folder: its notes, its source, its checksums, and the check of its wheel."""

import hashlib
import re
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest

from docs import release

CHANGES = (
    "# Changelog\n\n## Unreleased\n\n- Later.\n\n## 1.2.0 (2026-01-02)\n\n- New.\n\n## 1.1.0 (2025-01-02)\n\n- Old.\n"
)


def test_the_notes_are_those_of_the_version() -> None:
    assert release.notes("1.2.0", CHANGES) == "# Headlight 1.2.0 (2026-01-02)\n\n- New.\n\n"
    assert release.notes("1.1.0", CHANGES) == "# Headlight 1.1.0 (2025-01-02)\n\n- Old.\n"
    with pytest.raises(ValueError, match=r"has no section of version 1\.3\.0, which pyproject\.toml names: write it"):
        release.notes("1.3.0", CHANGES)


def test_a_folder_with_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "old.whl").touch()
    with pytest.raises(SystemExit, match=re.escape(f"error: {tmp_path} is not empty: give a new folder")):
        release.main([str(tmp_path)])


def test_what_is_not_committed_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(release, "_output", lambda *_: " M core/trace.py\n")
    with pytest.raises(ValueError, match=r"is made of what is committed, and this is not: M core/trace\.py"):
        release.release(tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_source_archive_has_all_committed_files_but_the_checkpoints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a small repository."""
    project, archive = tmp_path / "project", tmp_path / "headlight_transformer-1.2.tar.gz"
    for name in ("core/a.py", "checkpoints/a.safetensors"):
        (project / name).parent.mkdir(parents=True)
        (project / name).write_text(name)
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    for command in (["init", "-q"], ["add", "."], [*identity, "commit", "-qm", "All"]):
        subprocess.run(["git", *command], cwd=project, check=True)
    (project / "core" / "uncommitted.py").touch()
    monkeypatch.setattr(release, "ROOT", project)
    release.write_source_archive(archive)
    with tarfile.open(archive) as source:
        files = {member.name for member in source if member.isfile()}
    assert files == {"headlight_transformer-1.2/core/a.py"}


def test_the_checksums_are_of_all_files(tmp_path: Path) -> None:
    (tmp_path / "page").mkdir()
    (tmp_path / "page" / "index.html").write_bytes(b"page")
    (tmp_path / "NOTES.md").write_bytes(b"notes")
    sums = dict(reversed(line.split("  ")) for line in release.checksums(tmp_path).splitlines())
    assert sums == {
        "NOTES.md": hashlib.sha256(b"notes").hexdigest(),
        "page/index.html": hashlib.sha256(b"page").hexdigest(),
    }


def small_wheel(folder: Path, code: str) -> Path:
    """A wheel with the command `headlight-translate` and nothing else."""
    path, info = folder / "small-1-py3-none-any.whl", "small-1.dist-info"
    files = {
        "small.py": f"def main():\n    {code}\n",
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: small\nVersion: 1\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": "[console_scripts]\nheadlight-translate = small:main\n",
    }
    with zipfile.ZipFile(path, "w") as wheel:
        for name, text in files.items():
            wheel.writestr(name, text)
        wheel.writestr(f"{info}/RECORD", "".join(f"{name},,\n" for name in (*files, f"{info}/RECORD")))
    return path


def test_a_wheel_that_does_not_translate_is_refused(tmp_path: Path) -> None:
    """Both are installed without a network into an empty environment, which has the dependencies of this one."""
    code = "import tqdm, sys; print(sys.stdin.read().upper())"
    release.check_installation(small_wheel(tmp_path, code))
    failing = small_wheel(tmp_path, 'raise SystemExit("no checkpoint")')
    with pytest.raises(ValueError, match=r"is installed, but does not translate 'A dog runs\.': no checkpoint"):
        release.check_installation(failing)
