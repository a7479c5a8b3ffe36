"""The text of the page Table 1 about a measurement."""

import pytest
import torch

from core.analysis.layers.layer_cost import hardware, shipped_costs
from tests.viz_app.language.texts import Texts
from viz_app import language
from viz_app.views.paper.table1.layer_costs import machine_text


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
