"""The text of the page Table 1 about a measurement."""

import pytest
import torch

from core.analysis.layers.layer_cost import hardware, shipped_costs
from tests.core.analysis.layers.test_layer_curves import AT, COSTS, NONE
from tests.viz_app.language.texts import Texts
from viz_app import language
from viz_app.views.paper.table1.layer_costs import formula, machine_text, table_1


@pytest.mark.parametrize("threads", [1, 2])
def test_a_machine_is_described_in_the_language_of_the_visitor(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
    found = hardware()
    assert machine_text(found) == found
    assert machine_text(shipped_costs().hardware) == shipped_costs().hardware
    words = {"{count} thread": ["ein Thread", "{count} Threads"], "processor time": "CPU", "wall-clock time": "Uhr"}
    monkeypatch.setattr(language, "translations", lambda _: Texts(words))
    processor, *_, torch_version = found.split(", ")
    expected = "ein Thread, CPU" if threads == 1 else "2 Threads, Uhr"
    assert machine_text(found) == f"{processor}, {expected}, {torch_version}"


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
