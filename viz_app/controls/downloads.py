"""The export row below a drawing: files, a slide, and the numbers in Python."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from core.analysis.csv_output import Table, csv_text
from core.analysis.recorded_call import table_script
from viz_app.components.export_row import picture_files
from viz_app.language import in_this_language, marked, quoted, tr
from viz_app.session import readings, shown_slide

if TYPE_CHECKING:
    from core.analysis.recorded_call import Call

Script = Callable[[str], str]  # from the name of the CSV file that it is to write
ABOUT_SCRIPT = marked(
    "Run it where Headlight is installed: it writes the same table as the CSV button. Layers, heads and positions are "
    "counted from 0."
)


def downloads(
    name: str,
    picture: str | None = None,
    table: Callable[[], Table] | None = None,
    page: Callable[[], str] | None = None,
    *,
    title: str = "",
    of_sentence: bool = True,
    call: "Callable[[], Call] | None" = None,
) -> None:
    """Draw a row of small buttons, none of which runs the page again.

    Args:
        name: of the files, without a suffix; unique on the page.
        picture: key of the component, chart or container that draws the picture, of which the browser makes files and a
            slide; None if there is only a table.
        table: makes the table of its numbers, where there is no call: measured times, for example.
        page: makes the picture as an HTML page, if it can be one.
        title: of the picture, for the caption of a slide; by default the name of the files.
        of_sentence: whether the picture is about the current sentence, which is then in the caption too, and the model.
        call: the recorded call of the table, from which the script is written that writes it, too.
    """
    files: dict[str, Callable[[], bytes]] = {}
    if table:
        files["csv"] = lambda: csv_text(table()).encode()
    if call:
        files["csv"] = lambda: csv_text(call().run()).encode()
    if page:
        files["html"] = lambda: page().encode()
    drawn = None
    if picture:
        shown_slide.note_picture(name)
        drawn = partial(_picture, name, picture, slide_caption(title or name.replace("-", " "), of_sentence))
    export_row(name, files, drawn, call and partial(_script, call))


def _script(call: "Callable[[], Call]", file: str) -> str:
    return table_script(call(), file)


@st.fragment
def export_row(
    name: str, files: dict[str, Callable[[], bytes]], picture: Callable[[], None] | None, python: Script | None
) -> None:
    """Draw the buttons; that for Python opens a dialog."""
    with st.container(horizontal=True, gap="small", key=f"export_{name}", vertical_alignment="center"):
        st.caption(tr("Export"), width="content")
        if picture:
            picture()
        for suffix, content in files.items():
            file = f"{name}.{suffix}"
            st.download_button(
                suffix.upper(), in_this_language(content), file, on_click="ignore", type="tertiary", key=file
            )
        if python and st.button("Python", type="tertiary", key=f"python_{name}", help=tr("The same in Python")):
            python_dialog(python(f"{name}.csv"))


def _picture(name: str, picture: str, caption: str) -> None:
    def toggle(is_shown: bool) -> None:
        shown_slide.show(name if is_shown else "")

    picture_files(name, picture, caption, shown_slide.is_shown(name), toggle)


def python_dialog(code: str, about: str = ABOUT_SCRIPT) -> None:
    """Show a script, and describe its output."""
    st.dialog(tr("The same in Python"), width="large")(_python)(code, tr(about))


def _python(code: str, about: str) -> None:
    st.code(code, language="python", wrap_lines=True)
    st.caption(about)


def slide_caption(title: str, of_sentence: bool) -> str:
    """Name a picture and, if it is of the current sentence, that sentence, its translation, and the model."""
    reading = readings.reading() if of_sentence else None
    if reading is None:
        return title
    source, target = reading.translation.source, reading.hypothesis.text
    return f"{title}: {quoted(source)} \u2192 {quoted(target)} ({readings.model().name})"
