"""Explanations as files: HTML, NPZ and JSON, the latter two readable again."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np

from core.drawing.head_explorer import View
from core.export.html_page import page
from core.export.record import ExplanationRecord, WeightArrays, description, parse_description, weights_of
from core.files.argument_types import path_of
from core.files.file_writing import reading, write_bytes
from core.files.npz_arrays import npz_arrays
from core.files.strict_json import json_text
from core.trace import KINDS, Head

HTML = ".html"


def save_explanation(path: str | Path, record: ExplanationRecord) -> None:
    """Write one file atomically; its suffix selects the format: .html, .npz or .json.

    Raises:
        ValueError: unknown suffix.
        OSError: the file cannot be written.
    """
    path = Path(path)
    write_bytes(path, as_bytes(record, path.suffix))


def as_bytes(record: ExplanationRecord, suffix: str, first: Head | None = None, view: View = "Lines") -> bytes:
    """Content of a file with this suffix, an HTML page with this head and view at first, see
    `core.export.html_page.page`.

    Raises:
        ValueError: the suffix is not in `SUFFIXES`.
    """
    check_suffix(suffix)
    return page(record, first, view).encode() if suffix.lower() == HTML else _WRITERS[suffix.lower()](record)


def check_suffix(suffix: str) -> None:
    """Check that a suffix selects a format.

    Raises:
        ValueError: the suffix is not in `SUFFIXES`.
    """
    if suffix.lower() not in SUFFIXES:
        raise ValueError(f"unknown suffix {suffix!r}: the file name must end with one of {', '.join(SUFFIXES)}")


def load_explanation(path: str | Path) -> ExplanationRecord:
    """Read an .npz or .json file of `save_explanation`; no code in it is run.

    Raises:
        ValueError: the file is neither, or damaged; the message names it.
        OSError: it cannot be read.
    """
    path = path_of(path)
    with reading(path):
        content = path.read_bytes()
    try:
        return _from_npz(content) if content.startswith(b"PK") else _from_json(content)
    except ValueError as error:
        raise ValueError(f"{path.name}: {error}") from error


def _to_json(record: ExplanationRecord) -> bytes:
    """Write the JSON layer by layer, as numbers take more memory in Python than in text."""
    facts, file = description(record), io.BytesIO()
    attention = facts.pop("attention")
    file.write(f'{_compact(facts)[:-1]},"attention":{{'.encode())
    for number, (kind, layers) in enumerate(record.explanation.maps.items()):
        file.write(f'{"," * bool(number)}"{kind}":{_compact(attention[kind])[:-1]},"weights":['.encode())
        for layer in layers:
            # Nine significant digits determine a float32; json would write the seventeen of a float64.
            numbers = [float(f"{weight:.9g}") for weight in layer.weights.flatten().tolist()]
            text = _compact(np.array(numbers).reshape(layer.weights.shape).tolist())
            file.write(f"{',' * (layer is not layers[0])}{text}".encode())
        file.write(b"]}")
    file.write(b"}}")
    return file.getvalue()


def _compact(value: object) -> str:
    return json_text(value, separators=(",", ":"))


def _from_json(content: bytes) -> ExplanationRecord:
    try:
        facts = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"this is neither NPZ nor JSON: {error}") from error
    attention: dict[str, Any] = cast("dict[str, Any]", facts).get("attention", {}) if isinstance(facts, dict) else {}
    try:
        weights: WeightArrays = {
            kind: np.asarray(attention[kind]["weights"], dtype=np.float32) for kind in KINDS if kind in attention
        }
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"its weights cannot be read: {error}") from error
    return parse_description(facts, weights)


def _to_npz(record: ExplanationRecord) -> bytes:
    file = io.BytesIO()
    text = json_text(description(record))
    np.savez_compressed(file, allow_pickle=False, description=np.array(text), **weights_of(record.explanation))
    return file.getvalue()


def _from_npz(content: bytes) -> ExplanationRecord:
    arrays = npz_arrays(io.BytesIO(content))
    if "description" not in arrays:
        raise ValueError("this NPZ file is not an exported explanation: it has no description")
    try:
        weights: WeightArrays = {kind: arrays[kind].astype(np.float32) for kind in KINDS if kind in arrays}
        facts = json.loads(str(arrays["description"]))
    except (ValueError, TypeError, RecursionError) as error:
        raise ValueError(f"this NPZ file is damaged: {error}") from error
    return parse_description(facts, weights)


_WRITERS: dict[str, Callable[[ExplanationRecord], bytes]] = {".npz": _to_npz, ".json": _to_json}
SUFFIXES = (HTML, *_WRITERS)
