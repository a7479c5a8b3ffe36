"""The menu "Share / download": the explanation as a file, and a link."""

import re
from functools import partial
from typing import TYPE_CHECKING, Any

import streamlit as st

from viz_app.language import marked, tr
from viz_app.session import readings
from viz_app.session.state import Widget, session_object

if TYPE_CHECKING:
    from core.analysis.recorded_call import Call
    from core.export import ExplanationRecord
    from viz_app.session.chosen_heads import ShownHeads

MENU, PYTHON = Widget[bool]("share"), Widget[bool]("share_python")  # whether they are open, or are to be opened
FORMATS = {
    ".html": (marked("HTML, for a browser"), "text/html"),
    ".json": (marked("JSON, for programs"), "application/json"),
    ".npz": (marked("NPZ, for NumPy"), "application/octet-stream"),
}
ABOUT = marked("""
Tokens, log-probabilities, alternatives, the weights of every head, and facts about the model, in one file. **HTML**
opens in any browser, offline. **JSON** and **NPZ** have every number and can be read with
`core.export.load_explanation`; they count layers and heads from 0. `python -m core explain` writes the same files.
""")
ABOUT_SCRIPT = marked(
    "Run it in Headlight's folder: it writes the same file as the menu. Layers, heads and positions are counted from 0."
)


def contents(reading: readings.Reading) -> None:
    """Draw the contents of the menu; a file is made when it is downloaded."""
    # these import torch: the sentence box is drawn before
    from viz_app.components.copy_link import copy_link
    from viz_app.session.chosen_heads import ShownHeads

    st.markdown(tr("**The whole explanation**"), help=tr(ABOUT))
    for suffix, (label, mime) in FORMATS.items():
        file = file_name(reading.translation.source) + suffix
        content = partial(file_content, reading, suffix, session_object(ShownHeads))
        st.download_button(tr(label), content, file, mime, on_click="ignore", key=f"take{suffix}", width="stretch")
    st.button(tr("The same in Python"), on_click=_close_for_python, key="take_python", width="stretch")
    copy_link()
    st.caption(tr("Opened checkpoints are not included in the link."))


def _close_for_python() -> None:
    """Close the menu, and show the script instead."""
    MENU.set(False)
    PYTHON.set(True)


def show_python(reading: readings.Reading) -> None:
    """Show the script in a dialog."""
    from viz_app.controls.downloads import python_dialog

    PYTHON.set(False)
    python_dialog(python(reading), ABOUT_SCRIPT)


def python(reading: readings.Reading) -> str:
    """Return Python that writes the file for programs."""
    from core.analysis.recorded_call import Call, code_of
    from core.export import save_explanation

    file = file_name(reading.translation.source) + ".json"
    written = code_of(Call("", save_explanation, (file, record_call(reading))))
    return f"{written.rstrip()}  # or .npz, or .html\n"


def file_name(source: str) -> str:
    """Make a file name of the first words of a sentence, of 60 bytes at most: `A dog runs.` becomes `a-dog-runs`."""
    words = re.findall(r"\w+", source.lower())
    name = ""
    for word in words:
        if len(f"{name}-{word}".encode()) > 60:
            break
        name = f"{name}-{word}" if name else word
    return name or "explanation"


def file_content(reading: readings.Reading, suffix: str, shown: "ShownHeads") -> bytes:
    """Make a file, in the thread of the download; HTML opens with the current view of the page Heads."""
    from core.export import as_bytes

    return as_bytes(record(reading), suffix, shown.first_head(reading.model.digest), shown.view)


def record(reading: readings.Reading) -> "ExplanationRecord":
    """Return the explanation with facts about the model and the search."""
    return record_call(reading).run()


def record_call(reading: readings.Reading) -> "Call":
    """Return the call that makes the record."""
    from core.analysis.recorded_call import Call
    from core.export import ExplanationRecord, record_of
    from viz_app.session import python_code

    model, explanation = reading.model, python_code.explanation(reading)
    if model.explanation is not None:
        return Call("record", ExplanationRecord, (explanation,), {"settings": {"arrays": model.name}})
    search = reading.search
    settings: dict[str, Any] = {"target": "forced" if reading.forced else "search"}
    settings |= readings.search_settings(model, search)
    if reading.prefix:
        settings["forced_beginning"] = len(reading.prefix)  # tokens
    if search.min_length:
        settings["min_length"] = search.min_length  # tokens before the end mark
    if reading.forced and reading.forced.forbidden:
        settings["forbidden"] = [list(pair) for pair in reading.forced.forbidden]  # positions, from 0, and token ids
    if not reading.forced:
        settings["hypothesis"] = reading.index  # counted from 0, the best first
    of_model = python_code.translator(model), settings, model.name, model.digest
    return Call("record", record_of, (explanation, *of_model))
