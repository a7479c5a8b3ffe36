"""Patching: what carries the difference between two sentences to the next token."""

from collections.abc import Sequence
from functools import partial
from statistics import fmean
from typing import Any

import streamlit as st

from core.analysis.interventions.pair_runs import Component, side_of
from core.analysis.interventions.patch_results import LEGENDS, PatchedCell, PatchedComponents
from core.analysis.interventions.path_patching import Receiver
from core.analysis.pictures_data import Mark, Place
from core.analysis.recorded_call import Call
from core.analysis.tokens.words import readable
from core.capture import KINDS, Kind
from core.trace import STACK_NAMES, Head, Stack
from viz_app.controls.check_badge import check_badge
from viz_app.controls.downloads import picture_with_files
from viz_app.controls.job_control import job_control
from viz_app.controls.widgets import setting_segments, show_answer, way_to
from viz_app.drawing.display_text import decimal, isolated, plain
from viz_app.drawing.head_names import head_title
from viz_app.language import marked, tr, tr_lower, translated
from viz_app.session import address
from viz_app.session.chosen_heads import select_head
from viz_app.session.readings import Reading, reading_part
from viz_app.views.experiments.patching import measurement, second_sentence, selection
from viz_app.views.experiments.patching.measurement import Patching

HOW_TO_READ = marked("""
**Activation patching** (Vig et al. 2020; Meng et al. 2022). The model reads both sentences with the same translation up
to the predicted token. Then the output of one component, in one layer at one position, is taken from one run and put
into the other, and everything after it is computed again. A cell says what share of the difference between the two runs
this makes: **0** none of it, **1** all of it. Outside 0 to 1, it went the other way or beyond.

Self-attention, cross-attention and feed-forward networks add to a state; "state after the layer" replaces the state
itself, with all that earlier layers have put there. Click a cell; of attention it shows the heads.
""")
NOT_MEANT = marked(
    "A patch shows that an output carries this difference, in this pair of sentences. Shares need not sum to 1, and an "
    "output with a share of 0 may matter where another one does the same."
)
IN_BOTH = marked("{measure}: **{first}** with the first sentence, **{second}** with the second")
MEAN_IN_BOTH = marked(
    "{measure}: **{first}** with the first sentence, **{second}** with the second, mean of {count} pairs"
)
ABOUT_PATHS = marked("""
**Path patching** (Wang et al. 2022; Goldowsky-Dill et al. 2023). The output of one head, the sender, is taken from the
other run, but only the queries, keys or values of the receiver may notice: all other attention outputs on the way stay
as they are. Then everything after the receiver is computed again. Each cell is a sender. Effects are small where the
word itself, rather than a head, brings the difference to the receiver.
""")
ABOUT_BADGE = marked(
    "With every output of every component taken from the other run, the patched run must give that run's number; 0 and "
    "1 are then where they should be."
)
ROWS: dict[Stack, str] = {
    "encoder": marked("a row for each token of the sentences"),
    "decoder": marked("a row for each token of the translation so far; the last one predicts the token"),
}


@reading_part
def page(reading: Reading) -> None:
    """Draw everything below the sentence; a click in it runs only this part again."""
    corrupted, others = second_sentence.sentence_box(reading)
    if not corrupted:
        st.info(tr("Type a second sentence: the same as above with one word changed."))
        return
    try:
        question, view = second_sentence.question_boxes(reading, corrupted, others, view_box)
        patched = measurement.patching(reading, question)
    except ValueError as error:
        st.error(second_sentence.problem_text(error))
        return
    if view == "Components":
        job_control(patched.job, "patching", tr("Measure"), partial(components, patched))
    else:
        paths(patched)
    detail = tr("largest gap {gap:.1g} nats", gap=patched.gap)
    check_badge(tr("all patched equals the other run"), True, tr(ABOUT_BADGE), detail)  # others are refused


def view_box() -> str:
    """Select what is drawn."""
    return setting_segments(address.PATCH_VIEW, tr("View"), hide_label=True)


def headline(title: str, patched: Patching, help: str | None = None) -> None:
    """Draw the title of the first picture, with help, and beside it the measure with its value in both runs."""
    runs, question = patched.pairs[0], patched.question
    first, second = (
        plain(isolated(readable(each))) for each in map(runs.translator.codec.piece, (runs.token, runs.against))
    )
    measure = tr("Logit of **{first}** minus **{second}**", first=first, second=second)
    if question.metric == "log_prob":
        measure = tr("Log-probability of **{first}**", first=first)
    elif len(patched.pairs) > 1 and question.against is None:
        measure = tr("Logit of **{first}** minus the best other token", first=first)
    in_both = zip(*((runs.clean, runs.corrupted) for runs in patched.pairs), strict=True)
    first, second = (decimal(fmean(values), 2, sign=True) for values in in_both)
    text = tr(
        IN_BOTH if len(patched.pairs) == 1 else MEAN_IN_BOTH,
        measure=measure,
        first=first,
        second=second,
        count=len(patched.pairs),
    )
    with st.container(horizontal=True, gap="medium", vertical_alignment="center"):
        st.markdown(title, width="content", help=help)
        st.markdown(text, width="content", help=tr(HOW_TO_READ))
    if patched.left_out:
        st.caption(
            tr("Left out of the mean: {count}.", count=len(patched.left_out)), help=plain("; ".join(patched.left_out))
        )


