"""JSON that is not as it should be is refused, quickly."""

import json

import pytest

from core.files.strict_json import json_object


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
