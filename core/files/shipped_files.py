"""Paths of the files that come with Headlight beside its code, and the version that is installed."""

import json
import os
import sysconfig
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

from core.files.argument_types import path_of

DISTRIBUTION = "headlight-transformer"  # on the package index, where `headlight` is another project
REPOSITORY = Path(__file__).resolve().parents[2]
SHARE = Path("share", "headlight")  # `data-files` in pyproject.toml, below the environment's folder


def installed_version() -> str:
    """Return the version of the installed package, or "unknown" if it runs from its folder alone."""
    try:
        return distribution(DISTRIBUTION).version
    except PackageNotFoundError:
        return "unknown"


def shipped_folder(name: str) -> Path:
    """Return a folder of the repository, such as `checkpoints`, or the place where `pip install` puts it from a wheel.

    Returns:
        The first of these that exists: in the repository, in the installation, in the folder that `HEADLIGHT_SHARE`
        names, beside the wheel that was installed. If none does, the one in the repository.
    """
    beside = REPOSITORY / name
    if beside.is_dir():  # needed in every run of a page, and the environment's folder takes long to find
        return beside
    installed = (Path(sysconfig.get_path("data")), REPOSITORY)  # REPOSITORY: pip install --target
    candidates = [folder / SHARE / name for folder in installed]
    if share := os.environ.get("HEADLIGHT_SHARE"):
        candidates.append(Path(share, name))
    if wheel := _installed_wheel():
        candidates.append(wheel.parent / name)
    return next((folder for folder in candidates if folder.is_dir()), beside)


@cache
def _installed_wheel() -> Path | None:
    """Return the path of the file that pip installed, if it was given one."""
    try:
        record = distribution(DISTRIBUTION).read_text("direct_url.json")  # PEP 610
    except PackageNotFoundError:
        return None
    address = urlsplit(json.loads(record)["url"]) if record else None
    return Path(url2pathname(address.path)) if address and address.scheme == "file" else None


def shipped_checkpoint(name: str = "en-de") -> Path:
    """Return the path of a shipped checkpoint, whether or not it exists."""
    return shipped_folder("checkpoints") / f"{name}.safetensors"


def checkpoint_path(checkpoint: str | Path) -> Path:
    """Return the path of a checkpoint, given as its path or, of a shipped one, as its name, such as `en-de`.

    Raises:
        FileNotFoundError: there is neither such a file nor such a name.
    """
    path = path_of(checkpoint, "the path of a .safetensors file, or the name of a shipped one, such as 'en-de'")
    if path.exists() and not (path.is_dir() and shipped_checkpoint(str(path)).exists()):
        return path
    shipped = {each.stem: each for each in shipped_folder("checkpoints").glob("*.safetensors")}
    if str(path) not in shipped:
        raise FileNotFoundError(
            f"there is no checkpoint at {path}: give the path of a .safetensors file, or the name of a shipped one: "
            f"{', '.join(sorted(shipped)) or 'none is installed'}"
        )
    return shipped[str(path)]
