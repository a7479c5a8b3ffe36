"""Paths of the files that come with Headlight beside its code, and the version that is installed."""

import json
import os
import sysconfig
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

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
