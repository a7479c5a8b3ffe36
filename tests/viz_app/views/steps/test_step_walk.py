import json

import numpy as np
import pytest

from viz_app.drawing.theme import LIGHT
from viz_app.views.steps.figures.step_views import Block, NumberColumn, StepView, VectorRow
from viz_app.views.steps.step_walk import sent_place, walk_payload


def view(name: str, num_details: int = 0) -> StepView:
    row = VectorRow(label="\u2581<b>", is_token=True, values=np.array([1 / 3, np.nan]), numbers=(None, -2.0))
    columns = [NumberColumn("weight", "share"), NumberColumn("score")]
    block = Block("t", [row] * max(1, num_details), width=2, columns=columns)
    return StepView(
        name=name,
        group="g",
        title="t",
        section="3.2",
        formula="x_1",
        text="t",
        part="p",
        quantities=(),
        blocks=[block],
        details=[block] * num_details,
    )


def test_the_payload_is_plain_data() -> None:
    payload = walk_payload([view("a"), view("b", 2)], "steps", "about", ("b", 1), 3, LIGHT)
    assert json.loads(json.dumps(payload, allow_nan=False))["place"] == {"step": "b", "pick": 1, "request": 3}
    (block,) = payload["steps"][0]["blocks"]
    (row,) = block["rows"]
    assert row["values"] == [0.33333, None]
    assert row["label"] == [("<b>", "")]
    assert row["limit"] == pytest.approx(1 / 3)
    assert [column["limit"] for column in block["columns"]] == [1, 2]
    assert len(payload["steps"][1]["details"]) == 2


def test_only_a_step_and_a_row_that_exist_are_taken() -> None:
    views = [view("a"), view("b", 2)]
    assert sent_place({"step": "b", "pick": 1}, views) == ("b", 1)
    assert sent_place({"step": "a", "pick": None}, views) == ("a", None)
    for value in ({"step": "c", "pick": None}, {"step": "b", "pick": 2}, {"step": "a", "pick": 0}, {"step": "b"}, "b"):
        assert sent_place(value, views) is None
