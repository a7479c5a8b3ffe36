"""Download buttons below a drawing: SVG, PDF and PNG, and its numbers as CSV."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from viz_app.figures.export.canvas import FORMATS, Format

if TYPE_CHECKING:
    import pandas as pd

Draw = Callable[[Format], bytes]


def downloads(
    name: str,
    draw: Draw | None = None,
    table: "Callable[[], pd.DataFrame] | None" = None,
    page: Callable[[], str] | None = None,
) -> None:
    """Draw a row of small buttons. A download does not run the page again.

    Args:
        name: of the files, without a suffix; unique on the page.
        draw: draws the picture in a format; None if there is only a table.
        table: makes the table of its numbers.
        page: makes the picture as an HTML page, if it can be one.
    """
    files: dict[str, Callable[[], bytes]] = (
        {file_format: partial(draw, file_format) for file_format in FORMATS} if draw else {}
    )
    if table:
        files["csv"] = lambda: table().to_csv(index=False).encode()
    if page:
        files["html"] = lambda: page().encode()
    with st.container(horizontal=True, gap="small", key=f"export_{name}", vertical_alignment="center"):
        st.caption("Export", width="content")
        for suffix, content in files.items():
            file = f"{name}.{suffix}"
            st.download_button(suffix.upper(), content, file, on_click="ignore", type="tertiary", key=file)
