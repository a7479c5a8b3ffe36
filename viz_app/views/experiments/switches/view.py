"""Switches: turn heads off or down, and see how the translation changes."""

import math
from collections import Counter
from functools import partial

import streamlit as st

from core.analysis.correlation import spearman
from core.analysis.heads.ablation import GateEffect, HeadsOff, token_changes
from core.analysis.recorded_call import Call
from core.trace import KIND_NAMES, Kind
from viz_app.components.picture import picture
from viz_app.controls.changed_translation import changed_translation
from viz_app.controls.charts import show_chart
from viz_app.controls.downloads import downloads
from viz_app.controls.job_control import job_control
from viz_app.controls.tables import number_column, show_table
from viz_app.controls.widgets import page_theme, show_answer
from viz_app.drawing import ablation
from viz_app.drawing.display_text import decimal, sentence_case
from viz_app.drawing.head_names import head_titles
from viz_app.language import joined, marked, tr
from viz_app.session import address, python_code, readings
from viz_app.session.jobs import SHORT
from viz_app.session.state import session_object
from viz_app.session.switches import Switches
from viz_app.views.experiments.switches import switched_heads
from viz_app.views.experiments.switches.switched_heads import HeadGates

HOW_TO_READ = marked("""
Click a head to switch it, click it again to switch it back; click “all” for all heads of a layer. A head's output is
multiplied by the value of the slider: 0 turns it off, 1 leaves it unchanged.

The number in a cell is the change of the log-probability of the translation above when **only that head** is off, in
nats: -0.7 makes it half as probable. The colours have a logarithmic scale, linear below 0.1 nats, so that heads beside
one with a very large effect can be told apart: compare sizes by the numbers. Heads compensate for each other, so
effects do not add up, and a head without an effect here may matter in another sentence.
""")
ABOUT_CONTROL = marked("""
By how much the probability of the translation falls, as a whole. The control are the other heads, one at a time, or
the same switches on as many heads of the same kinds drawn by lot.
""")
ABOUT_IMPORTANCE = marked("""
**Change when off**: the head's output is set to 0, and the same translation is scored again. **Importance by gradient**
(Michel et al. 2019): the slope of the loss as the head is turned down. It takes one pass for all heads, but holds only
for small changes. The two need not agree; the rank correlation says how far they do on this sentence. Both are in nats.
To rank heads, Michel et al. divide the importances of each layer by their Euclidean norm: the last column.
""")


def page(reading: readings.Reading) -> None:
    """Draw everything below the sentence."""
    explanation, switches, model = reading.explain(), session_object(Switches), reading.model
    measured = switched_heads.heads_off(
        reading, start=len(explanation.source_tokens) + len(explanation.fed_tokens) <= SHORT
    )
    switches.restore(model)
    if switches.problem:
        st.error(sentence_case(switches.problem))
    set_to = switches.of(model)
    gates = tuple(sorted(set_to.items()))
    address.SWITCHED.put(",".join(f"{head} {gate:g}" if gate else str(head) for head, gate in gates))
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        gate = address.GATE.draw(
            st.slider,
            tr("Clicking a head scales its output to"),
            0.0,
            0.9,
            step=0.1,
            format="localized",
            width=260,
            help=tr(HOW_TO_READ),
        )
        st.button(tr("All back on"), on_click=switches.switch, args=(model, list(set_to), 1.0), disabled=not set_to)
        job_control(measured.job, "measure", tr("Measure every head"))
    recorded = switched_heads.heads_off_call(reading, set_to, measured)
    found: HeadsOff = recorded.run()
    answer = switched_heads.effect_call(reading, gates).known.answer() if gates else found.answer()
    show_answer(answer, tr(ABOUT_CONTROL))
    picture(
        found.pictures()[0],
        "switchboard",
        frozenset(set_to),
        on_place=lambda place: switches.switch(model, found.heads_at(place), gate),
    )
    changed = Counter[Kind](head.kind for head in set_to)
    counts = (tr("{name}: {count} changed", name=tr(KIND_NAMES[kind]), count=changed[kind]) for kind in changed)
    if changed:
        st.caption(joined(counts))
    title = tr("Change of the log-probability with each head alone off")
    downloads("switches", "switchboard", recorded.then("table"), title=title)
    outcome(reading, gates)
    effects(reading, measured)


