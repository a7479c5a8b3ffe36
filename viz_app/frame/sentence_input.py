"""The sentence at the top of every page, the settings of the search, and the hypothesis."""

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import streamlit as st

from viz_app.controls.search_progress import stoppable
from viz_app.drawing.display_text import sentence_case, shortened
from viz_app.frame import target_language
from viz_app.language import tr
from viz_app.session import previews, readings
from viz_app.session.address import (
    BEAM_SIZE,
    FIRST_EXAMPLE,
    LENGTH_PENALTY,
    NUM_HYPOTHESES,
)
from viz_app.session.fields import Field, is_history_navigation
from viz_app.session.models import Model
from viz_app.session.state import session_object

if TYPE_CHECKING:
    from collections.abc import Sequence

    from streamlit.delta_generator import DeltaGenerator

    from core import ScoredText

EXAMPLES = (
    FIRST_EXAMPLE,
    "A brown dog runs across the grass.",
    "I don't know where he lives.",
    "A man in a blue shirt is standing on a ladder.",
)
Number = TypeVar("Number", int, float)


class SearchSettings(NamedTuple):
    """Settings of a search; the defaults of the first two are the paper's (6.1)."""

    beam_size: int = 4
    length_penalty: float = 0.6
    num_hypotheses: int = 4


DEFAULTS = SearchSettings()


def sentence_box() -> tuple[readings.Search, "DeltaGenerator", "DeltaGenerator"]:
    """Draw the text box and the settings of the search, without a model.

    Returns:
        The search, the place for the choice of hypothesis, and the place below the box.
    """
    with st.container(key="sentence"):
        columns = st.columns([6, 3, 1.5], vertical_alignment="bottom")
        text = columns[0].text_input(
            tr("Sentence"),
            readings.TEXT.restore(),
            key=readings.TEXT.key,
            placeholder=tr("Type a sentence and press Enter"),
            on_change=readings.new_sentence,
        )
        menu = columns[1].container()
        settings = columns[2].popover(tr("Settings"), width="stretch", key="settings", on_change="rerun")
        with settings:
            search_settings = _search_settings(are_shown=bool(settings.open))
    readings.TEXT.put(text)
    search = readings.Search(text, *search_settings)
    return search, menu, st.container(key="below-sentence")


@dataclass
class _Settings:
    """The settings in the browser.

    Attributes:
        are_old: the visitor went back or forward, and has not opened the menu since: the browser, which sets only what
            it shows, still sends the previous ones.
    """

    are_old: bool = False


def _search_settings(are_shown: bool) -> SearchSettings:
    state = session_object(_Settings)
    are_old = state.are_old or is_history_navigation()
    state.are_old = are_old and not are_shown  # from the next run on: this one comes before the browser shows them
    slider = partial(_slider, are_old=are_old)
    beam_size = slider(
        BEAM_SIZE,
        tr("Beam size"),
        (1, 16, 1),
        tr(
            "How many unfinished translations the search keeps at each step. 1 is greedy search; the paper uses 4 "
            "(section 6.1)."
        ),
    )
    length_penalty = slider(
        LENGTH_PENALTY,
        tr("Length penalty"),
        (0.0, 2.0, 0.1),
        tr(
            "A log-probability is divided by ((5 + length) / 6) to this power. 0 favours short translations; the paper "
            "uses 0.6."
        ),
    )
    wanted = slider(
        NUM_HYPOTHESES,
        tr("Hypotheses"),
        (1, 16, 1),
        tr("How many of the best translations to keep; at most the beam size."),
    )
    return SearchSettings(beam_size, length_penalty, min(wanted, beam_size))


def _slider(
    setting: Field[Number],
    label: str,
    scale: tuple[Number, Number, Number],
    about: str,
    *,
    are_old: bool,
) -> Number:
    """Draw a slider.

    It goes from `scale[0]` to `scale[1]` in steps of `scale[2]`.

    Args:
        are_old: see `_Settings`.
    """
    least, most, step = scale

    restored = setting.restore(possible=lambda value: least <= value <= most, is_old=are_old)
    value: Any = st.slider(label, least, most, restored, step, "localized", key=setting.key, help=about)
    setting.put(value)
    return value


