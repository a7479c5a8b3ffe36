"""Plotly drawings as files: vectors, whole, and with their words as text."""

import re
from xml.etree import ElementTree

import numpy as np
import plotly.graph_objects as go
import pytest

from core.model import sinusoidal_encoding
from tests.viz_app.export_readers import READERS
from viz_app.drawing.export.canvas import FORMATS, Format
from viz_app.drawing.export.plotly_chart import export_chart
from viz_app.drawing.theme import DARK, LIGHT
from viz_app.views.paper.positions.figures import positions

SVG = "{http://www.w3.org/2000/svg}"


def texts(file: bytes) -> set[str]:
    return {"".join(node.itertext()).strip() for node in ElementTree.fromstring(file).iter(f"{SVG}text")}


@pytest.mark.parametrize("file_format", ["svg", "pdf"])
def test_a_heatmap_is_drawn_without_a_picture_of_dots(file_format: Format) -> None:
    file = export_chart(positions.encoding_heatmap(sinusoidal_encoding(2, 4), DARK), file_format, DARK)
    assert b"<image" not in file
    assert b"/Subtype /Image" not in file


def test_lines_and_markers_keep_their_names_and_titles() -> None:
    found = texts(export_chart(positions.sinusoids([0, 3], 8, 8, LIGHT), "svg"))
    assert {"position", "encoding", "0 (sine, period 6.3)"} <= found


def test_every_cell_has_the_colour_of_its_value() -> None:
    """Red, white and blue in a row, and a free cell: three paths of one rectangle each, at their places."""
    chart = go.Figure(
        go.Heatmap(
            z=[[0.0, 0.5, 1.0, np.nan]], zmin=0, zmax=1, colorscale=[(0, "#ff0000"), (0.5, "#ffffff"), (1, "#0000ff")]
        )
    )
    tree = ElementTree.fromstring(export_chart(chart, "svg"))
    styles = [
        node.get("style", "")
        for group in tree.iter(f"{SVG}g")
        if (group.get("id") or "").startswith("patch_")
        for node in group
    ]
    for color in ("#ff0000", "#0000ff"):
        assert sum(color in style for style in styles) == 1


def test_markup_and_formulas_in_names_are_text() -> None:
    chart = go.Figure(
        go.Scatter(x=[0, 1], y=[1, 2], name="&lt;b&gt; $x_1$<br>", line={"color": "#000000"}), {"showlegend": True}
    )
    chart.update_layout(xaxis={"title": {"text": "<b>n</b> &amp; d"}, "tickvals": [0, 1], "ticktext": ["$a$", "b"]})
    assert {"<b> $x_1$", "n & d", "$a$", "b"} <= texts(export_chart(chart, "svg"))


def test_circles_stay_round_and_hidden_numbers_hidden() -> None:
    chart = go.Figure(go.Scatter(x=[0, 1, 0, -1], y=[1, 0, -1, 0], line={"color": "#123456"}))
    chart.update_layout(yaxis={"scaleanchor": "x", "showticklabels": False}, xaxis={"showticklabels": False})
    file = export_chart(chart, "svg")
    assert not texts(file)
    (line,) = (
        node.get("d", "")
        for node in ElementTree.fromstring(file).iter(f"{SVG}path")
        if "#123456" in (node.get("style") or "")
    )
    points = np.array([float(number) for number in line.replace("M", " ").replace("L", " ").split()]).reshape(-1, 2)
    assert np.ptp(points[:, 0]) == pytest.approx(np.ptp(points[:, 1]), rel=1e-3)


def test_names_along_an_axis_stand_beside_their_marks_and_open_marks_are_empty() -> None:
    marks = {"symbol": "diamond-open", "color": "#123456", "line": {"width": 2, "color": "#123456"}}
    chart = go.Figure(go.Scatter(x=[1, 2], y=["base", "A$h1"], mode="markers", marker=marks))
    chart.update_layout(yaxis={"autorange": "reversed"})
    file = export_chart(chart, "svg")
    assert {"base", "A$h1"} <= set(texts(file))
    assert b"fill: #123456" not in file


@pytest.mark.parametrize("file_format", FORMATS)
def test_names_with_characters_that_no_svg_may_have_can_be_opened(file_format: Format) -> None:
    chart = go.Figure(go.Scatter(x=[1, 2], y=["a\x0cb", "c\ud800"], mode="markers"))
    chart.update_layout(xaxis={"tickvals": [1, 2], "ticktext": ["d\x00", "e"]})
    file = export_chart(chart, file_format)
    READERS[file_format](file)
    if file_format == "svg":
        assert {"a\ufffdb", "c\ufffd", "d\ufffd", "e"} <= texts(file)


