"""The sentence bar at the top of every page: the sentence as text and as words, its translations, the settings."""

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import streamlit as st

from viz_app.controls.search_progress import stoppable, stoppable_result
from viz_app.drawing.display_text import sentence_case
from viz_app.frame import settings_menu, share_menu
from viz_app.language import tr
from viz_app.session import address, previews, readings
from viz_app.session.address import BEAM_SIZE, LENGTH_PENALTY, MIN_LENGTH, NUM_HYPOTHESES
from viz_app.session.fields import Field
from viz_app.session.models import Model
from viz_app.session.permalink import DIGITS, SEPARATOR
from viz_app.session.state import kept, session_dict, session_object

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from streamlit.delta_generator import DeltaGenerator

    from core import ScoredText

MOST_MIN_LENGTH = 50  # every text has room for it, see `MAX_EXTRA_TOKENS` of `core.decoding.limits`
SCALES: dict[Field[Any], tuple[Any, Any, Any]] = {  # the least and the most of each setting, and the step between
    BEAM_SIZE: (1, 16, 1),
    LENGTH_PENALTY: (0.0, 2.0, 0.1),
    NUM_HYPOTHESES: (1, 16, 1),
    MIN_LENGTH: (0, MOST_MIN_LENGTH, 1),
}


class SentenceBar(NamedTuple):
    """The bar without a model."""

    search: readings.Search  # what to translate
    words: "DeltaGenerator"  # the place of the words, which the text box gives way to
    menus: "DeltaGenerator"  # the place of menus beside the settings
    below: "DeltaGenerator"  # the place below the bar


def sentence_bar() -> SentenceBar:
    """Draw the text box and the settings of the search, without a model."""
    if readings.TEXT.value is not None:
        readings.TEXT.set(session_object(readings.Current).complete(readings.TEXT.value))
    settings = [_restored(setting, least, most) for setting, (least, most, _) in SCALES.items()]
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
            _settings_menu(settings)
            beside = st.container(width="content")
    readings.TEXT.put(text)
    beam_size, length_penalty, wanted, min_length = settings
    search = readings.Search(text, beam_size, length_penalty, min(wanted, beam_size), min_length)
    return SentenceBar(search, words, beside, st.container(key="below-sentence"))


def _restored(setting: Field[Any], least: float, most: float) -> Any:
    value = setting.restore(possible=lambda value: least <= value <= most)
    setting.put(value)
    return value


@st.fragment  # which alone runs when the menu opens
def _settings_menu(used: list[Any]) -> None:
    """Draw the menu of the settings; the page runs again with another value than those that are used."""
    name = tr("Settings")
    menu = st.popover(name, icon=":material/tune:", help=name, type="tertiary", key="settings", on_change="rerun")
    if menu.open:
        with menu:
            if settings_menu.sliders(SCALES) != used:
                st.rerun()


def read(model: Model, search: readings.Search, below: "DeltaGenerator", problem: str = "") -> readings.Reading | None:
    """Translate the text; progress and problems are shown below the bar.

    A problem that is given is why the view that the address names is not shown. Returns None if there is no
    translation; the reason is shown, unless the model reads pictures.
    """
    waiting = below.empty()
    if model.line_reader is not None:
        return None
    if not search.text.strip():
        waiting.info(tr("There is nothing to translate yet: type a sentence above, or pick an example."))
        return None
    translation = stoppable_result(waiting, (model.digest, search), "translating", partial(search.run, model))
    if translation is None:
        return None
    current, target = session_object(readings.Current), None
    hypotheses, forced = translation.hypotheses, current.forced_for(model, search)
    if forced is not None:
        try:
            target = _forced_text(forced, model, search, waiting)
        except ValueError as error:
            problem = str(error)
            current.forced = None
    if problem:
        waiting.error(sentence_case(problem))
    token_ids = [hypothesis.token_ids for hypothesis in hypotheses]
    is_free = forced is not None and not (forced.prefix or forced.forbidden)
    if target and is_free and target.token_ids in token_ids:
        if readings.HYPOTHESIS.value == readings.FORCED_INDEX:
            readings.HYPOTHESIS.set(token_ids.index(target.token_ids))
        target = None
    labels = session_dict("translations")["labels"] = _labels(hypotheses, target)
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
    """Score a forced target, or translate the rest of a forced beginning; None if the search was stopped."""
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


def show_words(reading: readings.Reading, bar: SentenceBar) -> None:
    """Draw the sentence and its translation as words to click on, and the menu beside them."""
    from viz_app.components.sentence_bar import KEY, sentence_bar, sentence_payload

    _write_address(reading)
    is_editable = reading.model.explanation is None
    ticket = previews.begin(reading.model, reading.search, session_object(readings.Current).complete)
    previews.offer("words", lambda other: {KEY: sentence_payload(other.explain(), **_options(other, ticket))})
    options: dict[str, Any] = _options(reading, ticket) | {
        "selected": readings.selected_words(reading),
        "is_editable": is_editable,
    }
    if is_editable:
        options["translations"] = session_dict("translations")["labels"]
    explanation = reading.explain()
    payload = kept(KEY, (reading.identity, options), lambda: sentence_payload(explanation, **options))
    with bar.words:
        sentence_bar(payload, explanation, partial(readings.select_words, reading), readings.HYPOTHESIS.set)
    with bar.menus:
        _share_menu(reading)


def _write_address(reading: readings.Reading) -> None:
    """Write hypothesis, forced tokens and selected words to the address; `viz_app.session.permalink` reads them."""
    forced = reading.forced
    address.HYPOTHESIS.put(str(reading.index + 1) if reading.index > 0 else "")
    address.PREFIX.put(_joined(forced.prefix if forced else ()))
    address.TARGET.put(_joined((forced.target if forced else None) or ()))
    pairs = forced.forbidden if forced else ()
    address.FORBIDDEN.put(_joined(number for position, token_id in pairs for number in (position + 1, token_id)))
    address.FORCED_MODEL.put(reading.model.digest[:DIGITS] if forced else "")
    address.WORD.put(_word_names(reading))


def _word_names(reading: readings.Reading) -> list[str]:
    """Name the selected words by their side and their number from 1."""
    if not (selected := readings.selected_words(reading)):
        return []
    from core.analysis.tokens.words import word_groups

    explanation = reading.explain()
    sides = {"source": explanation.source_tokens, "target": explanation.predicted_tokens}
    numbers = {
        (side, word.start): number
        for side, tokens in sides.items()
        for number, word in enumerate(word_groups(tokens), start=1)
    }
    return [f"{side}{SEPARATOR}{numbers[side, tokens.start]}" for side, tokens in selected]


def _joined(token_ids: "Iterable[int]") -> str:
    return SEPARATOR.join(map(str, token_ids))


@st.fragment  # which alone runs when the menu opens
def _share_menu(reading: readings.Reading) -> None:
    name, key = tr("Share / download"), share_menu.MENU.key
    menu = st.popover(name, icon=":material/ios_share:", help=name, type="tertiary", key=key, on_change="rerun")
    if menu.open:
        with menu:
            share_menu.contents(reading)
    elif share_menu.PYTHON.value:
        share_menu.show_python(reading)


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
