import json
from dataclasses import replace
from typing import Any

import pytest

from viz_app.components.attention_lines import lines_payload
from viz_app.components.word_links import Links, line_highlight
from viz_app.drawing.head_names import ALL, name_of
from viz_app.drawing.theme import DARK, LIGHT


@pytest.mark.parametrize("option", ["min_weight", "top_mass"])
def test_a_share_out_of_range_is_refused(make_map: Any, option: str) -> None:
    with pytest.raises(ValueError, match=rf"{option} \(1.5\) must be between 0 and 1"):
        lines_payload(make_map(), [0], LIGHT, **{option: 1.5})


def test_heads_have_their_name_their_number_and_their_mark(make_map: Any) -> None:
    heads = lines_payload(make_map(num_heads=12, layer=4), [2, 10], DARK)["heads"]
    assert [(head["name"], head["short"]) for head in heads] == [("L5 H3", "H3"), ("L5 H11", "H11")]
    assert heads[0]["color"] == heads[1]["color"] == DARK.head_colors[2]
    assert [head["dash"] for head in heads] == ["solid", "dash"]


def test_many_heads_as_one_are_no_head_of_a_number(make_map: Any) -> None:
    attention = replace(make_map(num_heads=2), layer=ALL)
    assert [head["short"] for head in lines_payload(attention, [0, 1], LIGHT, name=name_of)["heads"]] == ["mean", "max"]


def test_every_query_and_every_key_is_a_word_of_its_own(make_map: Any) -> None:
    payload = lines_payload(make_map(6, 4), [0], LIGHT, place={"query": [], "key": [2]})
    assert len(payload["query"]) == 6
    assert len(payload["key"]) == 4
    assert payload["selected"] == [("key", 2)]
    assert payload["lit"] == {"query": [], "key": [2]}


@pytest.mark.parametrize(("length", "budget"), [(1, 2_000), (60, 100_000), (120, 350_000)])
def test_eight_heads_are_little_to_send(make_map: Any, length: int, budget: int) -> None:
    attention = make_map(length, length, num_heads=8)
    assert len(json.dumps(lines_payload(attention, range(8), LIGHT))) < budget


def test_of_a_word_with_a_row_and_a_column_the_lines_of_the_row_are_drawn() -> None:
    links: Links = {"query": ["a", "b"], "key": ["a", "b", "c"]}
    assert line_highlight({"query": [1], "key": [1, 2]}, links) == {"query": [1], "key": [2]}
    assert line_highlight({"query": [], "key": [0]}, links) == {"query": [], "key": [0]}
