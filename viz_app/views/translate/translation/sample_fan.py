"""The fan of samples to click on."""

from collections.abc import Callable, Sequence
from typing import Any

from viz_app.components.component import component_beside, draw
from viz_app.drawing.display_text import direction
from viz_app.views.translate.translation.fan_rows import FanRow, row_texts

_component = component_beside(__file__)


def fan_payload(rows: Sequence[FanRow], target: Sequence[int]) -> dict[str, Any]:
    """Return the data of the fan, with the target that the pages explain marked, see `Data` in sample_fan.js."""
    return {
        "rows": [
            {
                "rank": None if row.rank is None else row.rank + 1,
                "samples": len(row.samples),
                "logProb": round(row.translation.log_prob, 3),
                "shared": shared,
                "own": own,
                "parent": row.parent,
                "shown": row.translation.token_ids == tuple(target),
            }
            for row, (shared, own) in ((row, row_texts(row)) for row in rows)
        ],
        "direction": direction(rows[0].translation.text),
    }


def sample_fan(rows: Sequence[FanRow], target: Sequence[int], on_click: Callable[[FanRow], None]) -> None:
    """Draw the fan, see `fan_payload`; `on_click` is called with the clicked row before the page runs again."""
    draw(_component, fan_payload(rows, target), "sample_fan", "row", lambda value: clicked_row(value, rows), on_click)


def clicked_row(value: object, rows: Sequence[FanRow]) -> FanRow | None:
    """Return the row that the browser sent, or None if there is no such row."""
    return rows[value] if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < len(rows) else None
