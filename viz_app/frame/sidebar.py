"""The sidebar: the current model and the others that are open, ways to open more, and the language."""

from collections.abc import Generator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from viz_app.drawing.display_text import plain
from viz_app.frame import checkpoint_opening, model_facts, named_model
from viz_app.frame.checkpoint_opening import Opening
from viz_app.language import ENGLISH, LANGUAGES, VisitorLanguage, language_of_visit, marked, tr
from viz_app.page_list import script_of
from viz_app.session import model_opening, model_paths, models, readings
from viz_app.session.address import CHECKPOINT, LANGUAGE, UPLOADED
from viz_app.session.core_import import import_core
from viz_app.session.language_codes import code_of, codes_of, with_code, with_target
from viz_app.session.models import Model
from viz_app.session.open_models import MissingFile, OpenModels
from viz_app.session.permalink import DIGITS
from viz_app.session.readings import Current
from viz_app.session.state import Widget, keep_selected, kept, session_object

ABOUT_FILES = marked("Files stay on the machine that runs the app, and nothing in them is executed.")
ABOUT_PATH = marked(
    "A folder, a zip archive, or a .safetensors or .npz file. There is no limit on its size. Or the name of a model of "
    "the Hugging Face Hub, such as Helsinki-NLP/opus-mt-en-de, that has been downloaded before."
)
OPEN_MODEL = Widget[str]("open_model")  # digest of an open model, or the name of a shipped one that is not open
TARGET = Widget[str | None]("target_language")


def checkpoint_box(place: DeltaGenerator) -> Model | None:
    """Show the current model, the others that are open, and ways to open more, in the sidebar.

    Returns None, with a message on the page, if there is no model at all.
    """
    opened, current = session_object(OpenModels), session_object(Current)
    before = current.model
    is_named = bool(opened.selected) or CHECKPOINT.is_due()
    with place:
        facts, opening = st.container(), st.container()
        problem = st.container(key="refused")
        with opening:
            refused = _opening_box(problem)
    try:
        with facts, _loading() if before is None or is_named else nullcontext():
            refused = refused or (named_model.open_named(opened) if is_named else "")
            model = opened.model()
    except models.ModelError as error:
        if refused:
            problem.error(plain(refused))
        st.error(
            tr(
                "{reason} Upload a checkpoint in the sidebar, or train one (see `python -m train --help`). The "
                "environment variable `{variable}` can name another file to start with, and `HEADLIGHT_SHARE` the "
                "folder of a release or a clone, with its models.",
                reason=plain(str(error)),
                variable=models.CHECKPOINT_VARIABLE,
            )
        )
        return None
    if refused:
        problem.error(tr("{reason} {model} is still used.", reason=plain(refused), model=plain(model.name)))
    with facts:
        _model_box(opened, model)
        if model != before or current.complete is not str:
            _target_box(model)
    return model


@contextmanager
def _loading() -> Generator[None]:
    """Say that the model is being loaded, in a run that may be the first to need it.

    Streamlit starts a thread for a spinner, which would take a fiftieth of every run.
    """
    with st.spinner(tr("Loading the model")):
        import_core()
        yield


def _opening_box(problem: DeltaGenerator) -> str:
    """Draw the uploader and the menu for a path, and open what they name; return why it was refused, or ""."""
    opening = session_object(Opening)
    limit = tr("{most} MB per file", most=st.get_option("server.maxUploadSize"))
    with st.container(key="opening"):
        files = st.file_uploader(  # of any type: Streamlit's own refusals give no reason, and never arrive here
            tr("Open another checkpoint"),
            accept_multiple_files=True,
            key=f"upload-{opening.number}",
            help=f"{tr(model_opening.OPENABLE)} {tr(ABOUT_FILES)}\n\n{limit}.",
        )
        _path_box(opening)
    is_idle = not files and opening == Opening(number=opening.number)
    return "" if is_idle else checkpoint_opening.open_requested(opening, files, problem)


def _path_box(opening: Opening) -> None:
    """Draw the menu for a path.

    A visitor on this machine may give any file; others choose from the files that the app offers, if any.
    """
    is_typed, is_offered = kept("menu_of_paths", (), lambda: (model_paths.may_type_path(), model_paths.has_folders()))
    listed = list(model_paths.listed_paths()) if is_offered else []
    if not is_typed and not listed:
        return
    with (
        st.popover(tr("By path") if is_typed else tr("Offered"), key=f"by_path-{opening.number}"),
        st.form("open_path", border=False),
    ):
        if is_typed:
            path = st.text_input(
                tr("Path on this machine"),
                key=f"path-{opening.number}",
                placeholder="~/models/opus-mt-en-de",
                help=tr(ABOUT_PATH),
            )
        else:
            path = st.selectbox(
                tr("A model that this app offers"),
                listed,
                None,
                key=f"offered-{opening.number}",
                placeholder=tr("Select"),
            )
        if st.form_submit_button(tr("Open"), key="open_path_button") and path and path.strip():
            opening.path = path


