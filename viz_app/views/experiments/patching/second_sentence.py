"""The second sentence of the page Patching, its proposals, and the two tokens to compare."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import streamlit as st

from core.analysis.interventions.control_pairs import PAIRS
from core.analysis.interventions.minimal_pairs import (
    CONTRASTS,
    MinimalPair,
    PairContrast,
    first_proposal,
    minimal_pairs,
)
from core.analysis.interventions.pair_runs import Metric
from core.analysis.interventions.patching import Into
from core.analysis.tokens.words import readable
from viz_app.controls.predicted_token import metric_box, preset_token_box
from viz_app.controls.widgets import setting_menu, setting_segments, text_button
from viz_app.drawing.display_text import plain, sentence_case
from viz_app.language import joined, marked, tr, tr_lower, tr_values, translated
from viz_app.session import address, model_passes, readings
from viz_app.session.models import MODEL_HASH, Model
from viz_app.session.readings import Reading

T = TypeVar("T")
CORRUPTED = address.CORRUPTED
TOKEN = address.PATCHED_TOKEN  # in the address it counts from 1
AGAINST = address.PATCHED_AGAINST  # a piece, or the one below
BEST = marked("best other token")
INTO_NAMES: dict[Into, str] = {"corrupted": marked("First into second"), "clean": marked("Second into first")}
CONTRAST_NAMES: dict[PairContrast, str] = {
    "coreference": marked("Coreference"),
    "negation": marked("Negation"),
    "agreement": marked("Agreement"),
    "number": marked("Number"),
    "tense": marked("Tense"),
    "order": marked("Order"),
    "noun": marked("Noun"),
    "adjective": marked("Adjective"),
    "pronoun": marked("Pronoun"),
}
ABOUT_SENTENCE = marked("""
The same sentence with a word changed. Both must have equally many tokens, so that each position has its counterpart.
The proposals replace words that this model's tokenizer splits into as many tokens; hover one to see them.
""")
ABOUT_INTO = marked("""
**First into second** shows which outputs suffice to bring the first sentence's prediction back, **second into first**
which are needed to keep it. With redundant parts the two differ.
""")


@dataclass(frozen=True)
class PatchingQuestion:
    """The sentences and tokens to compare, and the settings of the patches."""

    corrupted: tuple[str, ...]  # the second sentences, the one of the text box first
    position: int  # of the predicted token A
    against: str | None  # B as a piece; None: the best other token of each second sentence
    metric: Metric
    into: Into


@st.cache_resource(max_entries=64, show_spinner=False, hash_funcs=MODEL_HASH)
def proposals(model: Model, source: str) -> list[MinimalPair]:
    """Return proposals for the second sentence."""
    return minimal_pairs(model.translator, source)


def sentence_box(about: Reading) -> tuple[str, list[MinimalPair]]:
    """Select the second sentence, "" if there is none, and return it with other proposals for the same words."""
    source = about.translation.source
    proposed = proposals(about.model, source)
    CORRUPTED.preset_for((about.model.digest, source), lambda: first_proposal(proposed))
    with st.container(horizontal=True, gap="small", vertical_alignment="center", key="proposals"):
        text = CORRUPTED.draw(
            st.text_input,
            tr("Second sentence"),
            placeholder=tr("Change a word of the sentence above"),
            help=tr(ABOUT_SENTENCE),
            width=620,
        )
        with st.popover(tr("{count} proposals", count=len(proposed)) if proposed else tr("Examples"), type="tertiary"):
            _buttons(proposed, text)
            for name, pairs in PAIRS.items():
                st.caption(tr("Example: {phenomenon}", phenomenon=tr_lower(CONTRAST_NAMES[name])), width="content")
                for one, two in (each.texts for each in pairs):
                    if any(each.text == two for each in proposals(about.model, one)):  # equally many tokens
                        text_button(plain(one), readings.new_sentence, one, key=f"pair: {one}", help=plain(two))
    if not proposed:
        st.caption(tr("No word of this sentence is in the project's word list: type a second sentence yourself."))
    own = next((pair for pair in proposed if pair.text == text), None)
    same = [
        pair
        for pair in proposed
        if own is not None and pair is not own and (pair.contrast, pair.words) == (own.contrast, own.words)
    ]
    return text.strip(), same


def _buttons(pairs: list[MinimalPair], text: str) -> None:
    """Draw a button for each proposal, by contrast; that of the current second sentence is disabled."""
    for contrast in CONTRASTS:
        of_contrast = [pair for pair in pairs if pair.contrast == contrast]
        if of_contrast:
            st.caption(tr(CONTRAST_NAMES[contrast]), width="content")
        for pair in of_contrast:
            changes, name = joined(f"{old} \u2192 {new}" for old, new in pair.changes), pair.text
            about = {"help": translated(pair.reason), "disabled": name == text}
            text_button(changes, CORRUPTED.set, name, key=f"proposal: {name}", **about)


def question_boxes(
    about: Reading, corrupted: str, others: list[MinimalPair], view_box: Callable[[], T]
) -> tuple[PatchingQuestion, T]:
    """Select the tokens to compare, what is drawn (by `view_box`), the metric, the direction, and averaging over pairs.

    Raises:
        ValueError: as `model_passes.explanation`.
    """
    second = model_passes.explanation(about.model, corrupted, about.hypothesis.token_ids)
    own = about.explain()
    drops = [before - after for before, after in zip(own.log_probs, second.log_probs, strict=True)]

    def dropped_most() -> int:
        return max(range(own.num_forced, len(drops)), key=drops.__getitem__)

    about_it = tr(
        "Or click a word of the translation above. At first it is the one that the second sentence makes least "
        "probable."
    )
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        position = preset_token_box(about, TOKEN, (about.identity, corrupted), dropped_most, about_it, 165)
        alternatives = [*second.alternatives[position], *own.alternatives[position]]
        against = _against_box(str(own.predicted_tokens[position]), [str(token) for token, _ in alternatives])
        view = view_box()
        with st.popover(tr("More")):
            metric = metric_box(address.PATCH_METRIC)
            into: Into = setting_segments(address.PATCH_INTO, tr("Patch"), tr_values(INTO_NAMES), help=tr(ABOUT_INTO))
            names = joined(new for pair in others for _, new in pair.changes)
            is_mean = address.PATCH_MEAN.draw(
                st.toggle,
                tr("Average over pairs"),
                disabled=not others,
                help=tr("Also patches the other proposals for these words ({words}) and shows the mean.", words=names)
                if others
                else tr("There are no other proposals for the words that differ."),
            )
    texts = (corrupted, *(pair.text for pair in others)) if is_mean and others else (corrupted,)
    return PatchingQuestion(texts, position, against, metric, into), view


def _against_box(predicted: str, alternatives: list[str]) -> str | None:
    """Select the token to compare with."""
    names = {BEST: tr(BEST), **{token: readable(token) for token in alternatives if token != predicted}}
    about = tr("By default the most probable other token in the second sentence.")
    chosen = setting_menu(AGAINST, tr("Compared with"), names, width=165, help=about)
    return None if chosen in (None, BEST) else chosen


def problem_text(error: ValueError) -> str:
    """Return an error of a pair as a sentence, with the words of the page."""
    text = str(error)
    for name, shown in (("clean", "first"), ("corrupted", "second")):
        text = re.sub(rf"{name}(?= sentence)|(?<=the ){name}(?= one)", shown, text)
    return sentence_case(text)
