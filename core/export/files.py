"""Writing an explanation to a file of any format, and reading it back where the format allows that."""

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np

from core.analysis.heads.head import Head
from core.capture import KINDS
from core.checkpoint import write_whole
from core.export.html_page import PageView, page
from core.export.record import ExplanationRecord, Weights, described, description, weights_of

HTML = ".html"


def save_explanation(path: str | Path, record: ExplanationRecord) -> None:
    """Write one file, whole or not at all. Its suffix says what it is: .html, .npz or .json.

    Raises:
        ValueError: another suffix.
        OSError: the file cannot be written.
    """
    path = Path(path)
    content = as_bytes(record, path.suffix)
    write_whole(path, lambda temporary: temporary.write_bytes(content))


def as_bytes(record: ExplanationRecord, suffix: str, first: Head | None = None, view: PageView = "Lines") -> bytes:
    """The content of such a file.

    Args:
        first, view: what HTML opens with, see `core.export.html_page.page`.

    Raises:
        ValueError: another suffix than those of `SUFFIXES`.
    """
    check_suffix(suffix)
    return page(record, first, view).encode() if suffix.lower() == HTML else _WRITERS[suffix.lower()](record)


def check_suffix(suffix: str) -> None:
    """Raises: ValueError, if no format has it."""
    if suffix.lower() not in SUFFIXES:
        raise ValueError(
            f"the suffix {suffix!r} names no format: end the file's name with one of {', '.join(SUFFIXES)}"
        )


def load_explanation(path: str | Path) -> ExplanationRecord:
    """What `save_explanation` wrote as .npz or .json. Nothing in the file is run.

    Raises:
        ValueError: it is neither, or damaged; the message names the file and says what is wrong.
        OSError: it cannot be read.
    """
    path = Path(path)
    content = path.read_bytes()
    try:
        return _from_npz(content) if content.startswith(b"PK") else _from_json(content)
    except ValueError as error:
        raise ValueError(f"{path.name}: {error}") from error


def _to_json(record: ExplanationRecord) -> bytes:
    found = description(record)
    for kind, weights in weights_of(record.explanation).items():
        # Nine significant digits name a float32; without this, json writes the seventeen of a float64.
        numbers = [float(f"{weight:.9g}") for weight in weights.ravel().tolist()]
        found["attention"][kind]["weights"] = np.array(numbers).reshape(weights.shape).tolist()
    return json.dumps(found, allow_nan=False, separators=(",", ":")).encode()


def _from_json(content: bytes) -> ExplanationRecord:
    try:
        found = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"this is neither NPZ nor JSON: {error}") from error
    attention: dict[str, Any] = cast("dict[str, Any]", found).get("attention", {}) if isinstance(found, dict) else {}
    try:
        weights: Weights = {
            kind: np.asarray(attention[kind]["weights"], dtype=np.float32) for kind in KINDS if kind in attention
        }
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"its weights cannot be read: {error}") from error
    return described(found, weights)


def _to_npz(record: ExplanationRecord) -> bytes:
    file = io.BytesIO()
    text = json.dumps(description(record), allow_nan=False)
    np.savez_compressed(file, allow_pickle=False, description=np.array(text), **weights_of(record.explanation))
    return file.getvalue()


def _from_npz(content: bytes) -> ExplanationRecord:
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            weights: Weights = {kind: arrays[kind].astype(np.float32) for kind in KINDS if kind in arrays}
            found = json.loads(str(arrays["description"]))
    except KeyError as error:
        raise ValueError("this is an NPZ file, but no exported explanation: it has no description") from error
    except (ValueError, OSError, zipfile.BadZipFile, RecursionError) as error:
        raise ValueError(f"this NPZ file is damaged: {error}") from error
    return described(found, weights)


_WRITERS: dict[str, Callable[[ExplanationRecord], bytes]] = {".npz": _to_npz, ".json": _to_json}
SUFFIXES = (HTML, *_WRITERS)
