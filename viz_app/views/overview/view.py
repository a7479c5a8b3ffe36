"""Overview: Figure 1 of the paper, drawn for the open model and the sentence."""

from typing import Any

import streamlit as st

from viz_app.controls.downloads import downloads
from viz_app.controls.widgets import page_theme
from viz_app.language import marked, tr
from viz_app.session import previews, readings
from viz_app.session.readings import READING_HASH, Reading
from viz_app.session.word_selection import selected_names
from viz_app.views.overview.figure1 import KEY, figure1, figure1_content, figure1_payload, part_links

HOW_TO_READ = marked("""
**Figure 1** of [Attention Is All You Need](https://arxiv.org/abs/1706.03762), for the open model and the sentence
above. Values flow upwards: words enter below, and the probabilities of the next word stand at the top. Every small map
is one **head** with its weights in this sentence: a row for each word that attends, a column for each word that it
attends to.

**Play** tells how the next word comes about, part by part, with the numbers of this sentence. Of a layer it shows the
clearest head: the one that links the followed word most to another. The space bar pauses, the arrow keys step, Escape
ends it; the address names the stop.

Choose a **decoding step** with the slider, or click a word of the translation: its row stays, the others are dimmed.
Click a word of the source to see which heads attend to it. The arrow beside a layer shows its sub-layers.

**Every part is a link** to the page that explains it, for the same layer, head and word. With the keyboard, arrow keys
lead from part to part, and Enter opens. While **Code of a part** is open, below the figure, a part shows its lines of
the paper's Transformer in one file instead, with the shapes of this model and sentence.
""")


@st.cache_resource(max_entries=24, show_spinner=False, hash_funcs=READING_HASH)
def content(reading: Reading) -> dict[str, Any]:
    """Return what the figure shows of a reading, see `figure1_content`."""
    return figure1_content(reading.explain(), reading.model.translator.model.config)


def page() -> None:
    """Draw the model with the values of the current reading."""
    reading = readings.reading()
    previews.offer(KEY, None)
    if reading is None:
        return
    st.markdown(tr("**The model, and this sentence in it**"), help=tr(HOW_TO_READ))
    links = part_links(reading.model.kind)
    theme = page_theme()
    figure1(figure1_payload(content(reading), theme, links, selected_names(reading)))
    downloads(KEY, KEY, title=tr("Figure 1 of the paper"))
    # without links, which have the sentence in their addresses
    previews.offer(KEY, lambda other: {KEY: figure1_payload(content(other), theme, {})})


page()
