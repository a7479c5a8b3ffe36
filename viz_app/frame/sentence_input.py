"""The sentence bar at the top of every page: the sentence as text and as words, its translations, the settings."""

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import streamlit as st

from viz_app.controls.search_progress import stoppable
from viz_app.drawing.display_text import plain, sentence_case, shortened
from viz_app.frame import share_menu
from viz_app.language import joined, marked, tr
from viz_app.session import menus, previews, readings
from viz_app.session.address import (
    BEAM_SIZE,
    FIRST_EXAMPLE,
    LENGTH_PENALTY,
    MIN_LENGTH,
    NUM_HYPOTHESES,
)
from viz_app.session.fields import Field
from viz_app.session.models import Model
from viz_app.session.state import kept, session_object

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
# Of models that do something else, by their task, see `task_of` of `core.formats.model_facts`.
TASK_EXAMPLES = {
    "summarises": (
        "The train from Berlin to Munich was two hours late on Monday because of heavy snow. Hundreds of passengers "
        "waited at the station, where the railway company gave them hot tea. It will pay back all tickets.",
        "A dog that was lost in the mountains for three weeks has found its way home. Its owner had put up pictures of "
        "it in every village. Nobody knows how it survived the cold nights.",
    ),
    "denoises": (
        "A little girl in a pink dress is <mask> up a set of stairs.",
        "The train was <mask> because of the snow.",
        "I don't know where he <mask>.",
    ),
}
TASK_NOTES = {
    "summarises": marked("This model summarises: give it several sentences, and it writes a shorter text."),
    "denoises": marked("This model fills in: write <mask> where words are missing, and it writes the whole sentence."),
}
MOST_MIN_LENGTH = 50  # every text has room for it, see `MAX_EXTRA_TOKENS` of `core.decoding.text_codec`
SHOWN_EXAMPLE = 70  # characters of an example on its button
Number = TypeVar("Number", int, float)


class SearchSettings(NamedTuple):
    """Settings of a search; the defaults of the first two are the paper's (6.1)."""

    beam_size: int = 4
    length_penalty: float = 0.6
    num_hypotheses: int = 4
    min_length: int = 0


DEFAULTS = SearchSettings()


class SentenceBar(NamedTuple):
    """The bar without a model.

    Attributes:
        search: what to translate.
        words: the place of the words, which the text box gives way to.
        menus: the place of menus beside the settings.
        below: the place below the bar.
    """

    search: readings.Search
    words: "DeltaGenerator"
    menus: "DeltaGenerator"
    below: "DeltaGenerator"


def sentence_bar() -> SentenceBar:
    """Draw the text box and the settings of the search, without a model."""
    if readings.TEXT.value is not None:
        readings.TEXT.set(session_object(readings.Current).complete(readings.TEXT.value))
    with st.container(key="top-bar", horizontal=True, gap="small"):
        with st.container(key="sentence", width="stretch"):
            text = st.text_input(
                tr("Sentence"),
                readings.TEXT.restore(),
                key=readings.TEXT.key,
                placeholder=tr("Type a sentence and press Enter"),
                on_change=readings.new_sentence,
                label_visibility="collapsed",
            )
            words = st.container(key="sentence-words")
        with st.container(key="sentence-menus", horizontal=True, gap=None, width="content"):
            settings = st.popover(
                tr("Settings"),
                icon=":material/tune:",
                help=tr("Settings"),
                type="tertiary",
                key="settings",
                on_change="rerun",
            )
            with settings:
                search_settings = _search_settings(menus.are_values_old("settings", settings.open))
            beside = st.container(width="content")
    readings.TEXT.put(text)
    return SentenceBar(readings.Search(text, *search_settings), words, beside, st.container(key="below-sentence"))


