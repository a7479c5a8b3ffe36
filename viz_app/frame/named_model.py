"""The model that the visitor has selected, or that an address names: opened, missed, or not one for the page."""

import re

import streamlit as st

from viz_app.drawing.display_text import plain, shortened
from viz_app.language import joined, marked, tr
from viz_app.page_list import ModelKind, View, script_of
from viz_app.session import models
from viz_app.session.address import CHECKPOINT, UPLOADED
from viz_app.session.models import Model
from viz_app.session.open_models import MissingFile, OpenModels
from viz_app.session.permalink import DIGITS
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


def open_named(opened: OpenModels) -> str:
    """Show the model that was selected, or that is named by an address that the visitor has come to.

    Returns why it cannot be opened, or "".
    """
    name, opened.selected = opened.selected, ""
    shipped_name, uploaded = CHECKPOINT.take(), UPLOADED.take()
    if shipped_name is not None or uploaded is not None:
        opened.missing = None
        if uploaded is not None and uploaded.value:
            return _show_uploaded(opened, uploaded.value)
        name = shipped_name.value if shipped_name is not None else ""
        if not name and opened.current:
            opened.show("")
    if name in ("", opened.named):
        return ""
    shipped = models.shipped_paths()
    if name not in shipped:
        return tr(
            "The address names the checkpoint {name:.40}, which is not shipped: {shipped} are.",
            name=name,
            shipped=joined(shipped),
        )
    try:
        opened.add(models.model_at(shipped[name]))
    except models.ModelError as error:
        return str(error)
    return ""


def _show_uploaded(opened: OpenModels, named: str) -> str:
    """Show an opened file that the address names, or note that it is missing.

    Returns what is wrong with the name, or "".
    """
    parts = re.fullmatch(rf"([0-9a-f]{{{DIGITS}}})\.(.+)", named)
    if parts is None:
        return tr(
            "The address has {parameter}={value:.40}, expected the first {count} digits of the file's SHA-256 and its "
            "name.",
            parameter=UPLOADED.key,
            value=named,
            count=DIGITS,
        )
    digest = next((each for each in opened.opened if each.startswith(parts[1])), "")
    if digest:
        opened.show(digest)
    else:
        opened.missing = MissingFile(parts[1], parts[2])
    return ""


def missing_note(missing: MissingFile, current: Model) -> None:
    """Say which file the address is about, and how to give it again, in place of the page."""
    text = tr(
        "**This view is of {name}** (SHA-256 {digits}\u2026), a file that is not open in this session: the server "
        "keeps no files. Open it again in the sidebar, under \u201cOpen another checkpoint\u201d, and the view "
        "comes back.",
        name=plain(shortened(missing.name, 60)),
        digits=missing.digits,
    )
    st.warning(text, icon=":material/upload_file:")
    st.button(
        tr("Show it with {model} instead", model=current.name),
        on_click=session_object(OpenModels).show,
        args=(current.digest,),
        key="without_missing",
    )


def wrong_task_note(model: Model, view: View) -> None:
    """Say, in place of a page, that it is not for a model, and lead to pages that are, or to a translation model."""
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
