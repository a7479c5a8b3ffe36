"""Figures in the style of the paper's appendix: what the browser gets, the table, and what is refused."""

from typing import Any

import pandas as pd
import pytest

from core.analysis.tokens.aggregation import mean_of_rows
from core.analysis.weight_tables import LinePanel, appendix_table
from core.drawing.drawing_data import encoded_weights
from viz_app.drawing.theme import DARK, LIGHT
from viz_app.views.paper.paper_figures.appendix_figure import appendix_payload


def test_the_table_holds_the_lines_of_the_words(make_map: Any) -> None:
    attention = make_map(5, 4, layer=4)
    table = pd.DataFrame(appendix_table([LinePanel(attention, (1,)), LinePanel(attention, (0, 2), (1, 3))]))
    assert table.groupby("panel").size().to_dict() == {0: 5 * 4, 1: 2 * 2 * 4}
    assert set(table[table["panel"] == 1]["query_position"]) == {1, 3}
    assert table[table["panel"] == 1]["weight"].tolist() == pytest.approx(
        attention.weights[[0, 2]][:, [1, 3]].flatten().tolist()
    )


def test_the_browser_gets_the_panels_and_the_mean_weights_of_some_words(make_map: Any) -> None:
    cross, encoder = make_map(5, 4, layer=4), make_map(5, 4, token="\u2581<b>$x$</b>", kind="encoder_self")
    data = appendix_payload([LinePanel(cross, (0, 2), (1, 3)), LinePanel(encoder, (1,))], DARK, "Figure 3")
    first, second = data["panels"]
    assert (first["isCross"], second["isCross"]) == (True, False)
    assert [head["name"] for head in first["heads"]] == ["L5 H1", "L5 H3"]
    assert [head["color"] for head in first["heads"]] == [DARK.head_colors[0], DARK.head_colors[2]]
    assert first["squares"] == [encoded_weights(mean_of_rows(cross, (1, 3))[head]) for head in (0, 2)]
    assert second["squares"] is None
    assert second["query"][0] == [("<b>$x$</b>", "")]  # text, which the browser sets as such


def test_what_is_not_there_is_refused(make_map: Any) -> None:
    with pytest.raises(ValueError, match="layer 1 has 3 heads, there is no head 4"):
        appendix_payload([LinePanel(make_map(), (3,))], LIGHT, "")
    with pytest.raises(ValueError, match="there is no word 5: the sentence has words 0 to 4"):
        appendix_payload([LinePanel(make_map(5, 4), (0,), (0, 5))], LIGHT, "")
    with pytest.raises(ValueError, match="a figure needs at least one panel"):
        appendix_payload([], LIGHT, "")
