"""The sentence on top of every page: what to translate, how to search, and which hypothesis is looked at."""

from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from viz_app.controls.search_progress import stoppable
from viz_app.figures.display_text import sentence_case, shortened
from viz_app.session import permalink, readings
from viz_app.session.models import Model

if TYPE_CHECKING:
    from collections.abc import Sequence

    from streamlit.delta_generator import DeltaGenerator

    from core import ScoredText

EXAMPLES = (
    "A little girl in a pink dress is climbing up a set of stairs.",
    "A brown dog runs across the grass.",
    "I don't know where he lives.",
    "A man in a blue shirt is standing on a ladder.",
)
DEFAULTS = (4, 0.6, 4)  # beam size, length penalty, hypotheses: those of the paper


def sentence_box() -> tuple[readings.Search, "DeltaGenerator", "DeltaGenerator"]:
    """The text and the search's settings. Needs no model.

    Returns:
        What is asked for, the place for the choice of hypothesis, and the place for what comes of it.
    """
    with st.container(key="sentence"):
        columns = st.columns([6, 3, 1.5], vertical_alignment="bottom")
        text = columns[0].text_input(
            "Sentence",
            EXAMPLES[0],
            key="text",
            placeholder="Type a sentence and press Enter",
            bind="query-params",
            on_change=readings.new_sentence,
        )
        menu = columns[1].container()
        with columns[2].popover("Settings", width="stretch"):
            beam_size, length_penalty, num_hypotheses = _search_settings()
    return readings.Search(text or "", beam_size, length_penalty, num_hypotheses), menu, st.container()


def _search_settings() -> tuple[int, float, int]:
    beam_size = st.slider(
        "Beam size",
        1,
        16,
        DEFAULTS[0],
        key="beam_size",
        bind="query-params",
        help="How many unfinished translations the search keeps at every step. 1 is greedy search; the paper uses 4 "
        "(section 6.1).",
    )
    length_penalty = st.slider(
        "Length penalty",
        0.0,
        2.0,
        DEFAULTS[1],
        0.1,
        key="length_penalty",
        bind="query-params",
        help="A log-probability is divided by ((5 + length) / 6) to this power. 0 favours short translations; the "
        "paper uses 0.6.",
    )
    wanted = st.slider(
        "Hypotheses",
        1,
        16,
        DEFAULTS[2],
        key="hypotheses",
        bind="query-params",
        help="How many of the best translations to keep. No more can be found than the beam is wide.",
    )
    return beam_size, length_penalty, min(wanted, beam_size)


def read(
    model: Model, search: readings.Search, menu: "DeltaGenerator", below: "DeltaGenerator"
) -> readings.Reading | None:
    """Translate; offer the hypotheses. None, with the reason `below` the box, when there is no translation."""
    waiting, problem = below.empty(), ""
    try:
        permalink.read(model, search)
    except ValueError as error:
        problem = str(error)
    if not search.text.strip():
        waiting.info("There is nothing to translate yet: type a sentence above, or pick an example.")
        return None
    progress = stoppable(waiting, (model.digest, search), "translating")
    if progress is None:
        return None
    try:
        translation = search.run(model, progress)
    except ValueError as error:
        waiting.error(sentence_case(str(error)))
        return None
    waiting.empty()
    hypotheses = translation.hypotheses
    forced_as, forced = readings.forced(model, search), None
    if forced_as is not None:
        try:
            forced = forced_target(forced_as, model, search, waiting)
        except ValueError as error:
            problem = str(error)
            del st.session_state[readings.FORCED]
    if problem:
        waiting.error(sentence_case(problem))
    if (
        forced
        and forced_as
        and not forced_as.prefix
        and forced.token_ids in (found := [hypothesis.token_ids for hypothesis in hypotheses])
    ):
        if st.session_state.get("hypothesis") == readings.FORCED_INDEX:
            st.session_state["hypothesis"] = found.index(forced.token_ids)
        forced = None
    choices = [*range(len(hypotheses)), *([readings.FORCED_INDEX] if forced else [])]
    if st.session_state.get("hypothesis", 0) not in choices:
        st.session_state["hypothesis"] = 0
    index = menu.selectbox(
        "Hypothesis",
        choices,
        format_func=lambda index: (
            f"Forced: {shortened(forced.text)}"
            if index == readings.FORCED_INDEX and forced
            else _numbered(hypotheses, index)
        ),
        key="hypothesis",
        help="The best translations that the search found, best first. Everything on the pages is about the one "
        "chosen here. "
        "A forced one was picked on the page Beam, or changed or typed on the page Translate.",
    )
    reading = readings.Reading(model, search, translation, index or 0, forced, forced_as)
    try:
        permalink.recall_words(reading)
    except ValueError as error:
        waiting.error(sentence_case(str(error)))
    permalink.write(reading)
    return reading


def forced_target(
    forced_as: readings.Forced, model: Model, search: readings.Search, waiting: "DeltaGenerator"
) -> "ScoredText | None":
    """What was forced, with the rest that the search wrote behind it; None where that was stopped.

    Raises:
        ValueError: it cannot be.
    """
    progress = stoppable(waiting, (model.digest, search, forced_as), "forcing")
    if progress is None:
        return None
    found = forced_as.run(model, search, progress)
    waiting.empty()
    return found


def _numbered(hypotheses: "Sequence[ScoredText]", index: int) -> str:
    return f"{index + 1}: {shortened(hypotheses[index].text)}"


def examples() -> None:
    """Sentences to start from."""
    with st.container(horizontal=True, key="examples", vertical_alignment="center"):
        st.caption("Try", width="content")
        for example in EXAMPLES:
            st.button(
                example, type="tertiary", on_click=readings.new_sentence, args=(example,), key=f"example: {example}"
            )


def show_words(reading: readings.Reading) -> None:
    """The sentence and its translation as words to click on."""
    from viz_app.components.sentence_bar import sentence_bar

    sentence_bar(
        reading.explanation, partial(readings.select_words, reading), selected=readings.selected_words(reading)
    )
