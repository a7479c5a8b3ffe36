"""The view Table 3: every row of the paper, and the differences from base of those trained here."""

import re

import numpy as np
import pandas as pd

from core.analysis.model_variations import TABLE_3, paper_difference, table_3_lines
from tests.viz_app.pages import Start, healthy, opened
from viz_app.drawing.theme import LIGHT
from viz_app.views.paper.table3.figures import difference_dots, table_html

LINES = table_3_lines()


def test_the_table_is_shown_first_and_each_score_as_a_picture(start: Start) -> None:
    app = opened(start(text="Where?", beam_size="1"), "table_3")
    assert any("variations were trained here" in each.value for each in app.markdown)
    assert not app.get("plotly_chart")
    for view in app.segmented_control(key="table_3_view").options[1:]:
        healthy(app.segmented_control(key="table_3_view").set_value(view).run())
        assert len(app.get("plotly_chart")) == 1


def test_a_row_has_its_changes_and_numbers() -> None:
    rows = dict(re.findall(r"<tr><th[^>]*>([^<]+)</th>(.*?)</tr>", table_html(LINES).partition("<tbody>")[2]))
    cells = {name: re.findall(r"<td[^>]*>(.*?)</td>", text) for name, text in rows.items()}
    assert [*cells] == [*TABLE_3]
    assert cells["base"][:9] == ["6", "512", "2,048", "8", "64", "64", "0.1", "0.1", "100K"]
    assert cells["A-h1"][:12] == ["", "", "", "1", "512", "512", "", "", "", "5.29", "24.9", ""]
    assert cells["big"] == [
        *("", "1,024", "4,096", "16", "", "", "0.3", "", "300K", "4.33", "26.4", "213", "214.2"),
        "not trained",
    ]
    assert cells["E-learned"][:2] == ["learned positions", "4.92"]
    assert cells["A-h1"][-3].startswith("<b>\u2212")  # the other direction than in the paper


def test_marks_are_differences_from_base_with_bars_over_the_seeds() -> None:
    for score in ("perplexity", "bleu"):
        figure = difference_dots(LINES, score, LIGHT)
        paper, *experiments = figure.data
        assert dict(zip(paper.y, paper.x, strict=True)) == {
            name: paper_difference(name, score) for name in TABLE_3 if name != "base"
        }
        assert [trace.name for trace in experiments] == ["d_model_128", "d_model_256"]
        for trace in experiments:
            lines = pd.DataFrame([line for line in LINES if line["experiment"] == trace.name]).set_index("row")
            assert {*trace.y} == {*lines.index} - {"base"}
            lines = lines.loc[[*trace.y]]
            np.testing.assert_array_equal(trace.x, lines[f"{score}_vs_base"])
            bars = np.add(trace.error_x.array, trace.error_x.arrayminus)
            np.testing.assert_allclose(bars, lines[f"{score}_highest"] - lines[f"{score}_lowest"])
