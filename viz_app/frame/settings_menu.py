"""The settings of the search: their sliders, and the note on those that were changed."""

from collections.abc import Iterable, Mapping
from typing import Any

import streamlit as st

from viz_app.language import joined, tr
from viz_app.session.address import BEAM_SIZE, LENGTH_PENALTY, MIN_LENGTH, NUM_HYPOTHESES
from viz_app.session.fields import Field
from viz_app.session.readings import Search


def sliders(scales: Mapping[Field[Any], tuple[Any, Any, Any]]) -> list[Any]:
    """Draw a slider for each setting with the least, the most and the step of its scale, and return the values."""
    texts = {
        BEAM_SIZE: (
            tr("Beam size"),
            tr(
                "How many unfinished translations the search keeps at each step. 1 is greedy search; the paper uses 4 "
                "(section 6.1)."
            ),
        ),
        LENGTH_PENALTY: (
            tr("Length penalty"),
            tr(
                "A log-probability is divided by ((5 + length) / 6) to this power. 0 favours short translations; the "
                "paper uses 0.6."
            ),
        ),
        NUM_HYPOTHESES: (tr("Translations"), tr("How many of the best translations to keep; at most the beam size.")),
        MIN_LENGTH: (
            tr("Minimum length"),
            tr(
                "The least number of tokens before the end mark, which the search may not write until then. A model "
                "finds short translations too probable: for over half of the sentences of WMT'15 English to German, "
                "the most probable translation of all is the empty one; a beam of ordinary size does not find it "
                "(Stahlberg & Byrne 2019). The views Faster generation and Over training search without a minimum."
            ),
        ),
    }
    return [
        setting.draw(st.slider, label, *scales[setting][:2], step=scales[setting][2], format="localized", help=about)
        for setting, (label, about) in texts.items()
    ]


def changed_note(search: Search) -> None:
    """Say which settings have been changed, as they hold for every sentence until they are changed back."""
    texts: dict[Field[Any], tuple[float, str]] = {
        BEAM_SIZE: (search.beam_size, tr("beam size {value}", value=search.beam_size)),
        LENGTH_PENALTY: (search.length_penalty, tr("length penalty {value:.1f}", value=search.length_penalty)),
        MIN_LENGTH: (search.min_length, tr("minimum length {value}", value=search.min_length)),
    }
    changed = joined(text for setting, (value, text) in texts.items() if value != setting.default)
    text = tr("Searched with {settings}: reset", settings=changed)
    st.button(text, type="tertiary", key="default-settings", on_click=_reset, args=(list(texts),))


def _reset(settings: Iterable[Field[Any]]) -> None:
    for setting in settings:
        setting.set(setting.default)
