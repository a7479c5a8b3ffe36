"""The signs of a bad translation that fire, in one line below the translation; nothing if none does."""

from functools import partial

import streamlit as st

from core.analysis.signs.pair_signs import SIGNS
from viz_app.controls.job_control import job_control
from viz_app.controls.widgets import text_button
from viz_app.language import marked, tr, tr_count
from viz_app.session import readings, signs
from viz_app.session.state import session_object

MEASURE = marked("Measure them")


def sign_line(reading: readings.Reading) -> None:
    """Draw the names of the signs that fire, each a button that selects its words, from which the questions go on."""
    if signs.thresholds(reading.model) is None:
        _without_thresholds(reading)
    thresholds, found = signs.limits(reading), signs.signs(reading)
    if signs.is_given(reading) and (withheld := signs.about_withheld(signs.thresholds(reading.model) or thresholds)):
        st.caption(withheld)
    firing = [found[name] for name in SIGNS if name in found and found[name].fires(thresholds[name])]
    if not firing:
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="signs"):
        st.caption(
            tr("Signs of a bad translation"),
            width="content",
            help=f"{tr(signs.LIMITS)} {signs.about_thresholds(thresholds)}",
        )
        for sign in firing:
            words = sign.marked(thresholds[sign.name])
            name, select = tr(signs.NAMES[sign.name]), partial(readings.select_words, reading, words)
            options = {"icon": ":material/warning:", "help": signs.about_sign(sign, thresholds)}
            text_button(name, select, key=f"sign_{sign.name}", **options)
            if more := len(sign.reaching(thresholds[sign.name])) - len(words):
                st.caption(tr_count("and {count} more word", "and {count} more words", more), width="content")


def look_for_left_out(reading: readings.Reading) -> None:
    """Look for left-out source words, last as it takes some translations; draw the page again if there are any."""
    thresholds = signs.thresholds(reading.model)
    if thresholds is None or thresholds["left_out"] is None:
        return
    slot, is_new = st.empty(), False
    for _ in signs.find_left_out(reading, thresholds):
        slot.empty()  # a click goes on from here
        is_new = True
    if is_new and reading.left_out:
        st.rerun()


def _without_thresholds(reading: readings.Reading) -> None:
    """Offer to measure the thresholds of a model that has none."""
    slot = session_object(signs.ThresholdSlot)
    if slot.measured is not None and slot.identity == reading.model.digest:
        job_control(slot.measured.job, "sign_thresholds")
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="signs_unmeasured"):
        st.caption(
            tr("This model has no thresholds for signs of a bad translation yet."),
            width="content",
            help=tr(signs.LIMITS),
        )
        model = reading.model
        text_button(tr(MEASURE), slot.of, model.digest, partial(signs.begin_measurement, model), key="measure_signs")
