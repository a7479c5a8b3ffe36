from dataclasses import replace
from typing import Any

import torch

from core.analysis.heads.mean_and_maximum import with_combined
from core.drawing.drawing_data import MAX_CELL
from viz_app.components.attention_map import map_payload
from viz_app.components.head_grid import clicked_head, grid_payload
from viz_app.drawing.head_grid import grid_picture
from viz_app.drawing.head_names import ALL, CHOSEN, layer_name, names, parsed
from viz_app.drawing.scorecard_text import Note
from viz_app.drawing.theme import DARK, LIGHT


def test_every_head_of_every_layer_has_its_cell(make_map: Any) -> None:
    payload = grid_payload([make_map(num_heads=heads, layer=layer) for layer, heads in enumerate((2, 8, 1))], LIGHT)
    assert payload["columns"] == [f"H{head}" for head in range(1, 9)]
    assert [row["name"] for row in payload["rows"]] == ["L1", "L2", "L3"]
    assert [[cell["name"] for cell in row["cells"]] for row in payload["rows"]][::2] == [["L1 H1", "L1 H2"], ["L3 H1"]]
    assert payload["rows"][1]["cells"][7] == {
        "name": "L2 H8",
        "title": "",
        "layer": 1,
        "head": 7,
        "caption": "",
        "text": "L2 H8",
        "mark": None,
    }


def test_selected_heads_bear_their_mark_and_what_is_not_there_does_not(make_map: Any) -> None:
    payload = grid_payload(
        [make_map(num_heads=9, layer=layer) for layer in (3, 5)], DARK, selected=[(5, 8), (0, 0), (3, 9)]
    )
    marked = [cell for row in payload["rows"] for cell in row["cells"] if cell["mark"]]
    assert [cell["name"] for cell in marked] == ["L6 H9"]
    assert marked[0]["mark"]["color"] == DARK.head_colors[0]
    assert marked[0]["mark"]["dash"] == "dashed"  # the ninth head has the first one's colour


def test_one_map_a_layer_is_called_by_its_layer(make_map: Any) -> None:
    maps = [make_map(num_heads=1, layer=layer) for layer in range(2)]
    payload = grid_payload(maps, LIGHT, selected=[(1, 0)], per_layer=True)
    assert payload["columns"] == ["all heads"]
    assert [cell["name"] for row in payload["rows"] for cell in row["cells"]] == ["L1", "L2"]
    assert payload["rows"][1]["cells"][0]["mark"]["badge"] == "L2"
    assert [parsed(name) for name in names(maps, layer_name)][:2] == [(0, 0), (1, 0)]


def test_many_heads_as_one_have_a_row_of_their_own(make_map: Any) -> None:
    maps = with_combined([make_map(num_heads=heads, layer=layer) for layer, heads in enumerate((2, 3))], [(1, 1)])
    payload = grid_payload([attention for attention in maps if attention.layer != CHOSEN], LIGHT, selected=[(ALL, 1)])
    assert [row["name"] for row in payload["rows"]] == ["L1", "L2", "all"]
    assert [(cell["name"], cell["title"]) for cell in payload["rows"][2]["cells"]] == [
        ("Mean of all", "mean"),
        ("Maximum of all", "max"),
    ]
    assert payload["rows"][2]["cells"][1]["mark"]["badge"] == "max"
    assert clicked_head({"layer": ALL, "head": 1}, maps) == (ALL, 1)
    # mean and maximum are no heads
    assert grid_payload(with_combined([make_map(num_heads=1)], [(0, 0)]), LIGHT)["columns"] == ["H1", ""]


def test_the_selected_row_and_column_are_lit_in_every_map(make_map: Any) -> None:
    payload = grid_payload([make_map(queries=5, keys=4)], LIGHT, place={"query": [], "key": [3]})
    assert payload["lit"] == {"query": [], "key": [3]}
    assert payload["size"] == {"query": 5, "key": 4}


def test_sorted_heads_stand_in_their_order_with_their_own_pictures(make_map: Any) -> None:
    maps = [make_map(num_heads=heads, layer=layer) for layer, heads in enumerate((2, 3))]
    order = [(1, 2), (0, 0), (1, 0), (0, 1), (1, 1)]
    payload = grid_payload(maps, LIGHT, order=order, notes={(0, 1): Note("0.83", "a long text")})
    assert [(cell["layer"], cell["head"]) for row in payload["rows"] for cell in row["cells"]] == order
    assert [row["name"] for row in payload["rows"]] == ["1", "4"]
    assert (payload["rows"][1]["cells"][0]["caption"], payload["rows"][1]["cells"][0]["text"]) == (
        "0.83",
        "a long text",
    )
    rows = [torch.stack([maps[layer].weights[head] for layer, head in row]) for row in (order[:3], order[3:])]
    assert payload["picture"] == grid_picture([replace(maps[0], weights=weights) for weights in rows], LIGHT)


def test_a_click_is_a_head_counted_from_0_and_nothing_else(make_map: Any) -> None:
    maps = [make_map(num_heads=3, layer=3)]
    assert clicked_head({"layer": 3, "head": 2}, maps) == (3, 2)
    wrong = {"layer": 9, "head": 0}, {"layer": 3, "head": -1}, {"layer": 3, "head": 3}, {"layer": "3", "head": 0}
    assert not any(clicked_head(value, maps) for value in (None, "x", {}, {"layer": 0}, *wrong))


def test_the_browser_has_what_a_map_of_any_head_needs_before_it_is_clicked(make_map: Any) -> None:
    maps = [make_map(num_heads=heads, layer=layer) for layer, heads in enumerate((2, 9))]
    for order in (None, [(1, 2), (0, 0)]):
        payload = grid_payload(with_combined(maps, [(0, 0)]), LIGHT, order=order)
        for attention in maps:
            for head in range(attention.num_heads):
                drawn = map_payload(attention, head, LIGHT)["heads"][0]
                assert payload["weights"][attention.layer][head] == drawn["weights"]
                assert payload["looks"][head] == {"color": drawn["color"], "dash": drawn["dash"]}


def test_a_sentence_whose_picture_is_reduced_is_not_sent_whole(make_map: Any) -> None:
    assert grid_payload([make_map(MAX_CELL, MAX_CELL)], LIGHT)["weights"]
    assert not grid_payload([make_map(MAX_CELL + 1, 3)], LIGHT)["weights"]
    assert not grid_payload([make_map(3, MAX_CELL + 1)], LIGHT)["weights"]
