from typing import Any

import numpy as np
import pandas as pd
import pytest

from core.analysis.weight_tables import grid_table, lines_table
from viz_app.views.heads.grid.head_detail import shown_table


def test_the_table_of_heads_holds_each_weight_by_its_places(make_map: Any) -> None:
    attention = make_map(5, 4, layer=4)
    table = pd.DataFrame(lines_table(attention, [0, 2]))
    assert table.groupby(["kind", "layer", "head"]).size().to_dict() == {("cross", 4, 0): 20, ("cross", 4, 2): 20}
    of_head = table[table["head"] == 2]
    pivoted = of_head.pivot_table(index="query_position", columns="key_position", values="weight").to_numpy()
    np.testing.assert_array_equal(pivoted, attention.weights[2].numpy())
    assert list(table.columns[3:]) == ["query_position", "query", "predicted", "key_position", "key", "weight"]
    assert table.iloc[0][["query", "predicted", "key"]].tolist() == ["<s>", "the", "the"]
    assert table.iloc[-1][["query", "predicted", "key"]].tolist() == ["the", "</s>", "</s>"]
    assert "predicted" not in lines_table(make_map(kind="encoder_self"), [0])


def test_the_table_of_the_grid_has_a_row_for_each_query_of_each_head(make_map: Any) -> None:
    maps = [make_map(num_heads=heads, layer=layer) for layer, heads in enumerate((2, 3))]
    table = pd.DataFrame(grid_table(maps, [(1, 2), (0, 1)]))
    assert table.groupby(["layer", "head"], sort=False).size().to_dict() == {(1, 2): 5, (0, 1): 5}
    assert list(table.columns[-5:]) == ["predicted", "0 the", "1 the", "2 the", "3 </s>"]
    np.testing.assert_array_equal(table.iloc[5:, -4:].to_numpy(dtype=np.float32), maps[0].weights[1].numpy())


def test_the_table_that_is_shown_leaves_out_masked_weights_and_has_those_on_hidden_tokens(make_map: Any) -> None:
    decoder = make_map(4, 4, kind="decoder_self")
    shown = shown_table(decoder, [2, 0], "hidden")
    assert len(shown) == 2 * 10
    assert list(zip(shown["query_position"], shown["key_position"], strict=True))[:3] == [(0, 0), (1, 0), (1, 1)]
    part = make_map(4, 5).select(range(4), [1, 2])
    rows = shown_table(part, [2, 0], "hidden")
    assert rows["head"].tolist() == [2] * 12 + [0] * 12
    ends = rows[rows["key"] == "hidden"]
    assert ends["weight"].tolist() == pytest.approx(part.hidden[[2, 0]].flatten().tolist())
    assert rows["weight"].to_numpy().reshape(2, 4, 3).sum(2) == pytest.approx(
        make_map(4, 5).weights[[2, 0]].sum(2).numpy()
    )
