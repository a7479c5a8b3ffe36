"""JSON that is not as it should be is refused, quickly."""

import json
import math
import re
from pathlib import Path

import pytest

from core.files.strict_json import json_object, json_text


def test_objects_are_read() -> None:
    value = {"a": [1, 2.5, None, True, {"b": "ü"}], "c": {}}
    assert json_object(json.dumps(value)) == json_object(json.dumps(value).encode()) == value
    assert json_object(b"\xef\xbb\xbf{}") == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b'{"a": 1, "b": {"c": 1, "c": 2}}', r"^the key 'c' occurs twice$"),
        (b'{"a": NaN}', r"^NaN is not a number in JSON$"),
        (b'{"a": -Infinity}', r"^-Infinity is not a number in JSON$"),
        (b"[" * 1_000_000, r"^it is nested too deeply$"),
        (b'{"a":' * 1_000_000, r"^it is nested too deeply$"),
        (b'{"a": [' + b"[]," * 2**20 + b"0]}", r"^it has some 2097154 values, at most 2097152 are read$"),
        (b"[1]", r"^it is a list, expected a JSON object$"),
        (b'{"a"', r"delimiter"),
        (b"\xff", r"codec can't decode"),
        (b'{"a": ' + b"1" * 10_000 + b"}", r"Exceeds the limit"),
    ],
)
def test_anything_else_is_refused(text: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        json_object(text)


def test_what_is_written_has_no_number_that_json_lacks() -> None:
    for number in (math.nan, math.inf, -math.inf):
        with pytest.raises(ValueError, match="not JSON compliant"):
            json_text({"loss": [number]})
    root = Path(__file__).parents[3]
    sources = [path for package in ("core", "train", "web") for path in (root / package).rglob("*.py")]
    writers = {path.name for path in sources if re.search(r"json\.dumps?\(", path.read_text("utf-8"))}
    assert writers == {"strict_json.py"}
