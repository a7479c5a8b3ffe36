"""`python -m docs.release OUT`: a release of the newest commit as one folder, checked by installing it.

OUT gets the notes, the source archive, the wheel of this platform, the checkpoints beside it, the static page, the site
of the documentation, and the checksums of all files. Needs the extras `docs` and `web`, and no network.
"""

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import tomllib
import venv
from pathlib import Path

from core.files.shipped_files import DISTRIBUTION

ROOT = Path(__file__).resolve().parents[1]
SENTENCE = "A dog runs."


def main(arguments: list[str] | None = None) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m docs.release", description=__doc__)
    parser.add_argument("out", type=Path, help="folder for the release; made if it is missing, otherwise empty")
    out = parser.parse_args(arguments).out.resolve()
    try:
        release(out)
    except (ValueError, subprocess.CalledProcessError) as error:
        raise SystemExit(f"error: {error}") from error
    print(f"{out} ({sum(path.stat().st_size for path in out.rglob('*') if path.is_file()) / 1e6:.0f} MB)")


def release(out: Path) -> None:
    """Write all parts of a release, and check that it can be installed.

    Raises:
        ValueError: the folder is not empty, a file is not committed, or the installed release does not translate.
        CalledProcessError: a part could not be made.
    """
    if out.exists() and any(out.iterdir()):
        raise ValueError(f"{out} is not empty: give a new folder")
    if changed := _output("git", "status", "--porcelain"):
        raise ValueError(f"a release is made of what is committed, and this is not: {changed.splitlines()[0].strip()}")
    version = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    out.mkdir(parents=True, exist_ok=True)
    (out / "NOTES.md").write_text(notes(version, (ROOT / "CHANGELOG.md").read_text("utf-8")), "utf-8")
    archive = out / f"{DISTRIBUTION.replace('-', '_')}-{version}.tar.gz"
    write_source_archive(archive)
    wheel = build_wheel(archive, out)
    shutil.copytree(ROOT / "checkpoints", out / "checkpoints")
    _run("web.build", str(out / "page"))
    _run("mkdocs", "build", "--quiet", "--site-dir", str(out / "site"), STATIC_PAGE="../page/index.html")
    check_installation(wheel)
    (out / "SHA256SUMS").write_text(checksums(out), "utf-8")


def notes(version: str, changelog: str) -> str:
    """Return what the changelog says about a version.

    Raises:
        ValueError: it has no section of that version.
    """
    found = re.search(rf"^## {re.escape(version)} \(.*?(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL)
    if not found:
        raise ValueError(f"CHANGELOG.md has no section of version {version}, which pyproject.toml names: write it")
    return f"# Headlight {found[0].removeprefix('## ')}"


def write_source_archive(path: Path) -> None:
    """Write the newest commit as .tar.gz, without the checkpoints that no wheel has: they lie beside it."""
    prefix = f"--prefix={path.name.removesuffix('.tar.gz')}/"
    checkpoints = _output("git", "ls-files", "checkpoints").splitlines()
    beside = [f":!{each}" for each in checkpoints if not each.startswith("checkpoints/en-de.")]
    subprocess.run(["git", "archive", prefix, "-o", str(path), "HEAD", "--", ".", *beside], cwd=ROOT, check=True)


def build_wheel(archive: Path, out: Path) -> Path:
    """Build the wheel from the source archive alone, with the packages of this environment."""
    before = set(out.glob("*.whl"))
    with tempfile.TemporaryDirectory() as folder:
        shutil.unpack_archive(archive, folder)
        (project,) = Path(folder).iterdir()
        _run("pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "--no-index", "-w", str(out), str(project))
    (wheel,) = set(out.glob("*.whl")) - before
    return wheel


def check_installation(wheel: Path) -> None:
    """Install a wheel without a network into an empty environment, and translate there with the model in it.

    The dependencies are those of this environment, at the end of the other one's path.

    Raises:
        ValueError: it does not translate.
    """
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder)
        programs = Path(folder, "Scripts" if os.name == "nt" else "bin")
        pip = [sys.executable, "-m", "pip", "--python", str(programs / "python")]
        subprocess.run([*pip, "install", "-q", "--no-index", "--no-deps", str(wheel)], cwd=folder, check=True)
        packages = sysconfig.get_path("purelib", vars={"base": folder, "platbase": folder})
        Path(packages, "dependencies.pth").write_text(sysconfig.get_path("purelib"), "utf-8")
        done = subprocess.run(
            [str(programs / "headlight-translate")],
            input=f"{SENTENCE}\n",
            cwd=folder,
            capture_output=True,
            text=True,
            encoding="utf-8",
            env={name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "HEADLIGHT_SHARE")},
            check=False,
        )
        if done.returncode or not done.stdout.strip():
            raise ValueError(f"{wheel.name} is installed, but does not translate {SENTENCE!r}: {done.stderr.strip()}")


def checksums(folder: Path) -> str:
    """Return the SHA-256 of all files of a folder, as `sha256sum --check` reads them."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    lines = (
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(folder).as_posix()}" for path in files
    )
    return "".join(f"{line}\n" for line in lines)


def _run(module: str, *arguments: str, **variables: str) -> None:
    subprocess.run([sys.executable, "-m", module, *arguments], cwd=ROOT, check=True, env=os.environ | variables)


def _output(*command: str) -> str:
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    main()