def outcome(reading: readings.Reading, gates: HeadGates) -> None:
    """Draw the effect of the switches on the translation and on its log-probability."""
    left, right = st.container(key="switch-outcome").columns(2, gap="large")
    with left:
        text = tr(
            "The best translation with all heads on, and with the switches. Words that only one of them has are marked."
        )
        st.markdown(tr("**Translation**: before and after"), help=text)
        changed_translation(
            reading.translation.hypotheses[0].tokens,
            partial(switched_heads.gated_translation, reading.model, reading.search, gates) if gates else None,
            (reading.model.digest, reading.search, gates),
            "gated",
            tr("All heads are on. Click one above to see the translation without it."),
        )
    with right:
        note = tr(
            "The same tokens, scored with the switches: blue is less probable, orange more. Hover a token for its "
            "numbers."
        )
        st.markdown(tr("**Log-probability of the translation above**, token by token"), help=note)
        recorded = switched_heads.effect_call(reading, gates) if gates else None
        effect: GateEffect | None = recorded and recorded.known
        before, tokens = reading.explain().log_probs, reading.explain().predicted_tokens
        changes = list(effect.changes) if effect else [0.0] * len(before)
        with st.container(key="switched-changes"):
            st.html(ablation.changed_tokens(tokens, before, changes, page_theme()))
        of = changes if recorded is None else Call("changes", ".changes", (recorded,))
        explained = python_code.explanation(reading)
        shown = Call("tokens", ".predicted_tokens", (explained,)), Call("before", ".log_probs", (explained,)), of
        title = tr("Change of the log-probability with {count} changed heads", count=len(gates))
        table = Call("table", token_changes, shown)
        downloads("switched-tokens", "switched-changes", table, title=title)


def effects(reading: readings.Reading, measured: switched_heads.HeadsOffJob) -> None:
    """Draw the effect of each head off alone, and its importance by gradient."""
    if not measured.changes:
        return
    st.markdown(tr("**Each head off alone**"), help=tr(ABOUT_IMPORTANCE))
    recorded = switched_heads.heads_off_call(reading, {}, measured, weighed=True)
    found: HeadsOff = recorded.run()
    heads, importance = found.ranked, switched_heads.importance_call(reading).known
    changes = list(map(found.changes.__getitem__, heads))
    table = {
        "head": head_titles(heads),
        "change": changes,
        "importance": list(map(importance.__getitem__, heads)),
        "within_layer": list(map(found.importance_in_layer.__getitem__, heads)),
    }
    left, right = st.container(key="switch-effects").columns(2, gap="large")
    with left:
        show_table(
            table,
            height=420,
            column_config={
                "head": st.column_config.TextColumn(tr("Head off")),
                "change": number_column(
                    tr("Change when off"), 3, help=tr("Of the log-probability of the translation, in nats.")
                ),
                "importance": number_column(tr("Importance by gradient"), 3, help=tr("In nats per token.")),
                "within_layer": number_column(
                    tr("Within its layer"),
                    2,
                    help=tr("The importance divided by the Euclidean norm of its layer's (Michel et al. 2019)."),
                ),
            },
        )
    with right:
        theme = page_theme()
        figure = ablation.effects_figure(measured.changes, importance, theme)
        show_chart(figure, "effects", tr("Change when off by importance, a mark for every head"))
        title = tr("Change of the log-probability with each head off, by its importance by gradient")
        downloads("heads-off", "effects", recorded.then("table"), title=title)
        correlation = spearman(list(map(abs, changes)), list(map(importance.__getitem__, heads)))
        if not math.isnan(correlation):
            st.caption(
                tr(
                    "Rank correlation between the size of the change and the importance by gradient: {value}, over "
                    "{count} heads.",
                    value=decimal(correlation, 2),
                    count=len(heads),
                )
            )


reading = readings.reading()
if reading is not None:
    page(reading)
