"""What stands around the pages: the sentence with its settings, and the checkpoint in the sidebar."""

import html
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import streamlit as st

from viz_app import state

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

EXAMPLES = (
    "A brown dog runs across the grass.",
    "Two men are playing guitar on a stage.",
    "I don't know where he lives.",
    "A little girl in a pink dress is climbing up a set of stairs.",
)
TRAIN_COMMAND = "python -m train"


@dataclass(frozen=True)
class SentenceBox:
    """What was asked for, and the places that an answer fills in."""

    text: str
    beam_size: int
    length_penalty: float
    num_hypotheses: int
    menu: "DeltaGenerator"  # where the hypotheses are chosen from
    below: "DeltaGenerator"  # errors, progress and the sentence bar


def sentence_box() -> SentenceBox:
    """The text to translate and how to search; needs no model."""
    with st.container(key="sentence"):
        columns = st.columns([6, 3, 1.5], vertical_alignment="bottom")
        text = columns[0].text_input(
            "Sentence", value=EXAMPLES[0], key="text", placeholder="Type a sentence and press Enter", bind="query-params", on_change=new_sentence
        )
        menu = columns[1].container()
        with columns[2].popover("Search", width="stretch"):
            beam_size, length_penalty, num_hypotheses = search_settings()
        return SentenceBox(text or "", beam_size, length_penalty, num_hypotheses, menu, st.container())


def search_settings() -> tuple[int, float, int]:
    """Beam size, length penalty and the number of hypotheses."""
    beam_size = st.slider(
        "Beam size",
        1,
        16,
        4,
        key="beam_size",
        bind="query-params",
        help="How many unfinished translations the search keeps at every step. 1 is greedy search; the paper uses 4 (6.1).",
    )
    length_penalty = st.slider(
        "Length penalty",
        0.0,
        2.0,
        0.6,
        0.1,
        key="length_penalty",
        bind="query-params",
        help="Each log-probability is divided by ((5 + length) / 6) to this power. 0 favours short translations; the paper uses 0.6.",
    )
    wanted = st.slider(
        "Hypotheses",
        1,
        16,
        4,
        key="hypotheses",
        bind="query-params",
        help="How many of the best translations to list. No more can be found than the beam is wide.",
    )
    return beam_size, length_penalty, min(wanted, beam_size)


def new_sentence(text: str | None = None) -> None:
    """Start afresh: nothing of the last sentence stays selected. With `text`, as if it had been typed."""
    if text is not None:
        st.session_state["text"] = text
    st.session_state["hypothesis"] = 0
    st.session_state[state.WORD] = None


def read(model: state.Model, box: SentenceBox) -> state.Reading | None:
    """Translate what is in the box and show it as the sentence bar; None, with the reason below the box, when that cannot be done."""
    with box.below:
        try:
            with st.spinner("Translating"):
                translation = state.translation(
                    model.digest, box.text, box.beam_size, box.length_penalty, box.num_hypotheses, model.translator
                )
        except ValueError as error:
            st.error(sentence_case(str(error)))
            return None
        hypotheses = translation.hypotheses
        if st.session_state.get("hypothesis", 0) >= len(hypotheses):
            st.session_state["hypothesis"] = 0
        index = box.menu.selectbox(
            "Hypothesis",
            range(len(hypotheses)),
            format_func=lambda index: f"{index + 1}: {hypotheses[index].text}",
            key="hypothesis",
            help="The best translations that the search found, best first. Everything on the pages is about the one chosen here.",
        )
        return state.Reading(model, translation, index or 0)


def checkpoint_box() -> state.Model | None:
    """The sidebar's checkpoint: the current model, its facts, and the way to another one."""
    with st.sidebar:
        st.subheader("Checkpoint", anchor=False)
        facts, problem = st.container(), st.container()
        uploader = f"upload-{st.session_state.setdefault(state.UPLOADS, 0)}"
        file = st.file_uploader(
            "Another checkpoint",
            type="safetensors",
            key=uploader,
            help="A .safetensors file that Headlight wrote: parameters, tokenizer and configuration in one. It stays on this machine.",
        )
    if file is not None and st.session_state.get(state.SEEN) != file.file_id:
        st.session_state[state.SEEN] = file.file_id
        st.session_state[state.REFUSED] = None
        with problem, st.spinner(f"Reading {plain(file.name)}"):
            try:
                st.session_state[state.UPLOADED] = state.uploaded_model(file.name, file)
                new_model()
            except state.ModelError as error:
                st.session_state[state.REFUSED] = str(error)
    refused = st.session_state.get(state.REFUSED)
    if refused and file is not None:
        problem.error(plain(refused))
    return _current_model(facts)


def _current_model(facts: "DeltaGenerator") -> state.Model | None:
    model: state.Model | None = st.session_state.get(state.UPLOADED)
    if model is None:
        try:
            with facts, st.spinner("Loading the model"):
                model = state.shipped_model()
        except state.ModelError as error:
            st.error(
                f"{error} Upload a `.safetensors` checkpoint in the sidebar, or train one: `{TRAIN_COMMAND} --help` says how. "
                f"The variable `{state.CHECKPOINT_VARIABLE}` names another file to start with."
            )
            return None
    with facts:
        st.html(facts_html(model))
        if st.session_state.get(state.UPLOADED) is not None:
            st.button("Back to the shipped checkpoint", on_click=_back, width="stretch")
    return model


def _back() -> None:
    st.session_state[state.UPLOADS] += 1  # an uploader is emptied by making a new one
    for key in (state.UPLOADED, state.REFUSED, state.SEEN):
        st.session_state[key] = None
    new_model()


def new_model() -> None:
    """Forget what was selected in another model."""
    new_sentence()
    for key in state.SELECTION_KEYS:
        st.session_state.pop(key, None)


def facts_html(model: state.Model) -> str:
    """A model's name and shape. The file may be anybody's, so all that comes from it is escaped."""
    config = model.translator.model.config
    parameters = sum(parameter.numel() for parameter in model.translator.model.parameters())
    training: dict[str, Any] = model.translator.training
    facts = [
        f"{config.num_encoder_layers} + {config.num_decoder_layers} layers, {config.num_heads} heads",
        f"d_model {config.d_model}, d_ff {config.d_ff}",
        f"{parameters / 1e6:.1f} M parameters, {config.vocab_size:,} tokens",
    ]
    if isinstance(steps := training.get("steps"), int):
        facts.append(f"trained for {steps:,} steps")
    lines = "".join(f"<li>{html.escape(fact)}</li>" for fact in facts)
    return f'<div class="facts"><b title="SHA-256 {model.digest[:16]}">{html.escape(model.name)}</b><ul>{lines}</ul></div>'


def plain(text: str) -> str:
    """Text as it is, where Markdown is read."""
    return re.sub(r"([\\`*_{}\[\]()<>#+\-.!|~$:])", r"\\\1", text)


def sentence_case(message: str) -> str:
    """An error's message as a sentence on a page."""
    return plain(message[:1].upper() + message[1:] + ("" if message.endswith(".") else "."))
