"""Charts in words: axes, ranges and extremes of the drawn values."""

import numpy as np
import plotly.graph_objects as go
import pytest

from viz_app.drawing.plotly_chart import MOST_SERIES, chart_text, empty_figure, escaped
from viz_app.drawing.theme import LIGHT


@pytest.fixture
def figure() -> go.Figure:
    return empty_figure(LIGHT, 300)


def test_lines_have_ends_and_extremes(figure: go.Figure) -> None:
    steps = np.array([1, 500, 2000], dtype=np.int32)
    figure.add_scatter(x=steps, y=np.array([9.5, 0.25, 0.5]), mode="lines", name="training")
    figure.add_scatter(x=steps, y=[-1.0, np.nan, -1.0], mode="lines", name="flat")
    figure.add_scatter(x=steps, y=[7, 8, 99], mode="lines", hoverinfo="skip", showlegend=False)  # helps the eye
    figure.update_layout(xaxis_title_text="step", yaxis_title_text="<i>loss</i>")
    assert chart_text(figure) == (
        "Horizontal axis: step, 1 to 2,000. Vertical axis: loss, \u22121 to 9.5. "
        "training: 9.5 at first, 0.5 at last; lowest 0.25 at 500, highest 9.5 at 1. flat: \u22121 everywhere."
    )


def test_dots_are_named_by_their_own_texts_or_categories(figure: go.Figure) -> None:
    figure.add_scatter(x=[0.1, 0.2], y=[3, 1], mode="markers", name="Cross", text=["Cross L1 H1", "Cross L1 H2"])
    figure.add_scatter(x=[5.0, 4.0], y=[escaped("<base>"), "A"], mode="markers", name="the paper")
    text = chart_text(figure)
    assert "Cross: lowest 1 at Cross L1 H2, highest 3 at Cross L1 H1." in text
    assert "the paper: lowest 4 at A, highest 5 at <base>." in text


def test_traces_without_a_legend_are_described_together(figure: go.Figure) -> None:
    figure.add_bar(x=[1, 3], y=[0.5, 0.75])
    figure.add_bar(x=[2], y=[-0.5])
    assert chart_text(figure) == (
        "Horizontal axis: 1 to 3. Vertical axis: \u22120.5 to 0.75. "
        "All values: lowest \u22120.5 at 2, highest 0.75 at 3."
    )


def test_names_of_ticks_stand_for_places(figure: go.Figure) -> None:
    figure.add_scatter(x=[0, 1, 2], y=[1, 2, 3], mode="markers")
    figure.update_xaxes(tickvals=[0, 1, 2], ticktext=["100", "1,000", "5,000"], title_text="steps")
    assert chart_text(figure).startswith("Horizontal axis: steps, 100 to 5,000.")
    assert chart_text(figure).endswith("lowest 1 at 100, highest 3 at 5,000.")


def test_a_heatmap_has_the_places_of_its_extremes(figure: go.Figure) -> None:
    figure.add_heatmap(z=np.array([[0.5, -0.25], [np.nan, 1.0]]))
    assert chart_text(figure) == "All values: lowest \u22120.25 at (0, 1), highest 1 at (1, 1)."


def test_a_drawing_without_a_scale_has_its_labels(figure: go.Figure) -> None:
    figure.add_scatter(x=[0, 1], y=[0, 1], mode="lines", name="hand")
    figure.update_xaxes(tickvals=[0, 1], ticktext=["dimensions 0, 1<br>turned by 57\u00b0", "dimensions 2, 3"])
    figure.update_yaxes(showticklabels=False)
    assert chart_text(figure) == "dimensions 0, 1 turned by 57\u00b0; dimensions 2, 3"


def test_many_series_are_counted(figure: go.Figure) -> None:
    for number in range(MOST_SERIES + 2):
        figure.add_scatter(x=[0, 1], y=[number, number + 1], mode="lines", name=f"line {number}")
    text = chart_text(figure)
    assert text.count("at first") == MOST_SERIES
    assert text.endswith("Further series: 2.")


def test_an_empty_chart_has_no_words(figure: go.Figure) -> None:
    assert chart_text(figure) == ""
