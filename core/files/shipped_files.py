"""Paths of the files that come with Headlight beside its code, and the version that is installed."""

import os
import sysconfig
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

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
        The first of these that exists: in the repository, in the folder that `HEADLIGHT_SHARE` names, in the
        installation, which has `en-de` alone. Without any, the one in the repository.
    """
    beside = REPOSITORY / name
    if beside.is_dir():  # needed in every run of a page, and the environment's folder takes long to find
        return beside
    shares = (Path(sysconfig.get_path("data"), SHARE), REPOSITORY / SHARE)  # the latter: pip install --target
    if named := os.environ.get("HEADLIGHT_SHARE"):
        shares = (Path(named), *shares)
    return next((share / name for share in shares if (share / name).is_dir()), beside)


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
            f"{', '.join(sorted(shipped)) or 'none is installed'}. HEADLIGHT_SHARE names a folder with others in its "
            f"checkpoints/, such as a release or a clone"
        )
    return shipped[str(path)]