def _search_settings(are_old: bool) -> SearchSettings:
    """Draw the settings.

    Args:
        are_old: see `are_values_old`.
    """
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
        tr("Translations"),
        (1, 16, 1),
        tr("How many of the best translations to keep; at most the beam size."),
    )
    min_length = slider(
        MIN_LENGTH,
        tr("Minimum length"),
        (0, MOST_MIN_LENGTH, 1),
        tr(
            "The least number of tokens before the end mark, which the search may not write until then. A model finds "
            "short translations too probable: for over half of the sentences of WMT'15 English to German, the most "
            "probable translation of all is the empty one; a beam of ordinary size does not find it (Stahlberg & Byrne "
            "2019). The views Faster generation and Over training search without a minimum."
        ),
    )
    return SearchSettings(beam_size, length_penalty, min(wanted, beam_size), min_length)


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
        are_old: see `are_values_old`.
    """
    least, most, step = scale

    restored = setting.restore(possible=lambda value: least <= value <= most, is_old=are_old)
    value: Any = st.slider(label, least, most, restored, step, "localized", key=setting.key, help=about)
    setting.put(value)
    return value


def settings_note(search: readings.Search) -> None:
    """Say which settings are not the default ones, as they hold for every sentence until they are changed back."""
    changed = [
        text
        for is_changed, text in (
            (search.beam_size != DEFAULTS.beam_size, tr("beam size {value}", value=search.beam_size)),
            (
                search.length_penalty != DEFAULTS.length_penalty,
                tr("length penalty {value:.1f}", value=search.length_penalty),
            ),
            (search.min_length != DEFAULTS.min_length, tr("minimum length {value}", value=search.min_length)),
        )
        if is_changed
    ]
    if changed:
        text = tr("Searched with {settings}: reset", settings=joined(changed))
        st.button(text, type="tertiary", key="default-settings", on_click=_reset_settings)


def _reset_settings() -> None:
    BEAM_SIZE.set(DEFAULTS.beam_size)
    LENGTH_PENALTY.set(DEFAULTS.length_penalty)
    MIN_LENGTH.set(DEFAULTS.min_length)


@dataclass
class _Translations:
    """Labels of the translations that can be shown, by the index of their hypothesis."""

    labels: dict[int, str] = field(default_factory=dict[int, str])


def read(model: Model, search: readings.Search, below: "DeltaGenerator", problem: str = "") -> readings.Reading | None:
    """Translate the text.

    Args:
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
    is_free = forced is not None and not (forced.prefix or forced.forbidden)
    if target and is_free and target.token_ids in token_ids:
        if readings.HYPOTHESIS.value == readings.FORCED_INDEX:
            readings.HYPOTHESIS.set(token_ids.index(target.token_ids))
        target = None
    labels = session_object(_Translations).labels = _labels(hypotheses, target)
    readings.HYPOTHESIS.keep_within(labels, 0)
    index = readings.HYPOTHESIS.value or 0
    reading = readings.Reading(model, search, translation, index, hypotheses[index])
    if target is not None and index == readings.FORCED_INDEX:
        reading = readings.Reading(model, search, translation, index, target, forced)
    try:
        reading.explain()
    except ValueError as error:
        waiting.error(sentence_case(str(error)))
        return None
    return reading


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


def _labels(hypotheses: "Sequence[ScoredText]", target: "ScoredText | None" = None) -> dict[int, str]:
    """Return the labels of the hypotheses, and of the forced target if there is one, by index."""
    labels = {index: f"{index + 1}: {each.text}" for index, each in enumerate(hypotheses)}
    if target is not None:
        labels[readings.FORCED_INDEX] = tr("Forced: {translation}", translation=target.text)
    return labels


def hide(is_hidden: bool, is_given: bool = False) -> None:
    """Hide the sentence on pages that do not use it, or only its box if no model can translate another sentence.

    The box is drawn all the same: a widget that is not drawn loses its value and its place in the address.
    """
    bar, box = (".st-key-top-bar, .st-key-below-sentence", ".st-key-text, .st-key-settings")
    st.html(f"<style>:is({bar if is_hidden else box if is_given else 'none'}) {{ display: none; }}</style>")


def are_examples_shown(text: str) -> bool:
    """Whether a sentence is one of the examples, or the first of a session."""
    return text in EXAMPLES or any(text in sentences for sentences in TASK_EXAMPLES.values())


def examples(model: Model, shown: str = "") -> None:
    """Draw buttons with example sentences. What a model does is said, unless it translates.

    Args:
        shown: the sentence on the screen, which is left out.
    """
    task = task_of(model)
    if task in TASK_NOTES:
        st.caption(plain(tr(TASK_NOTES[task])))
    with st.container(horizontal=True, vertical_alignment="center", width="content", key="examples"):
        st.caption(tr("Try"), width="content")
        for example in (each for each in TASK_EXAMPLES.get(task, EXAMPLES) if each != shown):
            st.button(
                plain(shortened(example, SHOWN_EXAMPLE)),
                type="tertiary",
                on_click=readings.new_sentence,
                args=(example,),
                key=f"example: {example}",
            )


def task_of(model: Model) -> str:
    """What a model does, "" if it translates or has only attention."""
    from core.formats.model_facts import task_of as recorded_task

    return "" if model.explanation is not None else recorded_task(model.translator.training)


def show_words(reading: readings.Reading, bar: SentenceBar) -> None:
    """Draw the sentence and its translation as words to click on, and the menu beside them."""
    from viz_app.components.sentence_bar import KEY, sentence_bar, sentence_payload

    is_editable = reading.model.explanation is None
    ticket = previews.begin(reading.model, reading.search, session_object(readings.Current).complete)
    previews.offer("words", lambda other: {KEY: sentence_payload(other.explain(), **_options(other, ticket))})
    options: dict[str, Any] = _options(reading, ticket) | {
        "selected": readings.selected_words(reading),
        "is_editable": is_editable,
    }
    if is_editable:
        options["translations"] = session_object(_Translations).labels
    explanation = reading.explain()
    payload = kept(KEY, (reading.identity, options), lambda: sentence_payload(explanation, **options))
    with bar.words:
        sentence_bar(payload, explanation, partial(readings.select_words, reading), readings.HYPOTHESIS.set)
    with bar.menus:
        share_menu.menu(reading)


def _options(reading: readings.Reading, ticket: str) -> dict[str, Any]:
    """Return what the bar shows beside the words of a reading that was searched, see `sentence_payload`."""
    translations = _labels(reading.translation.hypotheses)
    return {
        "ticket": ticket,
        "translations": translations,
        "shown": reading.index,
        "is_editable": True,
        "left_out": reading.left_out,
    }
