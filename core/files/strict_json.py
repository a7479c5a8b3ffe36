"""JSON from untrusted files, and JSON that every reader takes."""

import json
from pathlib import Path
from typing import Any, cast

from core.files.budget import MAX_JSON_VALUES
from core.files.file_writing import reading


def json_text(value: object, **layout: Any) -> str:
    """Write JSON, laid out as by `json.dumps`.

    Raises:
        ValueError: a number is not finite, which JSON cannot say.
    """
    return json.dumps(value, allow_nan=False, **layout)


def readable_json(value: object) -> str:
    """Write JSON for people to read, see `json_text`."""
    return json_text(value, indent=2, ensure_ascii=False)


def json_object(data: str | bytes) -> dict[str, Any]:
    """Parse a JSON object, in memory and time proportional to its length.

    Raises:
        ValueError: it is not UTF-8 or not JSON, nested too deeply, no object, or one of its objects has a key twice or
            a number that JSON does not have (NaN, Infinity); or it has too many values.
    """
    try:
        text = data if isinstance(data, str) else data.decode("utf-8-sig")
        if (values := sum(map(text.count, "[{,"))) > MAX_JSON_VALUES:  # each takes many times the bytes of its text
            raise ValueError(f"it has some {values} values, at most {MAX_JSON_VALUES} are read")
        value = json.loads(text, object_pairs_hook=_unique_keys, parse_constant=_no_constant)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    if not isinstance(value, dict):
        raise ValueError(f"it is a {type(value).__name__}, expected a JSON object")
    return cast("dict[str, Any]", value)


def read_json(path: Path) -> dict[str, Any]:
    """Read a file with a JSON object.

    Raises:
        ValueError: it is damaged; the message has its path.
        OSError: it cannot be read.
    """
    with reading(path):
        data = path.read_bytes()
    try:
        return json_object(data)
    except ValueError as error:
        raise ValueError(f"{path} is damaged: {error}") from error


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))
        raise ValueError(f"the key {twice!r:.60} occurs twice")
    return values


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number in JSON")
