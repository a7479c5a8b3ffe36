"""Take it with you: the whole explanation as a file, and a link to what is seen."""

import re
from functools import partial
from typing import TYPE_CHECKING, Any

import streamlit as st

from viz_app.components.copy_link import copy_link
from viz_app.session import readings

if TYPE_CHECKING:
    from core.export import ExplanationRecord
    from viz_app.session.chosen_heads import ShownHeads

FORMATS = {
    ".html": ("HTML, to look at", "text/html"),
    ".json": ("JSON, for programs", "application/json"),
    ".npz": ("NPZ, for NumPy", "application/octet-stream"),
}
ABOUT = """
Tokens, log-probabilities, alternatives, the weights of every head, and the facts of the model, in one file. **HTML**
opens in any browser, offline. **JSON** and **NPZ** hold every number and are read back by
`core.export.load_explanation`; layers and heads are counted from 0 there. `python -m core explain` writes the same
files.
"""


def menu(reading: readings.Reading) -> None:
    """A small menu. No file is made before it is asked for."""
    from viz_app.session import chosen_heads  # which imports torch: the sentence is on the page before

    with st.popover("Take it with you", type="tertiary", width="content"):
        st.markdown("**The whole explanation**", help=ABOUT)
        for suffix, (label, mime) in FORMATS.items():
            file = file_name(reading.translation.source) + suffix
            content = partial(file_content, reading, suffix, chosen_heads.shown())
            st.download_button(label, content, file, mime, on_click="ignore", key=f"take{suffix}", width="stretch")
        copy_link()
        st.caption("The link holds no uploaded checkpoint.")


def file_name(source: str) -> str:
    """The first words of the sentence, as far as any file system takes them: `A dog runs.` -> `a-dog-runs`."""
    words = re.findall(r"\w+", source.lower())
    name = ""
    for word in words:
        if len(f"{name}-{word}".encode()) > 60:
            break
        name = f"{name}-{word}" if name else word
    return name or "explanation"


def file_content(reading: readings.Reading, suffix: str, shown: "ShownHeads") -> bytes:
    """One of the files; the download's own thread makes it. HTML opens with what the page Heads shows at that
    moment.
    """
    from core.export import as_bytes

    return as_bytes(record(reading), suffix, shown.first_head(reading.model.digest), shown.view)


def record(reading: readings.Reading) -> "ExplanationRecord":
    """What is read, with the facts of its model and how its target was found."""
    from core.export import record_of

    search = reading.search
    settings: dict[str, Any] = {"target": "forced" if reading.index == readings.FORCED_INDEX else "search"}
    settings |= {"beam_size": search.beam_size, "length_penalty": search.length_penalty}
    if reading.prefix:
        settings["forced_beginning"] = len(reading.prefix)  # tokens
    if reading.index != readings.FORCED_INDEX:
        settings["hypothesis"] = reading.index  # counted from 0, the best first
    return record_of(reading.explanation, reading.model.translator, settings, reading.model.name, reading.model.digest)
