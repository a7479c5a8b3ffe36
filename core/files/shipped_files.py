"""Paths of the files that come with Headlight beside its code."""

import sysconfig
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
SHARE = Path("share", "headlight")  # `data-files` in pyproject.toml, below the environment's folder


def shipped_folder(name: str) -> Path:
    """Return a folder of the repository, or the place where `pip install` puts it from a wheel.

    Args:
        name: path in the repository, such as `checkpoints`.

    Returns:
        The first of these that exists; if none does, the one in the repository.
    """
    beside = REPOSITORY / name
    if beside.is_dir():  # needed in every run of a page, and the environment's folder takes long to find
        return beside
    installed = (Path(sysconfig.get_path("data")), REPOSITORY)  # REPOSITORY: pip install --target
    candidates = (folder / SHARE / name for folder in installed)
    return next((folder for folder in candidates if folder.is_dir()), beside)


def shipped_checkpoint(name: str = "en-de") -> Path:
    """Return the path of a shipped checkpoint, whether or not it exists."""
    return shipped_folder("checkpoints") / f"{name}.safetensors"
