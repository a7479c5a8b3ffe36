"""Head to head: the strongest paths between heads to one output token."""

from functools import partial

import streamlit as st

from core.analysis.composition.edges import INPUT_NAMES, Edge, sender_side
from core.analysis.composition.paths import HeadPaths, positions_grid, values_grid
from core.analysis.tokens.words import readable
from core.capture import AttentionMap
from viz_app.components.picture import picture
from viz_app.controls.check_badge import check_badge
from viz_app.controls.downloads import downloads
from viz_app.controls.job_control import job_control
from viz_app.controls.score_products import map_with_products
from viz_app.controls.tables import number_column, show_table
from viz_app.controls.widgets import page_theme, show_answer, way_to
from viz_app.drawing.display_text import decimal, isolated, plain
from viz_app.language import joined, marked, tr, translated, translated_all
from viz_app.session.map_pass import MapPass
from viz_app.session.readings import Reading, reading_part
from viz_app.session.state import refusals_shown
from viz_app.views.experiments.head_paths import figures, paths_survey
from viz_app.views.experiments.head_paths.path_graph import path_graph
from viz_app.views.experiments.head_paths.paths_survey import QuestionSurvey

HOW_TO_READ = marked("""
**Path patching** (Wang et al. 2022; Goldowsky-Dill et al. 2023). What one sender writes, a head, a feed-forward network
or an embedding, is replaced, but only one input of one receiver reads the replacement: the queries, keys or values of a
head, the input of a network, or the logit. Between both lie residual connections and norms alone; norms are computed
again. Then everything after the receiver is computed again, and the **effect** of the edge is by how much the logit of
A minus that of B, or the log-probability of A, falls: above 0 the edge speaks for A.

All edges are estimated first, to first order; the strongest are then measured exactly.
""")
NOT_MEANT = marked(
    "An edge shows what this sentence loses without it, one edge at a time. Edges need not add up, an edge without "
    "effect may matter where another does the same, and what replaces an output decides what is seen as an effect."
)
ABOUT_BADGE = marked(
    "The effect of an edge between two heads is computed a second time, by passes of the model's own modules with "
    "hooks. Both must agree."
)
ABOUT_WEIGHTS = marked(
    "Composition scores of Elhage et al. (2021) are products of the weights of two heads and know no sentence. "
    "Spearman's rank correlation with the measured change of the receiver's output, over all edges between two heads."
)


@reading_part
def page(reading: Reading) -> None:
    """Draw everything below the sentence; a click in it runs only this part again."""
    question, count = paths_survey.question_boxes(reading)
    if question.second == "":
        st.info(tr("Type a second sentence: the same as above with one word changed."))
        return
    with refusals_shown():
        survey = paths_survey.surveyed(reading, question)
    headline(survey)
    job_control(survey.job, "head_paths", tr("Measure"), partial(graph, reading, survey, count))


def headline(survey: QuestionSurvey) -> None:
    """Name the quantity that the effects change."""
    runs = survey.run.runs
    first, second = (
        plain(isolated(readable(each))) for each in map(runs.translator.codec.piece, (runs.token, runs.against))
    )
    value = decimal(survey.run.metric, 2, sign=True)
    if runs.metric == "difference":
        text = tr(
            "Logit of **{first}** (A) minus **{second}** (B): **{value}** nats", first=first, second=second, value=value
        )
    else:
        text = tr("Log-probability of **{first}** (A): **{value}** nats", first=first, value=value)
    st.markdown(text, help=tr(HOW_TO_READ))


def graph(reading: Reading, survey: QuestionSurvey, count: int) -> None:
    """Draw the strongest edges found so far, and the selected one."""
    theme, node, checked = page_theme(), paths_survey.NODE.value, survey.checked()
    ranked = survey.found.ranked()
    edges = {each.edge for each in ranked}
    edge = paths_survey.selected_edge(edges, are_all=survey.job.finished)
    if edge is None and survey.job.finished:
        edge = next((each.edge for each in ranked[:count] if each.edge.receiver.as_head), ranked[0].edge)
    shown = survey.run.runs, survey.found, count, theme, edge, node
    drawn = figures.path_graph(*shown)
    if survey.job.finished:
        show_answer(HeadPaths(survey.run, survey.found).answer())
    left, right = st.container(key="side-by-side").columns([2, 1], gap="medium")
    with left:
        path_graph(drawn, figures.path_graph(*shown, is_narrow=True), paths_survey.select, key="path-graph")
        recorded = paths_survey.survey_call(reading, survey)
        downloads("paths", "path-graph", recorded.then("table"), title=tr("Strongest direct paths"))
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(tr("Click an edge to see what flows, a head to select it on the page Heads."), width="content")
            if node is not None and node.as_head is not None:
                way_to("heads", tr("{head} on Heads", head=translated(node.title)))
    with right:
        if edge is not None and ranked:
            one_edge(reading, survey, edge)
    st.caption(tr(NOT_MEANT))
    agreement(survey)
    with st.expander(tr("Table of the {count} strongest edges", count=min(count, len(ranked)))):
        table(survey, count)
    if checked is not None:
        name, gap = tr("an edge repeated with hooks"), checked[1]
        detail = tr("{edge}, gap {gap:.1g} nats", edge=translated(checked[0].title), gap=gap)
        check_badge(name, True, tr(ABOUT_BADGE), detail)  # others are refused


