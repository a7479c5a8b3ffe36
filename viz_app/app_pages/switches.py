"""Switches: turn heads off or down, and see what becomes of the translation."""

import math
from collections.abc import Mapping
from functools import partial

import streamlit as st

from core.analysis.correlation import spearman
from core.analysis.heads.head import Head
from viz_app.components.head_switches import switchboard
from viz_app.controls import search_progress
from viz_app.controls.downloads import downloads
from viz_app.controls.job_control import job_control
from viz_app.controls.tables import show_table
from viz_app.features.ablation import switched_heads
from viz_app.figures import ablation
from viz_app.figures.display_text import decimal, sentence_case
from viz_app.figures.export.ablation import export_changes, export_switches, switches_table
from viz_app.figures.export.plotly_chart import export_chart
from viz_app.figures.plotly_chart import CHART_CONFIG
from viz_app.figures.theme import Theme, theme_named
from viz_app.session import readings

AT_ONCE = 80  # tokens of source and target together up to which every head is measured without being asked
HOW_TO_READ = """
Click a head to switch it, click it again to switch it back; the name of a layer stands for all its heads. A head's
output is multiplied by what the slider says: 0 turns it off, 1 leaves it alone.

The number in a cell is what turning **that head alone** off does to the log-probability of the translation above, in
nats: -0.7 makes it half as probable. Heads stand in for each other, so effects do not add up, and a head without an
effect here may matter in another sentence.
"""
ABOUT_IMPORTANCE = """
**Change when off**: the head's output is set to 0, and the same translation is scored again. **Importance by gradient**
(Michel et al. 2019) asks how steeply the loss would change if the head were turned down a little: one pass for all
heads, but it says nothing of how things go on from there. The two need not agree; the rank correlation says how far
they do on this sentence. Both are in nats, so that they compare; to rank heads, Michel et al. divide each layer's
importances by their Euclidean norm, which is the last column.
"""


def page(reading: readings.Reading) -> None:
    """Draw everything below the sentence."""
    theme = theme_named(st.context.theme.type)
    explanation = reading.explanation
    measured = switched_heads.heads_off(
        reading, len(explanation.source_tokens) + len(explanation.fed_tokens) <= AT_ONCE
    )
    if problem := switched_heads.read_address(reading.model):
        st.error(sentence_case(problem))
    set_to = switched_heads.gates(reading.model)
    switched_heads.write_address(set_to)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        gate = st.slider(
            "A click sets a head to", 0.0, 0.9, 0.0, 0.1, key="gate", bind="query-params", width=260, help=HOW_TO_READ
        )
        st.button(
            "All back on", on_click=switched_heads.switch, args=(reading.model, list(set_to), 1.0), disabled=not set_to
        )
    switchboard(
        measured.heads, set_to, measured.changes, theme, lambda heads: switched_heads.switch(reading.model, heads, gate)
    )
    drawn = (measured.heads, dict(set_to), dict(measured.changes))
    downloads("switches", partial(export_switches, *drawn, theme=theme), lambda: switches_table(*drawn))
    outcome(reading, set_to, theme)
    each_alone(reading, measured, theme)


def outcome(reading: readings.Reading, set_to: Mapping[Head, float], theme: Theme) -> None:
    """What the switches do: to the best translation, and to the probability of the one looked at."""
    left, right = st.container(key="switch-outcome").columns(2, gap="large")
    with left:
        st.markdown(
            "**Best translation**, all heads on, and with the switches",
            help="Words that only one of the two has are marked.",
        )
        translations(reading, set_to)
    with right:
        st.markdown(
            "**Log-probability of the hypothesis above**, token by token",
            help="The same tokens, scored with the switches: blue became less probable, orange more. Hover a token "
            "for its numbers.",
        )
        effect = switched_heads.gated_effect(reading, set_to) if set_to else None
        before = reading.explanation.log_probs
        changes = effect.changes if effect else [0.0] * len(before)
        st.html(ablation.changed_tokens(reading.explanation.predicted_tokens, before, changes, theme))
        change = (
            f", now **{decimal(sum(before) + effect.change, 2)}**: a change of "
            f"**{decimal(effect.change, 2, sign=True)}** nats"
            if effect
            else ""
        )
        st.markdown(f"All heads on **{decimal(sum(before), 2)}**{change}.")
        tokens = reading.explanation.predicted_tokens
        draw = partial(export_changes, tokens, changes, theme=theme)
        downloads("switched-tokens", draw, lambda: ablation.tokens_table(tokens, before, changes))


def translations(reading: readings.Reading, set_to: Mapping[Head, float]) -> None:
    """The best one with all heads on, the best with the switches, and what is different."""
    old = reading.translation.hypotheses[0]
    # apart: a container in the place of another takes over its buttons
    before, working, below = st.empty(), st.empty(), st.container()
    words = ablation.words_of(old.tokens)
    before.html(ablation.marked_text(words, [False] * len(words), "del"))
    if not set_to:
        below.caption("All heads are on. Click one above to see what the translation becomes without it.")
        return
    progress = search_progress.stoppable(
        working, (reading.model.digest, reading.search, frozenset(set_to.items())), "gated"
    )
    if progress is None:
        return
    gated = ablation.words_of(switched_heads.gated_translation(reading, set_to, progress).tokens)
    marks = ablation.difference(words, gated)
    working.empty()
    before.html(ablation.marked_text(words, marks[0], "del"))
    with below:
        st.html(ablation.marked_text(gated, marks[1], "ins"))
        if not any(map(any, marks)):
            st.caption("The same words: the heads that are left find them too.")


def each_alone(reading: readings.Reading, measured: switched_heads.HeadsOff, theme: Theme) -> None:
    """Every head off alone, beside what its gradient says."""
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        st.markdown("**Each head off alone**", help=ABOUT_IMPORTANCE, width="content")
        job_control(measured.job, "measure", "Measure every head")
    if not measured.changes:
        return
    importance = switched_heads.importance(reading)
    table = ablation.effects_table(measured.changes, importance)
    left, right = st.container(key="switch-effects").columns(2, gap="large")
    with left:
        show_table(
            table,
            height=420,
            column_config={
                "head": st.column_config.TextColumn("Head off"),
                "change": st.column_config.NumberColumn(
                    "Change when off", format="%+.3f", help="Of the log-probability of the hypothesis, in nats."
                ),
                "importance": st.column_config.NumberColumn(
                    "Importance by gradient", format="%.3f", help="In nats a token."
                ),
                "within_layer": st.column_config.NumberColumn(
                    "Within its layer",
                    format="%.2f",
                    help="The importance over the Euclidean norm of its layer's (Michel et al. 2019).",
                ),
            },
        )
    with right:
        figure = ablation.effects_figure(measured.changes, importance, theme)
        st.plotly_chart(
            figure,
            theme=None,
            config=CHART_CONFIG,
            key="effects",
            alt="Change when off by importance, a mark for every head",
        )
        downloads("heads-off", partial(export_chart, figure, theme=theme), lambda: table)
        correlation = spearman(table["change"].abs(), table["importance"])
        if not math.isnan(correlation):
            st.caption(
                f"Rank correlation between the size of the change and the importance by gradient: "
                f"{decimal(correlation, 2)}, over {len(table)} heads."
            )


reading = readings.reading()
if reading is None:
    st.caption("The switches appear here as soon as there is a sentence to translate.")
else:
    page(reading)