def components(patched: Patching) -> None:
    """Draw the effects measured so far; a click on a cell shows its heads."""
    recorded = patched.components()
    result: PatchedComponents = recorded.run()
    cell = selection.selected_cell(patched, result)
    if len(patched.pairs) > 1:
        st.caption(
            tr("Mean of {measured} of {count} pairs.", measured=len(result.pairs), count=len(patched.pairs))
            if len(result.pairs) > 1
            else tr("The first pair.")
        )
    if patched.job.finished:
        show_answer(result.answer())
    for number, (side, name) in enumerate(STACK_NAMES.items()):
        title = tr("**{name}**: {text}", name=tr(name), text=tr(ROWS[side]))
        if number == 0:
            headline(title, patched)
        else:
            st.markdown(title)
        here = cell if cell is not None and side == side_of(cell.component) else None

        def select(place: Place, columns: Sequence[tuple[Component, int]] = result.columns(side)) -> None:
            address.PATCH.set((*columns[place[1]], place[0]))

        title = f"{tr(name)}: {tr(LEGENDS[result.into])}"
        drawn(f"patching-{side}", recorded, title, number, here and result.place_of(here), on_place=select)
        if here is not None:
            one_cell(patched, result, here)
    st.caption(tr(NOT_MEANT))


def drawn(name: str, recorded: Call, title: str, number: int = 0, selected: Mark | None = None, **clicks: Any) -> None:
    """Draw a grid of a result, whose clicks are those of `picture`, with its files; the title is that of slides."""
    shown = recorded.run().pictures()[number]
    picture_with_files(shown, name, recorded.then("table"), selected, title=title, **clicks)


def one_cell(patched: Patching, result: PatchedComponents, cell: PatchedCell) -> None:
    """Draw the numbers of a cell and, if it is one of attention, its heads."""
    share, token = result.share(cell), result.position_names(cell.component)[cell.position]
    title = translated(cell.title)
    values = {
        "component": title,
        "token": plain(isolated(token)),
        "share": tr("not measured yet") if share != share else f"**{decimal(share, 3)}**",
    }
    kind: Kind | None = next((kind for kind in KINDS if kind == cell.component), None)
    if kind is None:
        st.markdown(tr("**{component}** at **{token}**: {share}. It has no heads.", **values))
        return
    st.markdown(tr("**{component}** at **{token}**: {share}, and each of its heads alone", **values))
    heads = patched.heads(kind, cell.layer, cell.position)
    title = tr("Heads of {component} at {token}", component=title, token=token)
    drawn("patching-heads", heads, title, on_head=select_head)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(tr("Click a head to select it on the page Heads."), width="content")
        way_to("heads", tr("Open Heads"))


def paths(patched: Patching) -> None:
    """Draw the effects of all heads through the paths to one receiver."""
    receiver, hold_networks = selection.receiver_box(patched)
    measured = measurement.paths_to(patched, receiver, hold_networks)
    if not measured.senders:
        st.info(tr("No head comes before {head}: select a higher layer.", head=plain(head_title(receiver.head))))
        return
    draw = partial(senders, patched, receiver, hold_networks, measured)
    job_control(measured.job, "paths", tr("Measure"), draw)


def senders(patched: Patching, receiver: Receiver, hold_networks: bool, measured: measurement.Paths) -> None:
    """Draw the effects of the senders measured so far; a click on one shows the effect by position."""
    clicked = address.SENDER.selected(possible=measured.senders.__contains__)
    sender = None if clicked is None else Head(*clicked)
    name = f"{head_title(receiver.head)}, {tr_lower(selection.INPUT_NAMES[receiver.input])}"
    recorded = patched.senders(receiver, hold_networks, measured)
    if measured.job.finished:
        show_answer(recorded.run().answer())
    headline(tr("**Heads that feed {input}**", input=plain(name)), patched, tr(ABOUT_PATHS))
    title = tr("Heads that feed {input}", input=name)
    drawn("patching-paths", recorded, title, selected=sender, on_head=address.SENDER.set)
    if sender is None:
        st.caption(tr("Click a head to see at which position its output matters."))
    else:
        own = head_title(sender)
        st.markdown(tr("**{head}**, by the position of its output", head=own))
        title = tr("{sender} to {receiver}, by position", sender=own, receiver=name)
        drawn("patching-positions", patched.positions(sender, receiver, hold_networks), title)
    st.caption(tr(NOT_MEANT))


page()
