"""The export row below a drawing: files, a slide, and the numbers in Python."""

from collections.abc import Callable, Set
from functools import partial
from typing import TYPE_CHECKING, Any

import streamlit as st

from core.analysis.csv_output import Table, csv_text
from core.analysis.pictures import Picture
from core.analysis.pictures_data import Mark
from core.analysis.recorded_call import table_script
from viz_app.components.export_row import picture_files
from viz_app.components.picture import picture
from viz_app.language import in_this_language, marked, quoted, tr, translated
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
    drawing: str | None = None,
    call: "Call | Callable[[], Call] | None" = None,
    *,
    title: str = "",
    table: Callable[[], Table] | None = None,
    page: Callable[[], str] | None = None,
    of_sentence: bool = True,
) -> None:
    """Draw a row of small buttons, none of which runs the page again.

    Args:
        name: of the files, without a suffix; unique on the page.
        drawing: key of the component, chart or container that draws the picture, of which the browser makes files and a
            slide; None if there is only a table.
        call: the recorded call of the table, or makes it; from it the script is written that writes the table, too.
        title: of the picture, for the caption of a slide; by default the name of the files.
        table: makes the table of its numbers, where there is no call: measured times, for example.
        page: makes the picture as an HTML page, if it can be one.
        of_sentence: whether the picture is about the current sentence, which is then in the caption too, and the model.
    """
    files: dict[str, Callable[[], bytes]] = {}
    recorded = call if call is None or callable(call) else lambda: call
    if made := table or (recorded and (lambda: recorded().run())):
        files["csv"] = lambda: csv_text(made()).encode()
    if page:
        files["html"] = lambda: page().encode()
    drawn = None
    if drawing:
        shown_slide.note_picture(name)
        drawn = partial(_picture, name, drawing, slide_caption(title or name.replace("-", " "), of_sentence))
    export_row(name, files, drawn, recorded and (lambda file: table_script(recorded(), file)))


def picture_with_files(
    shown: Picture,
    name: str,
    call: "Call | Callable[[], Call] | None",
    selected: Mark | Set[Mark] | None = None,
    *,
    key: str = "",
    title: str = "",
    of_sentence: bool = True,
    **clicks: Any,
) -> None:
    """Draw a picture, with selected marks and clicks as of `picture`, and its files, as `downloads`.

    Args:
        key: of the component; by default the name of the files.
        title: in the visitor's language; by default that of the picture.
    """
    picture(shown, key or name, selected, **clicks)
    downloads(name, key or name, call, title=title or translated(shown.title), of_sentence=of_sentence)


@st.fragment
def export_row(
    name: str, files: dict[str, Callable[[], bytes]], drawn: Callable[[], None] | None, python: Script | None
) -> None:
    """Draw the buttons; that for Python opens a dialog."""
    with st.container(horizontal=True, gap="small", key=f"export_{name}", vertical_alignment="center"):
        st.caption(tr("Export"), width="content")
        if drawn:
            drawn()
        for suffix, content in files.items():
            file = f"{name}.{suffix}"
            st.download_button(
                suffix.upper(), in_this_language(content), file, on_click="ignore", type="tertiary", key=file
            )
        if python and st.button("Python", type="tertiary", key=f"python_{name}", help=tr("The same in Python")):
            python_dialog(python(f"{name}.csv"))


def _picture(name: str, drawing: str, caption: str) -> None:
    def toggle(is_shown: bool) -> None:
        shown_slide.show(name if is_shown else "")

    picture_files(name, drawing, caption, shown_slide.is_shown(name), toggle)


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