def test_error_bars_go_from_the_lowest_to_the_highest_value() -> None:
    bars = {"array": [0.5, 0], "arrayminus": [0.25, 0], "symmetric": False, "color": "#123456", "thickness": 2}
    dots = go.Scatter(x=[1, 3], y=["a", "b"], mode="markers", error_x={**bars, "width": 6, "visible": True})
    tree = ElementTree.fromstring(export_chart(go.Figure(dots), "svg"))
    groups = {group.get("id", ""): group for group in tree.iter(f"{SVG}g")}
    dot, other = (float(use.get("x", "")) for use in groups["PathCollection_1"].iter(f"{SVG}use"))
    (bar, _) = groups["LineCollection_1"].iter(f"{SVG}path")
    assert "#123456" in bar.get("style", "")
    left, right = (float(place) for place in re.findall(r"[ML] (\S+)", bar.get("d", "")))
    unit = (other - dot) / 2
    assert ((left - dot) / unit, (right - dot) / unit) == pytest.approx((-0.25, 0.5), abs=1e-3)


NOT_FINITE = (np.nan, np.inf, -np.inf)


def filled(file: bytes) -> int:
    """How many rectangles are drawn, of which one path may have several."""
    paths = [node.get("d", "") for node in ElementTree.fromstring(file).iter(f"{SVG}path")]
    return sum(path.count("z") for path in paths if path.count("L") == 3 * path.count("z"))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("values", "scale"),
    [
        *((np.full((2, 3), value), {}) for value in NOT_FINITE),
        (np.ma.masked_all((2, 2)), {}),
        *((np.zeros(shape), {}) for shape in ((0, 3), (3, 0))),
        *((values, {}) for values in ([], None, [[None, None]], [[*NOT_FINITE, 1.0]], [[1e20, 1e20]])),
        *(([], scale) for scale in ({"zmin": 0, "zmax": 1}, {"zmin": -np.nan, "zmax": np.nan}, {"zmax": np.inf})),
    ],
    ids=str,
)
def test_a_heatmap_without_numbers_is_drawn(values: object, scale: dict[str, float]) -> None:
    chart = go.Figure(go.Heatmap(z=values, colorscale=LIGHT.plotly_scale(), **scale))
    READERS["svg"](export_chart(chart, "svg"))


@pytest.mark.parametrize("file_format", FORMATS)
def test_a_heatmap_without_numbers_is_drawn_in_every_format(file_format: Format) -> None:
    chart = go.Figure(go.Heatmap(z=[[np.nan]], colorscale=LIGHT.plotly_scale()))
    READERS[file_format](export_chart(chart, file_format))


def test_cells_without_a_finite_value_stay_empty() -> None:
    rows = ([0.0, 0.5, 1.0, 0.5], [0.0, *NOT_FINITE], [np.nan] * 4)
    charts = [go.Figure(go.Heatmap(z=[row], colorscale=LIGHT.plotly_scale())) for row in rows]
    some, one, none = (filled(export_chart(chart, "svg")) for chart in charts)
    assert (some - one, one - none) == (3, 1)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("values", [[], [None, None], *([value, 1.0] for value in NOT_FINITE), [np.nan] * 2], ids=str)
def test_marks_without_a_finite_place_are_left_out(values: list[float]) -> None:
    places = list(range(len(values)))
    traces = [go.Scatter(x=places, y=values, mode=mode) for mode in ("lines", "markers")]
    traces += [go.Scatter(x=values, y=places, mode="markers") if None not in values else go.Scatter(x=[], y=[])]
    ends = {"array": values, "arrayminus": [0.0] * len(values), "color": "#000000", "thickness": 1, "width": 2}
    if not any(value is not None and value < 0 for value in values):
        traces.append(go.Scatter(x=places, y=places, mode="markers", error_x={**ends, "visible": True}))
    for trace in (*traces, go.Bar(x=places, y=values, name="a", marker_color="#000000")):
        assert texts(export_chart(go.Figure(trace), "svg"))


def test_what_cannot_be_drawn_is_refused() -> None:
    with pytest.raises(ValueError, match="error bars along the y axis cannot be exported: expected error_x"):
        export_chart(go.Figure(go.Scatter(x=[1], y=[1], error_y={"array": [1], "visible": True})), "svg")
    with pytest.raises(ValueError, match="type pie cannot be exported: expected heatmap, scatter or bar"):
        export_chart(go.Figure(go.Pie(values=[1])), "svg")
    with pytest.raises(ValueError, match="unknown format 'gif'"):
        export_chart(go.Figure(), "gif")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="more than one pair of axes"):
        export_chart(go.Figure(go.Scatter(x=[1], y=[1], yaxis="y2")), "svg")
