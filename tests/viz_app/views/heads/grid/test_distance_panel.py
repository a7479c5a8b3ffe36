"""Mean attention distances on the page Heads, and their chart."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from core.analysis.csv_output import csv_text
from core.analysis.heads.attention_distance import DistanceOptions, HeadDistance, head_distances
from core.analysis.heads.head import Head
from core.analysis.recorded_call import table_script
from tests.viz_app.pages import Start, healthy, opened, reading
from viz_app.drawing.export.canvas import FORMATS
from viz_app.drawing.export.plotly_chart import export_chart
from viz_app.drawing.theme import LIGHT
from viz_app.session import python_code
from viz_app.views.heads.grid import distance_panel
from viz_app.views.heads.grid.figures.attention_distances import distances_figure, marker_head


@pytest.fixture
def distances(make_map: Any) -> list[HeadDistance]:
    maps = tuple(make_map(9, 7, num_heads=3, layer=layer) for layer in range(2))
    found = head_distances(SimpleNamespace(maps={"cross": maps}))  # type: ignore[arg-type]
    return [HeadDistance(Head("cross", 0, 3), float("nan"), 0.0), *found.heads]


def test_every_head_with_a_distance_has_a_marker(distances: list[HeadDistance]) -> None:
    figure = distances_figure(distances, LIGHT, [Head("cross", 1, 2)])
    means, heads = figure.data
    assert list(heads.y) == [each.distance for each in distances[1:]]
    assert [round(place) for place in heads.x] == [0, 0, 0, 1, 1, 1]
    assert list(heads.marker.size).index(max(heads.marker.size)) == 5
    for layer in range(2):
        own = [each.distance for each in distances[1:] if each.head.layer == layer]
        assert means.y[layer] == pytest.approx(sum(own) / 3)
    assert heads.text[0].startswith(f"Cross L1 H1: {distances[1].distance:.2f} tokens, over ")
    for file_format in FORMATS:
        assert export_chart(figure, file_format)


def test_a_marker_leads_to_its_head(distances: list[HeadDistance]) -> None:
    assert marker_head(distances, {"curve_number": 1, "point_index": 0}) == Head("cross", 0, 0)
    assert marker_head(distances, {"curve_number": 1, "point_index": 5}) == Head("cross", 1, 2)
    wrong: list[dict[str, Any]] = [{"curve_number": 0, "point_index": 0}, {"curve_number": 1, "point_index": 6}, {}]
    assert not any(marker_head(distances, point) for point in wrong)


@pytest.mark.parametrize("special", [False, True])
def test_the_address_has_the_setting(start: Start, special: bool) -> None:
    settings = {"distance_special": "true"} if special else {}
    app = opened(start(text="A dog runs.", beam_size="1", kind="Encoder", distances="true", **settings), "heads")
    assert app.toggle(key="distance_special").value == special
    (chart,) = app.get("plotly_chart")
    found = head_distances(reading(app).explain(), DistanceOptions(special=special))
    expected = [each.distance for each in found.heads if each.head.kind == "encoder_self"]
    assert f"{expected[0]:.2f} tokens" in chart.proto.spec  # type: ignore[attr-defined]
    healthy(app.toggle(key="distances").set_value(False).run())
    assert not app.get("plotly_chart")


def test_the_script_writes_the_table(start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(python_code, "is_on_this_machine", lambda: True)
    app = opened(start(text="A dog runs.", beam_size="1", distances="true"), "heads")
    table = distance_panel.call(reading(app), True).then("table")
    exec(table_script(table, str(tmp_path / "out.csv")), {})
    assert (tmp_path / "out.csv").read_text(encoding="utf-8") == csv_text(table.run())