def read(
    model: Model, search: readings.Search, menu: "DeltaGenerator", below: "DeltaGenerator", problem: str = ""
) -> readings.Reading | None:
    """Translate the text, and draw the choice of hypothesis.

    Args:
        menu: the place of that choice.
        below: where progress and problems are shown.
        problem: why the view that the address names is not shown, if so.

    Returns:
        None if there is no translation; the reason is shown, unless the model reads pictures.
    """
    waiting = below.empty()
    if model.line_reader is not None:
        return None
    if not search.text.strip():
        waiting.info(tr("There is nothing to translate yet: type a sentence above, or pick an example."))
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
    hypotheses, forced, target = translation.hypotheses, readings.forced(model, search), None
    if forced is not None:
        try:
            target = _forced_text(forced, model, search, waiting)
        except ValueError as error:
            problem = str(error)
            readings.force_nothing()
    if problem:
        waiting.error(sentence_case(problem))
    token_ids = [hypothesis.token_ids for hypothesis in hypotheses]
    if target and forced and not forced.prefix and target.token_ids in token_ids:
        if readings.HYPOTHESIS.value == readings.FORCED_INDEX:
            readings.HYPOTHESIS.set(token_ids.index(target.token_ids))
        target = None
    index = _hypothesis_box(menu, hypotheses, target)
    if target is not None and index == readings.FORCED_INDEX:
        return readings.Reading(model, search, translation, index, target, forced)
    return readings.Reading(model, search, translation, index, hypotheses[index])


def _forced_text(
    forced: readings.ForcedTarget, model: Model, search: readings.Search, waiting: "DeltaGenerator"
) -> "ScoredText | None":
    """Score a forced target, or translate the rest of a forced beginning; None if the search was stopped.

    Raises:
        ValueError: as `ForcedTarget.run`.
    """
    progress = stoppable(waiting, (model.digest, search, forced), "forcing")
    if progress is None:
        return None
    text = forced.run(model, search, progress)
    waiting.empty()
    return text


def _hypothesis_box(menu: "DeltaGenerator", hypotheses: "Sequence[ScoredText]", target: "ScoredText | None") -> int:
    """Select one of the hypotheses, or the forced target if there is one."""
    names = {index: f"{index + 1}: {shortened(each.text)}" for index, each in enumerate(hypotheses)}
    if target is not None:
        names[readings.FORCED_INDEX] = tr("Forced: {translation}", translation=shortened(target.text))
    readings.HYPOTHESIS.keep_within(names, 0)
    readings.HYPOTHESIS.show_labels(names.values())
    index = menu.selectbox(
        tr("Hypothesis"),
        list(names),
        format_func=names.__getitem__,
        key=readings.HYPOTHESIS.key,
        help=tr(
            "The best translations that the search found, best first. All pages explain the one selected here. A "
            "forced one was selected on the page Beam, or changed or typed on the page Translate."
        ),
    )
    return index or 0


def hide(is_hidden: bool, is_given: bool = False) -> None:
    """Hide the sentence on pages that do not use it, or only its box if no model can translate another sentence.

    The box is drawn all the same: a widget that is not drawn loses its value and its place in the address.
    """
    box, below = ("none" if each else "flex" for each in (is_hidden or is_given, is_hidden))
    st.html(f"<style>.st-key-sentence {{ display: {box}; }} .st-key-below-sentence {{ display: {below}; }}</style>")


def examples() -> None:
    """Draw buttons with example sentences."""
    with st.container(horizontal=True, key="examples", vertical_alignment="center"):
        st.caption(tr("Try"), width="content")
        for example in EXAMPLES:
            st.button(
                example, type="tertiary", on_click=readings.new_sentence, args=(example,), key=f"example: {example}"
            )


def show_words(reading: readings.Reading) -> None:
    """Draw the sentence and its translation as words to click on."""
    from viz_app.components.sentence_bar import KEY, sentence_bar, sentence_payload

    ticket = previews.begin(reading.model, reading.search, target_language.completion())
    previews.offer("words", lambda other: {KEY: sentence_payload(other.explain(), ticket=ticket)})
    selected = readings.selected_words(reading)
    sentence_bar(reading.explain(), partial(readings.select_words, reading), selected=selected, ticket=ticket)
