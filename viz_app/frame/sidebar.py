"""The checkpoint in the sidebar: the current model, and the others that are open."""

import html
import re
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from viz_app.drawing.display_text import plain, shortened
from viz_app.frame import checkpoint_opening, target_language
from viz_app.language import compact, joined, tr
from viz_app.page_list import script_of
from viz_app.session import model_task, models
from viz_app.session.address import CHECKPOINT, UPLOADED
from viz_app.session.core_import import import_core
from viz_app.session.models import Model
from viz_app.session.open_models import MissingFile, OpenModels
from viz_app.session.permalink import DIGITS
from viz_app.session.readings import Current
from viz_app.session.state import Widget, kept, session_object

OPEN_MODEL = Widget[str]("open_model")  # digest of an open model, or the name of a shipped one that is not open


def checkpoint_box(place: DeltaGenerator) -> Model | None:
    """Show the current model, the others that are open, and ways to open more.

    Args:
        place: in the sidebar.

    Returns:
        None, with a message on the page, if there is no model at all.
    """
    opened = session_object(OpenModels)
    with place:
        facts, opening = st.container(), st.container()
        problem = st.container(key="refused")
        with opening:
            refused = checkpoint_opening.opening_box(problem)
    try:
        with facts, _while_loading(opened):
            import_core()
            refused = refused or _open_named(opened)
            model = opened.model()
    except models.ModelError as error:
        if refused:
            problem.error(plain(refused))
        st.error(
            tr(
                "{reason} Upload a checkpoint in the sidebar, or train one (see `python -m train --help`). The "
                "environment variable `{variable}` can name another file to start with.",
                reason=plain(str(error)),
                variable=models.CHECKPOINT_VARIABLE,
            )
        )
        return None
    if refused:
        problem.error(tr("{reason} {model} is still used.", reason=plain(refused), model=plain(model.name)))
    with facts:
        _model_box(opened, model)
    return model


def _while_loading(opened: OpenModels) -> AbstractContextManager[object]:
    """Say that the model is being loaded, if this run may be the first to need it.

    Streamlit starts a thread for a spinner, which would take a fiftieth of every run.
    """
    is_loaded = session_object(Current).model is not None and not CHECKPOINT.texts and not opened.selected
    return nullcontext() if is_loaded else st.spinner(tr("Loading the model"))


def _open_named(opened: OpenModels) -> str:
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
    st.warning(
        tr(
            "**This view is of {name}** (SHA-256 {digits}\u2026), a file that is not open in this session: the server "
            "keeps no files. Open it again in the sidebar, under \u201cOpen another checkpoint\u201d, and the view "
            "comes back.",
            name=plain(shortened(missing.name, 60)),
            digits=missing.digits,
        ),
        icon=":material/upload_file:",
    )
    st.button(
        tr("Show it with {model} instead", model=current.name),
        on_click=session_object(OpenModels).show,
        args=(current.digest,),
        key="without_missing",
    )


def _model_box(opened: OpenModels, model: Model) -> None:
    """Select an open model or a shipped one, describe the current one, and close it."""
    models_open = opened.all()
    shipped = {str(path): name for name, path in models.shipped_paths().items()}
    is_start = model.digest not in opened.opened
    opened.named = "" if is_start else shipped.get(model.path, "")
    CHECKPOINT.put(opened.named)
    file = opened.missing or (None if is_start or opened.named else MissingFile(model.digest[:DIGITS], model.name))
    UPLOADED.put(f"{file.digits}.{file.name}" if file is not None else "")
    offers = [model_task.open_offer(each, is_shipped=each.path in shipped) for each in models_open]
    closed = {path: name for path, name in shipped.items() if path not in {each.path for each in models_open}}
    names = model_task.labels([*offers, *(model_task.file_offer(name, Path(path)) for path, name in closed.items())])
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
    facts = kept("facts_of_the_model", (model.digest, model.name), lambda: facts_html(model))
    st.html(facts)  # with the whole name, which the box may cut off
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="model-links"):
        st.page_link(script_of("checkpoint"), label=tr("Report"), icon=":material/info:")
        if model.digest in opened.opened:
            st.button(tr("Close"), on_click=opened.close, args=(model.digest,), type="tertiary", key="close")
    target_language.language_box(model)


def _show_selected() -> None:
    selected = OPEN_MODEL.value or ""
    if selected in models.shipped_paths():
        session_object(OpenModels).selected = selected  # this run opens it
    else:
        session_object(OpenModels).show(selected)


def translation_model() -> None:
    """Use a translation model, the first open one or else the shipped one; call it in a callback."""
    opened = session_object(OpenModels)
    fitting = [each for each in opened.all() if each.translates]
    opened.add(fitting[0] if fitting else models.model_at(models.translation_checkpoint()))


def facts_html(model: Model) -> str:
    """Describe a model's name and shape in HTML, with all its text escaped, as the file is untrusted."""
    from core.export.attention_arrays import attention_facts
    from core.formats.model_facts import OWN_FORMAT, origin_of
    from viz_app.language import translated

    if model.explanation is not None:
        given = attention_facts(model.explanation)
        return _facts_list(model, [translated(given[name]) for name in ("format", "layers", "tokens")])
    config = model.translator.model.config
    parameters = sum(parameter.numel() for parameter in model.translator.model.parameters())
    facts = [
        tr(
            "{encoder} + {decoder} layers, {heads} heads",
            encoder=config.num_encoder_layers,
            decoder=config.num_decoder_layers,
            heads=config.head_counts,
        ),
        f"d_model {config.d_model}, d_ff {config.d_ff}",
        tr("{count} parameters", count=compact(parameters)),
        tr("{count:,} tokens", count=config.vocab_size),
    ]
    if (origin := origin_of(model.translator.training)) != OWN_FORMAT:
        facts.append(origin)
    if training := training_text(model.translator.training):
        facts.append(training)
    if model.translator.precision == "fast":
        facts.append(tr("translates in reduced precision; maps are exact"))
    return _facts_list(model, facts)


def _facts_list(model: Model, facts: Iterable[str]) -> str:
    lines = "".join(f"<li>{html.escape(fact)}</li>" for fact in facts)
    return (
        f'<div class="facts"><b title="SHA-256 {model.digest[:16]}">{html.escape(model.name)}</b><ul>{lines}</ul></div>'
    )


def training_text(training: object) -> str:
    """Say for how many steps a checkpoint was trained, in all runs it continues; "" if it is not known.

    Args:
        training: the checkpoint's record of its training; `init` is that of the checkpoint it started from.
    """
    from core.files.training_runs import steps_of_runs  # imports torch, which the sentence box does not wait for

    runs = steps_of_runs(training)
    known = [steps for steps in runs if steps is not None]
    if not known:
        return ""
    steps, is_whole = sum(known), len(known) == len(runs)
    if len(runs) == 1:
        return tr("trained for {steps:,} steps", steps=steps)
    if is_whole:
        return tr("trained for {steps:,} steps (in {runs} runs)", steps=steps, runs=len(runs))
    return tr("trained for at least {steps:,} steps (in {runs} runs)", steps=steps, runs=len(runs))
