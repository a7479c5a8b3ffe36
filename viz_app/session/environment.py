"""Settings of the app from environment variables, with safe defaults."""

import os
import re

CHECKPOINT_VARIABLE = "HEADLIGHT_CHECKPOINT"  # names another checkpoint to start with
PRECISION_VARIABLE = "HEADLIGHT_PRECISION"  # of the search for translations, as `core.Translator` has it
HOSTS_VARIABLE = "HEADLIGHT_HOSTS"  # further names under which browsers may reach the app, separated by commas
FRAMES_VARIABLE = "HEADLIGHT_FRAME_ANCESTORS"  # origins of pages that may frame the app, separated by commas
UPLOAD_VARIABLE = "HEADLIGHT_UPLOAD_MB"  # most megabytes of an uploaded file

LOOPBACK_HOSTS = ("localhost", "127.0.0.1", "[::1]")  # as in a `Host` header
DEFAULT_UPLOAD_MB, MAX_UPLOAD_MB = 400, 100_000
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
    """Return the largest size of an uploaded file.

    Raises:
        SettingError: it is not a whole number from 1 to 100,000.
    """
    text = os.environ.get(UPLOAD_VARIABLE) or str(DEFAULT_UPLOAD_MB)
    if not re.fullmatch(r"[0-9]{1,6}", text) or not 1 <= int(text) <= MAX_UPLOAD_MB:
        raise SettingError(
            f"The environment variable {UPLOAD_VARIABLE} is {text!r}: it must be a whole number of megabytes from 1 to "
            f"{MAX_UPLOAD_MB}."
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
