"""The steps of one token, all sent at once, to walk through with the arrow keys."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from core.drawing.drawing_data import label_spans
from viz_app.components.component import component_beside, draw
from viz_app.controls.widgets import page_theme
from viz_app.drawing.theme import Theme
from viz_app.language import tr
from viz_app.session.step_place import StepPlace
from viz_app.views.steps.figures.formula import math_tree
from viz_app.views.steps.figures.step_views import Block, StepView, Vector

StepAndRow = tuple[str, int | None]  # name of a step, and the row picked in it
DIGITS = 5  # significant ones

_component = component_beside(__file__)


def walk_payload(
    views: Sequence[StepView], name: str, about: str, place: StepAndRow, request: int, theme: Theme
) -> dict[str, Any]:
    """Return the data of the steps, see `Data` in step_walk.js.

    Args:
        name: What the steps are of, in the visitor's language.
        about: Description of the followed token, in a line.
        place: Step and row to show.
        request: Number that changes whenever `place` is to be shown; until then the browser keeps its own.
    """
    return {
        "steps": [_step(view) for view in views],
        "name": name,
        "about": about,
        "place": {"step": place[0], "pick": place[1], "request": request},
        "scale": theme.diverging,
    }


def step_walk(views: Sequence[StepView], name: str, about: str, place: StepPlace, key: str = "step_walk") -> None:
    """Draw the steps on the page, see `walk_payload`.

    The place keeps the step that is shown, shortly after the visitor moved there, before the page runs again.
    """
    payload = walk_payload(views, name, about, place.requested, place.request, page_theme())
    draw(_component, payload, key, "place", lambda value: sent_place(value, views), place.keep)


def sent_place(value: object, views: Sequence[StepView]) -> StepAndRow | None:
    """Return the step and the row that the browser sent, or None if there are no such."""
    match value:
        case {"step": str(name), "pick": int() | None as pick}:
            view = next((view for view in views if view.name == name), None)
            return (name, pick) if view and (pick is None or 0 <= pick < len(view.details)) else None
        case _:
            return None


def _step(view: StepView) -> dict[str, Any]:
    return {
        **{name: getattr(view, name) for name in ("name", "group", "title", "section", "figure", "text", "picked")},
        "formulas": [math_tree(formula) for formula in (view.formula, *view.numbers)],
        "facts": [list(fact) for fact in view.facts],
        "blocks": [_block(block) for block in view.blocks],
        "details": [_block(block) for block in view.details],
        "aside": view.aside and [view.aside[0], math_tree(view.aside[1])],
    }


def _block(block: Block) -> dict[str, Any]:
    return {
        "title": block.title,
        "width": block.width,
        "limit": block.limit,
        "legend": block.has_legend,
        "names": list(block.names),
        "columns": [
            {**asdict(column), "title": tr(column.title), "limit": block.column_limit(number)}
            for number, column in enumerate(block.columns)
        ],
        "rows": [
            {
                "label": label_spans(row.label) if row.is_token else [[row.label, ""]],
                "values": _rounded(row.values),
                "numbers": list(row.numbers),
                "note": row.note,
                "marked": row.is_marked,
                "bars": row.as_bars,
                "limit": row.limit or block.limit,
            }
            for row in block.rows
        ],
    }


def _rounded(values: Vector) -> list[float | None]:
    return [None if np.isnan(value) else float(f"{value:.{DIGITS}g}") for value in values.tolist()]
