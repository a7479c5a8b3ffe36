"""Clicks anywhere in a row of a table, which select it."""

from viz_app.components.component import component_beside

_component = component_beside(__file__)


def row_clicks(table: str) -> None:
    """Make a click on a cell of a table, by its key, select its row, without drawing anything."""
    _component(data=table, key=f"clicks_{table}")
