"""The note in place of a page that is not for the current model."""

import streamlit as st

from viz_app.drawing.display_text import plain
from viz_app.language import marked, tr
from viz_app.page_list import ModelKind, View, script_of
from viz_app.session import models
from viz_app.session.models import Model
from viz_app.session.open_models import OpenModels
from viz_app.session.state import session_object

ABOUT: dict[ModelKind, str] = {
    "parser": marked(
        "**{model} is a parser: it writes trees, not translations.** The page {page} is about translations."
    ),
    "attention": marked("**{model} is attention without a model.** The page {page} needs a model."),
    "pictures": marked(
        "**{model} reads pictures of text, it does not translate.** The page {page} is about a sentence and its "
        "translation."
    ),
    "mask-predict": marked(
        "**{model} predicts all tokens of a translation at once, by mask-predict.** The page {page} is about "
        "models that predict one token after the other."
    ),
}
FITTING: dict[ModelKind, dict[str, str]] = {  # addresses of pages for such a model, and the labels of their links
    "parser": {"parsing": marked("See its tree on the page Parsing")},
    "attention": {"heads": marked("See its heads"), "alignment": marked("Its alignment")},
    "pictures": {"picture": marked("Read a picture")},
    "mask-predict": {"generation": marked("See how it translates")},
}


def note(model: Model, view: View) -> None:
    """Say that a page is not for a model, and lead to pages that are, or to a translation model."""
    st.info(tr(ABOUT[model.kind], model=plain(model.name), page=tr(view.title)))
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        for name, label in FITTING[model.kind].items():
            st.page_link(script_of(name), label=tr(label), icon=":material/arrow_forward:")
        st.button(tr("Use a translation model"), on_click=_show_translation_model, key="translation_model")


def _show_translation_model() -> None:
    """Use the first translation model that is open, or else the shipped one."""
    opened = session_object(OpenModels)
    fitting = [each for each in opened.all() if each.kind == "translation"]
    opened.add(fitting[0] if fitting else models.model_at(models.translation_checkpoint()))
