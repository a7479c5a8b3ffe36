"""One snapshot: its translation, all heads of a kind, the selected head large, and its score-card."""

from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from core.analysis.heads.head import Head
from core.analysis.over_training.snapshot_reading import SnapshotReading
from viz_app.components.head_grid import head_grid
from viz_app.controls.downloads import downloads
from viz_app.controls.score_products import map_with_products
from viz_app.controls.tables import show_table
from viz_app.controls.widgets import page_theme
from viz_app.features.over_training import measurement
from viz_app.features.over_training.histories import Training
from viz_app.features.over_training.measurement import Measurement, script
from viz_app.features.over_training.selection import SelectedHeads
from viz_app.figures import ablation
from viz_app.figures import over_training as figures
from viz_app.figures.display_text import decimal
from viz_app.figures.export.map_panels import export_panels
from viz_app.figures.head_names import LayerHead
from viz_app.figures.over_training import step_name
from viz_app.figures.scorecard_text import MEASURES, head_does, notes
from viz_app.figures.theme import head_name
from viz_app.figures.weight_tables import grid_table
from viz_app.session.state import session_object

if TYPE_CHECKING:
    import pandas as pd


def translation(now: SnapshotReading, last: SnapshotReading) -> None:
    """Draw the translation of a snapshot, marked where it differs from the last one's."""
    here, end = (ablation.words_of(each.translation.tokens) for each in (now, last))
    st.html(ablation.marked_text(here, ablation.difference(end, here)[1], "ins"))
    mark = "the same translation as" if here == end else "its translation, marked where it differs from that"
    st.caption(
        f"Step {step_name(now.step)}: {mark} at the end. Log-probability of the one at the end: "
        f"{decimal(now.log_prob, 2)} here, {decimal(last.log_prob, 2)} at the end."
    )


def overview(training: Training, found: Measurement, now: SnapshotReading, head: Head) -> None:
    """Draw all heads of a kind at a snapshot; a click selects one."""
    kind, theme = head.kind, page_theme()
    maps = now.explanation.maps[kind]
    heads = [(layer.layer, number) for layer in maps for number in range(layer.num_heads)]

    def click(place: LayerHead) -> None:
        session_object(SelectedHeads).select(kind, place)

    hover = notes([card for card in now.cards if card.head.kind == kind], "layer")
    head_grid(maps, theme, click, selected=[head[1:]], key=f"trained_heads_{kind}", notes=hover)
    title = f"All heads at step {step_name(now.step)}"
    panels = [
        [(head_name(layer.layer, number), matrix.numpy()) for number, matrix in enumerate(layer.weights)]
        for layer in maps
    ]
    part = f"""
from viz_app.figures.weight_tables import grid_table
table = grid_table(readings[{now.step}].explanation.maps[{kind!r}], {heads})""".strip()
    downloads(
        f"snapshot-heads-{kind}",
        lambda file_format: export_panels(panels, file_format, theme, title="weight"),
        lambda: grid_table(maps, heads),
        title=title,
        python=partial(script, training, found, part),
    )


def large(training: Training, found: Measurement, now: SnapshotReading, head: Head) -> None:
    """Draw the selected head at a snapshot, beside the same head at the last one."""
    theme, name, last = page_theme(), ablation.head_title(head), found.last
    pair = [(each.step, each.explanation.maps[head.kind][head.layer]) for each in (now, last)]
    titles = f"at step {step_name(now.step)}", f"at the end, step {step_name(last.step)}"
    for column, key, title, (step, attention) in zip(st.columns(2), ("now", "end"), titles, pair, strict=True):
        with column:
            st.markdown(f"**{name}** {title}")
            of = measurement.snapshot_pass(training, found, step)
            map_with_products(attention, head.head, theme, of, key=f"trained_map_{key}")
    shown, axes = dict(pair), pair[0][1]
    panels = [[(f"step {step_name(step)}", each.weights[head.head].numpy()) for step, each in shown.items()]]
    part = f"""
from viz_app.figures.over_training import maps_table
maps = {{step: readings[step].explanation.maps[{head.kind!r}][{head.layer}] for step in {list(shown)}}}
table = maps_table(maps, {head.head})""".strip()
    downloads(
        f"snapshot-head-{head.kind}",
        lambda file_format: export_panels(
            panels, file_format, theme, title=f"weight, {name}", tokens=(axes.row_tokens, axes.key_tokens)
        ),
        lambda: figures.maps_table(shown, head.head),
        title=f"{name} {' and '.join(dict.fromkeys(titles))}",
        python=partial(script, training, found, part),
    )


def card(found: Measurement, step: int, head: Head, on_sample: bool) -> None:
    """Draw the score-card of the selected head at a snapshot and at the last one."""
    by_step = dict(zip(found.steps, found.cards(on_sample), strict=True))
    now, end = (next(card for card in by_step[at] if card.head == head) for at in (step, found.steps[-1]))
    st.caption(
        f"**{ablation.head_title(head)}** on the {'sample' if on_sample else 'sentence'}: "
        f"{head_does(now) or figures.MIXED}; at the end: {head_does(end) or figures.MIXED}"
    )
    show_table(_card_table([(measure.name, measure.value(now), measure.value(end)) for measure in MEASURES]))


def _card_table(rows: list[tuple[str, str, str]]) -> "pd.DataFrame":
    import pandas as pd

    return pd.DataFrame([row for row in rows if any(row[1:])], columns=["Score-card", "now", "end"])
