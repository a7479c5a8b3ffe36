"""Sentences to begin with, and what a model does that does not translate."""

import streamlit as st

from viz_app.controls.widgets import text_button
from viz_app.drawing.display_text import plain, shortened
from viz_app.language import marked, tr
from viz_app.session import readings
from viz_app.session.address import FIRST_EXAMPLE
from viz_app.session.models import Model

EXAMPLES = (
    FIRST_EXAMPLE,
    "A brown dog runs across the grass.",
    "I don't know where he lives.",
    "A man in a blue shirt is standing on a ladder.",
)
# Of models that do something else, by their task, see `task_of` of `core.formats.model_facts`.
TASK_EXAMPLES = {
    "summarises": (
        "The train from Berlin to Munich was two hours late on Monday because of heavy snow. Hundreds of passengers "
        "waited at the station, where the railway company gave them hot tea. It will pay back all tickets.",
        "A dog that was lost in the mountains for three weeks has found its way home. Its owner had put up pictures of "
        "it in every village. Nobody knows how it survived the cold nights.",
    ),
    "denoises": (
        "A little girl in a pink dress is <mask> up a set of stairs.",
        "The train was <mask> because of the snow.",
        "I don't know where he <mask>.",
    ),
    "reverses": ("h e a d", "b a d g e", "c a b b a g e", "a b c d e f g h i j"),
}
TASK_NOTES = {
    "summarises": marked("This model summarises: give it several sentences, and it writes a shorter text."),
    "denoises": marked("This model fills in: write <mask> where words are missing, and it writes the whole sentence."),
    "reverses": marked(
        "This model writes letters in reverse order: give it up to ten of a to j, with spaces between them."
    ),
}
SHOWN_EXAMPLE = 70  # characters of an example on its button


def are_shown(text: str) -> bool:
    """Whether a sentence is one of the examples, or the first of a session."""
    return text in EXAMPLES or any(text in sentences for sentences in TASK_EXAMPLES.values())


def draw(model: Model, shown: str = "") -> None:
    """Draw buttons with the other example sentences, and say what the model does unless it translates."""
    task = task_of(model)
    if task in TASK_NOTES:
        st.caption(plain(tr(TASK_NOTES[task])))
    with st.container(horizontal=True, vertical_alignment="center", width="content", key="examples"):
        st.caption(tr("Try"), width="content")
        for example in (each for each in TASK_EXAMPLES.get(task, EXAMPLES) if each != shown):
            text = plain(shortened(example, SHOWN_EXAMPLE))
            text_button(text, readings.new_sentence, example, key=f"example: {example}")


def task_of(model: Model) -> str:
    """What a model does, "" if it translates or has only attention."""
    from core.formats.model_facts import task_of as recorded_task

    return "" if model.explanation is not None else recorded_task(model.translator.training)
