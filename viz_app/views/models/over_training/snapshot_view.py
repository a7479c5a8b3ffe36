"""One snapshot: its translation, all heads of a kind, and the selected head, large and with its score-card."""

import streamlit as st

from core.analysis.heads.head import Head
from core.analysis.over_training.snapshot_reading import SnapshotReading
from core.analysis.recorded_call import Call
from core.analysis.weight_tables import grid_table, maps_table
from viz_app.components.head_grid import grid_payload, head_grid
from viz_app.controls.downloads import downloads
from viz_app.controls.score_products import map_with_products
from viz_app.controls.tables import show_table
from viz_app.controls.widgets import page_theme
from viz_app.drawing import ablation
from viz_app.drawing.display_text import decimal
from viz_app.drawing.head_names import LayerHead
from viz_app.drawing.scorecard_text import MEASURES, head_does, notes
from viz_app.language import localized, marked, tr
from viz_app.session.state import session_object
from viz_app.views.models.over_training import measurement
from viz_app.views.models.over_training.histories import OpenedTraining
from viz_app.views.models.over_training.measurement import Measurement
from viz_app.views.models.over_training.selection import SelectedHeads


def translation(now: SnapshotReading, last: SnapshotReading) -> None:
    """Draw the translation of a snapshot, marked where it differs from the last one's."""
    here, end = (ablation.words_of(each.translation.tokens) for each in (now, last))
    st.html(ablation.marked_text(here, ablation.difference(end, here)[1], "ins"))


def translation_note(now: SnapshotReading, last: SnapshotReading) -> None:
    """Say whether the translation is that at the end, and how probable that is here and at the end."""
    here, end = (ablation.words_of(each.translation.tokens) for each in (now, last))
    numbers = {"step": localized(now.step), "here": decimal(now.log_prob, 2), "end": decimal(last.log_prob, 2)}
    st.caption(
        tr(
            "Step {step}: the same translation as at the end. Log-probability of the one at the end: {here} here, "
            "{end} at the end.",
            **numbers,
        )
        if here == end
        else tr(
            "Step {step}: its translation, marked where it differs from that at the end. Log-probability of the one "
            "at the end: {here} here, {end} at the end.",
            **numbers,
        )
    )


def overview(training: OpenedTraining, measured: Measurement, now: SnapshotReading, head: Head) -> None:
    """Draw all heads of a kind at a snapshot; a click selects one."""
    kind, theme = head.kind, page_theme()
    maps = now.explanation.maps[kind]
    heads = [(layer.layer, number) for layer in maps for number in range(layer.num_heads)]

    def click(place: LayerHead) -> None:
        session_object(SelectedHeads)[kind] = place

    hover = notes([card for card in now.cards if card.head.kind == kind], "layer")
    head_grid(grid_payload(maps, theme, [head[1:]], notes=hover), maps, click, key=f"trained_heads_{kind}")
    title = tr("All heads at step {step}", step=localized(now.step))
    table = Call("table", grid_table, (measurement.maps_call(training, measured, now.step, kind), heads))
    downloads(f"snapshot-heads-{kind}", f"trained_heads_{kind}", table, title=title)


def large(training: OpenedTraining, measured: Measurement, now: SnapshotReading, head: Head) -> None:
    """Draw the selected head at a snapshot, beside the same head at the last one."""
    theme, name, last = page_theme(), ablation.head_title(head), measured.last
    pair = [(each.step, each.explanation.maps[head.kind][head.layer]) for each in (now, last)]
    names = {"head": name, "step": localized(now.step), "last": localized(last.step)}
    titles = tr("**{head}** at step {step}", **names), tr("**{head}** at the end, step {last}", **names)
    columns = st.container(key="trained-maps").columns(2)
    for column, key, title, (step, attention) in zip(columns, ("now", "end"), titles, pair, strict=True):
        with column:
            st.markdown(title)
            of = measurement.snapshot_pass(training, measured, step)
            map_with_products(attention, head.head, theme, of, key=f"trained_map_{key}")
    shown = dict(pair)

    def table() -> Call:
        maps = {step: measurement.maps_call(training, measured, step, head.kind) for step in shown}
        of_layer = {step: Call("layer", "[]", (each, head.layer)) for step, each in maps.items()}
        return Call("table", maps_table, (of_layer, head.head))

    about = tr("{head} at step {step} and at the end, step {last}", **names)
    downloads(f"snapshot-head-{head.kind}", "trained-maps", table, title=about)


def card(measured: Measurement, step: int, head: Head, on_sample: bool) -> None:
    """Draw the score-card of the selected head at a snapshot and at the last one."""
    by_step = dict(zip(measured.steps, measured.cards(on_sample), strict=True))
    now, end = (next(card for card in by_step[at] if card.head == head) for at in (step, measured.steps[-1]))
    does = {"head": ablation.head_title(head), "now": head_does(now), "end": head_does(end)}
    st.caption(
        tr("**{head}** on the sample: {now}; at the end: {end}", **does)
        if on_sample
        else tr("**{head}** on the sentence: {now}; at the end: {end}", **does)
    )
    rows = [(tr(measure.name), measure.value(now), measure.value(end)) for measure in MEASURES]
    names = marked("Score-card"), marked("now"), marked("end")
    show_table(dict(zip(names, zip(*(row for row in rows if any(row[1:])), strict=True), strict=True)))
