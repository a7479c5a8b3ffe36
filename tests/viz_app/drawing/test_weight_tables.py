from typing import Any

import numpy as np

from viz_app.drawing.weight_tables import grid_table, head_table, lines_table


def test_the_table_of_a_head_holds_each_weight_by_its_places(make_map: Any) -> None:
    attention = make_map(5, 4)
    table = head_table(attention, 2)
    pivoted = table.pivot_table(index="query_position", columns="key_position", values="weight").to_numpy()
    np.testing.assert_array_equal(pivoted, attention.weights[2].numpy())
    assert list(table.columns) == ["query_position", "query", "predicted", "key_position", "key", "weight"]
    assert table.iloc[0][["query", "predicted", "key"]].tolist() == ["<s>", "the", "the"]
    assert table.iloc[-1][["query", "predicted", "key"]].tolist() == ["the", "</s>", "</s>"]


def test_an_encoder_row_predicts_nothing(make_map: Any) -> None:
    assert "predicted" not in head_table(make_map(kind="encoder_self"), 0)


def test_the_table_of_several_heads_names_them(make_map: Any) -> None:
    table = lines_table(make_map(layer=4), [0, 2])
    assert table.groupby(["kind", "layer", "head"]).size().to_dict() == {("cross", 4, 0): 20, ("cross", 4, 2): 20}


def test_the_table_of_the_grid_has_a_row_for_each_query_of_each_head(make_map: Any) -> None:
    maps = [make_map(num_heads=heads, layer=layer) for layer, heads in enumerate((2, 3))]
    table = grid_table(maps, [(1, 2), (0, 1)])
    assert table.groupby(["layer", "head"], sort=False).size().to_dict() == {(1, 2): 5, (0, 1): 5}
    assert list(table.columns[-5:]) == ["predicted", "0 the", "1 the", "2 the", "3 </s>"]
    np.testing.assert_array_equal(table.iloc[5:, -4:].to_numpy(dtype=np.float32), maps[0].weights[1].numpy())
