"""The checkpoint in the sidebar: the current model, and the upload of another one."""

import html
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import streamlit as st

from viz_app.figures.display_text import plain
from viz_app.session import line_readers, models, readings, trees
from viz_app.session.state import session_object

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator


@dataclass
class UploadedCheckpoint:
    """The checkpoint that the visitor has uploaded.

    Attributes:
        model: None: the shipped one is used.
        refused: why the last file was refused, or "".
        file_id: the last file that was read.
        uploader: number of the upload widget; a new widget is an empty one.
    """

    model: models.Model | None = None
    refused: str = ""
    file_id: str | None = None
    uploader: int = 0

    def reset(self) -> None:
        """Return to the shipped checkpoint."""
        self.model, self.refused, self.file_id, self.uploader = None, "", None, self.uploader + 1
        readings.new_sentence()


def checkpoint_box() -> models.Model | None:
    """Show the current model and take uploads.

    Returns None, with a message on the page, if there is no model at all.
    """
    upload = session_object(UploadedCheckpoint)
    with st.sidebar:
        st.subheader("Checkpoint", anchor=False)
        facts = st.container()
        file = st.file_uploader(  # of any type: what Streamlit itself refuses has no reason, and never comes here
            "Another checkpoint",
            key=f"upload-{upload.uploader}",
            help=f"{models.OPENABLE} One has parameters, tokenizer and configuration. It stays on this machine.",
        )
        problem = st.container(key="refused")
    if file is not None and upload.file_id != file.file_id:
        upload.refused = ""
        with problem, st.spinner(f"Reading {plain(file.name)}"):
            try:
                upload.model = models.uploaded_model(file.name, file)
                readings.new_sentence()
            except models.ModelError as error:
                upload.refused = str(error)
        upload.file_id = file.file_id  # after reading it: if a click interrupts that, the next run starts again
    model = _current_model(facts, upload)
    if file is not None and upload.refused:
        reason = plain(models.with_advice(upload.refused))
        problem.error(f"{reason} {plain(model.name)} is still used." if model else reason)
    return model


def translation_model() -> None:
    """Use the shipped checkpoint again or, if that does not translate, the one that comes with Headlight.

    Call it in a callback.
    """
    upload = session_object(UploadedCheckpoint)
    upload.reset()
    shipped = models.shipped_model()
    if trees.parser_of(shipped) is not None or line_readers.reader_of(shipped) is not None:
        upload.model = models.model_at(models.translation_checkpoint())


def _current_model(facts: "DeltaGenerator", upload: UploadedCheckpoint) -> models.Model | None:
    try:
        with facts, st.spinner("Loading the model"):
            model = upload.model or models.shipped_model()
    except models.ModelError as error:
        st.error(
            f"{plain(str(error))} Upload a .safetensors checkpoint in the sidebar, or train one (see `python -m train "
            f"--help`). The environment variable `{models.CHECKPOINT_VARIABLE}` can name another file to start with."
        )
        return None
    with facts:
        st.html(facts_html(model))
        if upload.model is not None:
            st.button("Back to the shipped checkpoint", on_click=upload.reset, width="stretch", key="back")
    return model


def facts_html(model: models.Model) -> str:
    """Describe a model's name and shape in HTML.

    The file is untrusted, so all its text is escaped.
    """
    config = model.translator.model.config
    parameters = sum(parameter.numel() for parameter in model.translator.model.parameters())
    facts = [
        f"{config.num_encoder_layers} + {config.num_decoder_layers} layers, {config.head_counts} heads",
        f"d_model {config.d_model}, d_ff {config.d_ff}",
        f"{parameters / 1e6:.1f} M parameters",
        f"{config.vocab_size:,} tokens",
    ]
    if codes := model.translator.tokenizer.language_codes:
        facts.append(f"begin a source with its target language: {', '.join(codes[:8])}{', ...' if codes[8:] else ''}")
    if training := training_text(model.translator.training):
        facts.append(training)
    if model.translator.precision == "fast":
        facts.append("translates in reduced precision; maps are exact")
    lines = "".join(f"<li>{html.escape(fact)}</li>" for fact in facts)
    return (
        f'<div class="facts"><b title="SHA-256 {model.digest[:16]}">{html.escape(model.name)}</b><ul>{lines}</ul></div>'
    )


def training_text(training: object) -> str:
    """Say for how many steps a checkpoint was trained, in all runs it continues.

    Returns "" if it is not known.

    Args:
        training: the checkpoint's record of its training; `init` is that of the checkpoint it started from.
    """
    runs: list[int | None] = []
    while isinstance(training, dict):
        facts: dict[str, Any] = training
        steps = facts.get("steps")
        runs.append(steps if isinstance(steps, int) else None)
        training = facts.get("init")
    known = [steps for steps in runs if steps is not None]
    if not known:
        return ""
    count = f"{'' if len(known) == len(runs) else 'at least '}{sum(known):,} steps"
    return f"trained for {count}" + (f" (in {len(runs)} runs)" if len(runs) > 1 else "")
