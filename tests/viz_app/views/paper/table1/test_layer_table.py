"""Table 1 as HTML."""

from tests.core.analysis.layers.test_layer_curves import AT, COSTS, NONE
from viz_app.views.paper.table1.layer_table import formula, table_1


def test_formulas_as_html() -> None:
    assert formula("O(n^2 d)") == "O(<i>n</i><sup>2</sup> <i>d</i>)"
    assert formula("O(log_k(n))") == "O(log<sub><i>k</i></sub>(<i>n</i>))"
    assert formula("O(n/r)") == "O(<i>n</i>/<i>r</i>)"
    assert formula("O(1)") == "O(1)"


def test_table_1_names_the_fewest_multiplications() -> None:
    html = table_1(COSTS, AT)
    assert html.count("<b>") == 1
    assert f"<b>{2 * 4 * 8 * 16 / 1e3:.3g}\u00a0K</b>" in html  # restricted to 4 positions
    assert "2.05 ms" in html  # self-attention: 2 * 8^2 * 16 microseconds
    assert " ms" not in table_1(NONE, AT)
