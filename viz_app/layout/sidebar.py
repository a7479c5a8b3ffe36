"""The sidebar's checkpoint: which model is at work, and the way to another one."""

import html
from typing import TYPE_CHECKING, Any

import streamlit as st

from viz_app.figures.display_text import plain
from viz_app.session import models, readings

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

# Where the session keeps an uploaded model, why a file was refused, the file last looked at, and how many uploaders it
# has had.
UPLOADED, REFUSED, SEEN, UPLOADERS = "uploaded", "refused", "seen_upload", "uploaders"


def checkpoint_box() -> models.Model | None:
    """Show the current model and take uploads; None, with a message on the page, when there is no model at all."""
    with st.sidebar:
        st.subheader("Checkpoint", anchor=False)
        facts, problem = st.container(), st.container()
        file = st.file_uploader(
            "Another checkpoint",
            type="safetensors",
            key=f"upload-{st.session_state.setdefault(UPLOADERS, 0)}",
            help="A .safetensors file that Headlight wrote: parameters, tokenizer and configuration in one. It stays "
            "on this machine.",
        )
    if file is not None and st.session_state.get(SEEN) != file.file_id:
        st.session_state[REFUSED] = None
        with problem, st.spinner(f"Reading {plain(file.name)}"):
            try:
                st.session_state[UPLOADED] = models.uploaded_model(file.name, file)
                readings.new_sentence()
            except models.ModelError as error:
                st.session_state[REFUSED] = str(error)
        st.session_state[SEEN] = file.file_id  # now that it is read: a click in between begins anew
    model = _current_model(facts)
    if file is not None and st.session_state.get(REFUSED):
        reason = plain(st.session_state[REFUSED]).removesuffix(".")
        problem.error(f"{reason}. {plain(model.name)} stays." if model else f"{reason}.")
    return model


def _current_model(facts: "DeltaGenerator") -> models.Model | None:
    uploaded: models.Model | None = st.session_state.get(UPLOADED)
    try:
        with facts, st.spinner("Loading the model"):
            model = uploaded or models.shipped_model()
    except models.ModelError as error:
        st.error(
            f"{plain(str(error))} Upload a .safetensors checkpoint in the sidebar, or train one: `python -m train "
            f"--help` says how. "
            f"The environment variable `{models.CHECKPOINT_VARIABLE}` can name another file to start with."
        )
        return None
    with facts:
        st.html(facts_html(model))
        if uploaded:
            st.button("Back to the shipped checkpoint", on_click=_back, width="stretch", key="back")
    return model


def _back() -> None:
    st.session_state[UPLOADERS] += 1  # an uploader is emptied by making a new one
    for key in (UPLOADED, REFUSED, SEEN):
        st.session_state[key] = None
    readings.new_sentence()


def facts_html(model: models.Model) -> str:
    """A model's name and shape. The file may be anybody's, so all that comes from it is escaped."""
    config = model.translator.model.config
    parameters = sum(parameter.numel() for parameter in model.translator.model.parameters())
    facts = [
        f"{config.num_encoder_layers} + {config.num_decoder_layers} layers, {config.head_counts} heads",
        f"d_model {config.d_model}, d_ff {config.d_ff}",
        f"{parameters / 1e6:.1f} M parameters",
        f"{config.vocab_size:,} tokens",
    ]
    if training := training_text(model.translator.training):
        facts.append(training)
    if model.translator.precision == "fast":
        facts.append("translates in reduced precision; maps are exact")
    lines = "".join(f"<li>{html.escape(fact)}</li>" for fact in facts)
    return (
        f'<div class="facts"><b title="SHA-256 {model.digest[:16]}">{html.escape(model.name)}</b><ul>{lines}</ul></div>'
    )


def training_text(training: object) -> str:
    """For how many steps a checkpoint was trained, one number for each run that went on with the parameters of
    another; "" if it does not say.
    """
    runs: list[str] = []
    while isinstance(training, dict):
        facts: dict[str, Any] = training
        steps = facts.get("steps")
        runs.append(f"{steps:,}" if isinstance(steps, int) else "?")
        training = facts.get("init")
    return f"trained for {' + '.join(reversed(runs))} steps" if set(runs) - {"?"} else ""
