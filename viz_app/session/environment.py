"""Settings of the app from environment variables, with safe defaults."""

import os
import re
from pathlib import Path

CHECKPOINT_VARIABLE = "HEADLIGHT_CHECKPOINT"  # names another checkpoint to start with
PRECISION_VARIABLE = "HEADLIGHT_PRECISION"  # of the search for translations, as `core.Translator` has it
HOSTS_VARIABLE = "HEADLIGHT_HOSTS"  # further names under which browsers may reach the app, separated by commas
FRAMES_VARIABLE = "HEADLIGHT_FRAME_ANCESTORS"  # origins of pages that may frame the app, separated by commas
UPLOAD_VARIABLE = "HEADLIGHT_UPLOAD_MB"  # most megabytes of an upload
FOLDERS_VARIABLE = "HEADLIGHT_FOLDERS"  # folders from which visitors may open checkpoints, separated as in PATH
MEMORY_VARIABLE = "HEADLIGHT_MEMORY_MB"  # most megabytes of models, their results and passes
LAB_VARIABLE = "HEADLIGHT_LAB"  # whether visitors may train models: on or off

LOOPBACK_HOSTS = ("localhost", "127.0.0.1", "[::1]")  # as in a `Host` header
DEFAULT_UPLOAD_MB, MAX_UPLOAD_MB = 400, 100_000
MAX_MEMORY_MB = 900_000
HOST = re.compile(r"(\*\.)?([a-z0-9_]([a-z0-9_-]*[a-z0-9_])?\.)*[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?|\[[0-9a-f:.]+\]", re.I)
ORIGIN = re.compile(r"https?://(\*\.)?[a-z0-9_.-]+(:\d+)?|'self'", re.I)


class SettingError(ValueError):
    """An environment variable has an impossible value."""


def allowed_hosts() -> list[str]:
    """Return the host names that the server answers: those of this machine, and those of `HEADLIGHT_HOSTS`.

    A leading `*.` stands for any subdomain. Names have no port.

    Raises:
        SettingError: an entry is not a host name.
    """
    return [*LOOPBACK_HOSTS, *_entries(HOSTS_VARIABLE, HOST, "headlight.example.org or *.example.org, without a port")]


def frame_ancestors() -> list[str]:
    """Return the origins of pages that may show the app in a frame; none by default.

    Raises:
        SettingError: an entry is not an origin.
    """
    return _entries(FRAMES_VARIABLE, ORIGIN, "https://example.org")


def upload_megabytes() -> int:
    """Return the largest size of an upload.

    Raises:
        SettingError: it is not a whole number from 1 to 100,000.
    """
    return _number(UPLOAD_VARIABLE, DEFAULT_UPLOAD_MB, MAX_UPLOAD_MB, "megabytes")


def memory_megabytes() -> int | None:
    """Return the memory that models, their results and passes may take together; None: a share of the machine's.

    Raises:
        SettingError: it is not a whole number from 1 to 900,000.
    """
    return _number(MEMORY_VARIABLE, 1, MAX_MEMORY_MB, "megabytes") if os.environ.get(MEMORY_VARIABLE) else None


def has_lab() -> bool:
    """Return whether visitors may train models.

    Raises:
        SettingError: it is neither on nor off.
    """
    if (text := os.environ.get(LAB_VARIABLE) or "on") not in ("on", "off"):
        raise SettingError(f"The environment variable {LAB_VARIABLE} is {text!r}: it must be on or off.")
    return text == "on"


def model_folders() -> list[Path]:
    """Return the folders of `HEADLIGHT_FOLDERS` that exist, without links; none by default."""
    return [Path(os.path.realpath(folder)) for folder in _named_folders() if os.path.isdir(folder)]


def has_folders() -> bool:
    """Whether `HEADLIGHT_FOLDERS` is set, even if only to folders that do not exist any more."""
    return bool(_named_folders())


def _named_folders() -> list[Path]:
    # Unlike those of `Path`, the functions of `os.path` do not fail where there is no such user, and no permission.
    entries = os.environ.get(FOLDERS_VARIABLE, "").split(os.pathsep)
    return [Path(os.path.expanduser(entry)) for entry in entries if entry]


def check_settings() -> None:
    """Check all variables, before the app starts.

    Raises:
        SettingError: one has an impossible value.
    """
    for read in (allowed_hosts, frame_ancestors, upload_megabytes, memory_megabytes, has_lab):
        read()
    for folder in _named_folders():
        if not os.path.isdir(folder):
            raise SettingError(
                f"The environment variable {FOLDERS_VARIABLE} has the entry {str(folder)!r}: there is no such folder. "
                f"Folders are separated by {os.pathsep!r}."
            )


def is_private() -> bool:
    """Whether the settings leave the app to this machine: no further host names, and no frames of other origins."""
    return not (os.environ.get(HOSTS_VARIABLE) or os.environ.get(FRAMES_VARIABLE))


def _number(variable: str, default: int, most: int, unit: str) -> int:
    text = os.environ.get(variable) or str(default)
    if not re.fullmatch(r"[0-9]{1,6}", text) or not 1 <= int(text) <= most:
        raise SettingError(
            f"The environment variable {variable} is {text!r}: it must be a whole number of {unit} from 1 to {most}."
        )
    return int(text)


def _entries(variable: str, form: re.Pattern[str], example: str) -> list[str]:
    """Split the value of a variable at commas, and check each entry."""
    entries = [entry.strip() for entry in os.environ.get(variable, "").split(",") if entry.strip()]
    for entry in entries:
        if not form.fullmatch(entry):
            raise SettingError(
                f"The environment variable {variable} has the entry {entry!r}: expected something like {example}."
            )
    return entries
