"""The note in place of a page that the current model does not fit.

Such a page is about translations, or runs a model.
"""

import streamlit as st

from viz_app.drawing.display_text import plain
from viz_app.frame.sidebar import translation_model
from viz_app.language import marked, tr
from viz_app.page_list import AppPage, script_of
from viz_app.session.models import Model

# titles of the pages about translations
PAGES = (
    "Translate",
    "Beam",
    "Generation",
    "Switches",
    "Alignment",
    "Compare",
    "Corpus",
    marked("Layer by layer"),
    "Patching",
    marked("Score a file"),
)


def note(model: Model, title: str) -> None:
    """Say that a page is not for this model, and lead to what fits.

    That is the page or the model.

    Args:
        title: of the page.
    """
    st.info(
        tr(
            "**{model} is a parser: it writes trees, not translations.** The page {page} is about translations.",
            model=plain(model.name),
            page=tr(title),
        )
    )
    _alternatives((script_of("parsing"), tr("See its tree on the page Parsing")))


def attention_note(model: Model, title: str) -> None:
    """Say that a page needs a model, and lead to the pages that do not, or to a model.

    Args:
        title: of the page.
    """
    st.info(
        tr(
            "**{model} is attention without a model.** The page {page} needs a model.",
            model=plain(model.name),
            page=tr(title),
        )
    )
    _alternatives((script_of("heads"), tr("See its heads")), (script_of("alignment"), tr("Its alignment")))


def needs_text(page: AppPage) -> bool:
    """Whether a page is about what a model does with a text."""
    return page.has_sentence or page.name in ("paper_figures", "corpus")


def picture_note(model: Model, title: str) -> None:
    """Say that a page is not for a model that reads pictures.

    Leads to the page or the model that fits.

    Args:
        title: of the page.
    """
    st.info(
        tr(
            "**{model} reads pictures of text, it does not translate.** The page {page} is about a sentence and its "
            "translation.",
            model=plain(model.name),
            page=tr(title),
        )
    )
    _alternatives((script_of("picture"), tr("Read a picture")))


def predicts_next_tokens(page: AppPage) -> bool:
    """Whether a page is about a model that predicts one token after the other."""
    return needs_text(page) and page.name not in ("generation", "parsing")


def mask_predict_note(model: Model, title: str) -> None:
    """Say that a page is not for a model without causal mask.

    Leads to the page or the model that fits.

    Args:
        title: of the page.
    """
    st.info(
        tr(
            "**{model} predicts all tokens of a translation at once, by mask-predict.** The page {page} is about "
            "models that predict one token after the other.",
            model=plain(model.name),
            page=tr(title),
        )
    )
    _alternatives((script_of("generation"), tr("See how it translates")))


def _alternatives(*pages: tuple[str, str]) -> None:
    """Draw links to pages that fit the model, and a button to another model.

    That model fits the page.

    Args:
        pages: file of each, and its label in the visitor's language.
    """
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        for file, label in pages:
            st.page_link(file, label=label, icon=":material/arrow_forward:")
        st.button(tr("Use a translation model"), on_click=translation_model, key="translation_model")