def _model_box(opened: OpenModels, model: Model) -> None:
    """Select an open model or a shipped one, describe the current one, and close it."""
    shipped = {str(path): name for name, path in models.shipped_paths().items()}
    names, facts = kept(
        "facts_of_the_model",
        (model.digest, model.name, tuple(opened.opened), tuple(shipped)),
        lambda: (model_facts.names(opened.all(), shipped), model_facts.facts_html(model)),
    )
    is_start = model.digest not in opened.opened
    opened.named = "" if is_start else shipped.get(model.path, "")
    CHECKPOINT.put(opened.named)
    file = opened.missing or (None if is_start or opened.named else MissingFile(model.digest[:DIGITS], model.name))
    UPLOADED.put(f"{file.digits}.{file.name}" if file is not None else "")
    OPEN_MODEL.set(model.digest)
    st.selectbox(
        tr("Model"),
        list(names),
        format_func=names.__getitem__,
        key=OPEN_MODEL.key,
        on_change=_show_selected,
        help=tr(
            "The models that come with Headlight, and those that you have opened. Pages are about the one selected "
            "here. The page Compare shows two open ones side by side."
        ),
    )
    st.html(facts)  # with the whole name, which the box may cut off
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="model-links"):
        st.page_link(script_of("checkpoint"), label=tr("Report"), icon=":material/info:")
        if not is_start:
            st.button(tr("Close"), on_click=opened.close, args=(model.digest,), type="tertiary", key="close")


def _show_selected() -> None:
    selected = OPEN_MODEL.value or ""
    if selected in models.shipped_paths():
        session_object(OpenModels).selected = selected  # this run opens it
    else:
        session_object(OpenModels).show(selected)


@dataclass
class LanguageCodes:
    """Codes of the current model and of the model before it; None if the current one has one target language."""

    current: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    last: str = ""  # the last one selected

    def complete(self, text: str) -> str:
        """Begin a text with a language code if the model needs one, and drop the code of the model before it."""
        return with_code(text, self.current, self.before, self.last)


def _target_box(model: Model) -> None:
    """Select the target language, if the model has several: the code, such as `>>fra<<`, that begins a sentence.

    Call it with another model, and while `Current.complete` changes anything.
    """
    current, codes, choices = session_object(Current), session_object(LanguageCodes), codes_of(model)
    if choices != codes.current:
        codes.before, codes.current = codes.current, choices
    current.complete = codes.complete if codes.current or codes.before else str
    text = readings.TEXT.value or ""
    if current.complete(text) != text:
        st.rerun()
    if choices:
        TARGET.set(code_of(text, choices) or None)
        st.selectbox(
            tr("Target language"),
            choices,
            None,
            format_func=lambda code: code.strip("<>"),
            key=TARGET.key,
            required=True,
            placeholder=tr("Select"),
            on_change=_take_target,
            help=tr("A code at the start of the sentence names the language to translate to."),
        )


def _take_target() -> None:
    codes, code, text = session_object(LanguageCodes), TARGET.value, readings.TEXT.value or ""
    if code is not None:
        codes.last = code
        readings.new_sentence(with_target(text, codes.current, code))


def restore_language() -> None:
    """Take the language from the switch or, at first, from address and browser, before any text is drawn."""
    default = language_of_visit(st.query_params, st.context.locale or "")
    session_object(VisitorLanguage).code = LANGUAGE.restore(default)


def language_box() -> None:
    """Draw the switch."""
    code = st.selectbox(
        tr("Language"),
        list(LANGUAGES),
        format_func=LANGUAGES.__getitem__,
        key=LANGUAGE.key,
        on_change=keep_selected,
        help=tr("Of the interface. Messages about faulty files, exported tables and code stay English."),
    )
    # An address without a language may also have nothing else: then the browser decides, so English is named there.
    LANGUAGE.put(code, ENGLISH if language_of_visit({}, st.context.locale or "") == ENGLISH else "")
    # The server has set it for the first language alone. Screen readers choose their voice by it, browsers their fonts.
    # Streamlit's tables and sliders write numbers by the languages of the browser, which are those of the visitor here.
    st.html(f"<script>{page_script(code)}</script>", unsafe_allow_javascript=True)


def page_script(code: str) -> str:
    """Return the script that names the language of the page, and that of the numbers in tables and sliders."""
    own = f'Object.defineProperty(navigator, "languages", {{ configurable: true, get: () => ["{code}"] }})'
    return f'document.documentElement.lang = "{code}"; {own}'