def one_edge(reading: Reading, survey: QuestionSurvey, edge: Edge) -> None:
    """Draw the flow through an edge: its numbers, the receiver's map before and after, and effects by position."""
    theme, runs = page_theme(), survey.run.runs
    measured = next(each for each in survey.found.edges if each.edge == edge)
    st.markdown(f"**{plain(translated(edge.title))}**")
    effect, exact = survey.found.effect(measured), edge in survey.found.effects
    values = {"effect": decimal(effect, 3, sign=True), "change": decimal(100 * measured.change, 1)}
    if exact:
        st.markdown(tr("Effect **{effect}** nats; the receiver's output changes by **{change} %**", **values))
    else:
        st.markdown(
            tr("Effect **{effect}** nats (estimated); the receiver's output changes by **{change} %**", **values)
        )
    source, _ = runs.source_tokens
    own = source if sender_side(edge.sender) == "encoder" else runs.fed_tokens
    head = edge.receiver.as_head
    if head is not None:
        flow = survey.flow(edge)
        queries = source if head.kind == "encoder_self" else runs.fed_tokens
        keys = runs.fed_tokens if head.kind == "decoder_self" else source
        if edge.input == "value":
            st.caption(tr("The map of the receiver stays as it is; the values that it reads change:"))
            picture(values_grid(flow, keys), "paths-values")
        title = translated(edge.receiver.title)
        names = (tr("Map of the receiver"),) if edge.input == "value" else (tr("Before"), tr("After the replacement"))
        for index, name in enumerate(names):
            st.caption(name)
            weights = flow.weights[index].float().cpu().expand(head.head + 1, -1, -1)  # only the last head is drawn
            attention = AttentionMap(head.kind, head.layer, weights, queries, keys)
            of = flow_pass(reading, survey, edge, index, attention)
            map_with_products(attention, head.head, theme, of, key=f"paths-map-{index}", name=lambda *_: title)
    st.caption(tr("Effect by the position at which the sender's output is replaced"))
    picture(positions_grid(survey.by_position(edge), own), "paths-positions")


def flow_pass(reading: Reading, survey: QuestionSurvey, edge: Edge, moment: int, attention: AttentionMap) -> MapPass:
    """Return the pass that the map of an edge's receiver shows: 0 before the replacement, 1 after."""
    return MapPass(
        (reading.identity, survey.question, edge, moment),
        {(attention.kind, attention.layer): attention},
        lambda cell: paths_survey.products_call(reading, survey, edge, moment, cell.query, cell.key),
    )


def agreement(survey: QuestionSurvey) -> None:
    """Say how far estimates and weights agree with the measured effects."""
    effects = survey.found.effects
    if len(effects) > 1:
        value = decimal(survey.found.estimate_agreement(), 2)
        text = tr(
            "{estimated:,} edges estimated, {measured} measured; rank correlation of both: {value}.",
            estimated=len(survey.found.edges),
            measured=len(effects),
            value=value,
        )
        st.caption(text)
    scores = survey.found.composition_agreement() if survey.found.scores else {}
    if scores:
        parts = joined(
            f"{tr(INPUT_NAMES[which])} {decimal(value, 2, sign=True)}" for which, (_, value) in scores.items()
        )
        st.caption(
            tr("Composition by weights alone and measured change, rank correlation: {values}.", values=parts),
            help=tr(ABOUT_WEIGHTS),
        )


def table(survey: QuestionSurvey, count: int) -> None:
    """Draw the edges as a table."""
    edges = [each.edge for each in survey.found.ranked()[:count]]
    names = {
        "from": translated_all(edge.sender.title for edge in edges),
        "to": translated_all(edge.receiver.title for edge in edges),
        "input": [tr(INPUT_NAMES[edge.input]) for edge in edges],
    }
    show_table(
        {**survey.found.columns(count), **names},
        height="content",
        columns={
            "from": tr("From"),
            "to": tr("To"),
            "input": tr("Input"),
            "effect": number_column(tr("Effect"), 3, help=tr("In nats, by path patching.")),
            "estimate": number_column(tr("Estimate"), 3, help=tr("To first order.")),
            "change": number_column(tr("Change"), 3, help=tr("Of the receiver's output, relative to it.")),
            "composition": number_column(tr("By weights"), 3, help=tr("Composition score of two heads.")),
        },
    )


page()
