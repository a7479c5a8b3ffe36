"""Cuts in the data of drawings, and the clicks that make them."""

import json

import pytest

from viz_app.components.attention_clicks import Cutting, clicked_weights


def test_cuts_are_ranges_of_rows_and_columns() -> None:
    found = Cutting([("L1 H2", range(1, 3), None), ("L1 H1", None, range(1))], lambda _: None).payload()
    assert json.loads(json.dumps(found)) == {
        "cutting": True,
        "cuts": [{"head": "L1 H2", "query": [1, 3], "key": None}, {"head": "L1 H1", "query": None, "key": [0, 1]}],
    }


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"query": 4, "key": 3, "head": "L1 H3"}, ((2,), 4, 3)),
        ({"query": 0}, ((0, 2), 0, None)),
        ({"key": 1, "head": "L1 H1"}, ((0,), None, 1)),
    ],
)
def test_a_click_names_weights(value: object, expected: object) -> None:
    assert clicked_weights(value, (5, 4), {"L1 H1": 0, "L1 H3": 2}) == expected


@pytest.mark.parametrize(
    "value",
    [None, "cut", {}, {"head": "L1 H1"}, {"query": 5}, {"key": -1}, {"query": "0"}, {"query": 0, "head": "L2 H1"}],
)
def test_what_names_no_weights_is_nothing(value: object) -> None:
    assert clicked_weights(value, (5, 4), {"L1 H1": 0, "L1 H3": 2}) is None
