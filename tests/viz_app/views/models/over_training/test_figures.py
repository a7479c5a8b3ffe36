"""Drawings of heads, lens and loss over a training."""

import math
from dataclasses import replace

import pytest

from core.analysis.heads.head import Head
from core.analysis.heads.scorecards import ScoreCard
from core.analysis.over_training.roles import Development, developments
from viz_app.drawing.theme import LIGHT
from viz_app.views.models.over_training.figures import head_text, loss, roles_grid, roles_text, score_curves

STEPS = (0, 100, 1300)
CARD = ScoreCard(Head("decoder_self", 0, 0), 9, 0.95, 0.1, 3, 0.2, 0.0, 0.0, 0.0, 0.1, 0.1, 0.1, 0.1)
LATER = replace(CARD, entropy=0.3, previous=0.8, confidence=0.7)
OTHER = replace(CARD, head=Head("decoder_self", 1, 3), entropy=0.5)


@pytest.fixture
def found() -> list[Development]:
    return developments([[CARD, OTHER], [LATER, OTHER], [LATER, OTHER]], "confidence")


def test_curves_show_every_head_and_where_the_selected_one_settles(found: list[Development]) -> None:
    figure = score_curves(found, STEPS, found[0], 1300, "confidence", LIGHT)
    lines = [trace for trace in figure.data if trace.mode == "lines"]
    assert [tuple(trace.y) for trace in lines] == [found[1].values, found[0].values]  # the selected one on top
    ring = figure.data[-1]
    assert (ring.x[0], ring.y[0]) == (1, 0.7)
    assert figure.layout.shapes[0].x0 == 2
    assert list(figure.layout.xaxis.ticktext) == ["0", "100", "1,300"]


def test_a_role_is_bold_from_where_it_stays(found: list[Development]) -> None:
    grid = roles_grid(found, STEPS, "confidence")
    (name, cells), (other, mixed) = grid.rows
    assert (name, other) == ("L1 H1", "L2 H4")
    assert [cell.text for cell in cells if cell] == ["spread", "before", "before"]
    assert [cell.is_strong for cell in cells if cell] == [False, True, True]
    assert [cell.text for cell in mixed if cell] == [""] * 3
    assert cells[0] is not None
    assert cells[0].says == "spread out; largest weight 0.100"


def test_a_score_without_value_is_said_to_have_none(found: list[Development]) -> None:
    nothing = [each._replace(values=(math.nan,) * 3, settled=None) for each in found]
    grid = roles_grid(nothing, STEPS, "agreement")
    assert grid.rows[0][1][0] is not None
    assert grid.rows[0][1][0].says.endswith("no value")
    assert len(score_curves(nothing, STEPS, nothing[0], 0, "agreement", LIGHT).data) == 2


def test_texts_say_when_roles_are_taken(found: list[Development]) -> None:
    assert roles_text(found, STEPS) == "1 of 2 heads have a role in the end, all of them by step 100."
    assert roles_text(found[1:] * 2, STEPS) == "None of these 2 heads meets a criterion in the end."
    several = [found[0], found[0]._replace(taken=2), found[0]._replace(taken=0)]
    assert roles_text(several, STEPS).endswith("half of these by step 100, all by step 1,300.")
    assert head_text(found[0], STEPS) == (
        "its score settles after step 0, by step 100; its role, previous word, is taken after step 0, by step 100"
    )
    expected = "its score settles from the first snapshot on; it has no role in the end"
    assert head_text(found[1], STEPS) == expected


def test_the_loss_has_a_line_at_each_snapshot() -> None:
    lines = [{"kind": "train", "step": step, "nll": 9.0 - step / 1000} for step in (10, 1300)]
    figure = loss(lines, STEPS, 100, LIGHT)
    assert [shape.x0 for shape in figure.layout.shapes] == list(STEPS)
    assert [shape.line.color == LIGHT.text for shape in figure.layout.shapes] == [False, True, False]
