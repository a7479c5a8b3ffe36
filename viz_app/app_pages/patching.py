"""Patching: what carries the difference between two sentences to the next token."""

from functools import partial

import streamlit as st

from core.analysis.heads.head import Head
from core.analysis.interventions.pair_runs import Side
from core.analysis.tokens.words import readable
from core.capture import KINDS, Kind
from viz_app.components.cell_grid import cell_grid
from viz_app.controls.check_badge import check_badge
from viz_app.controls.downloads import downloads
from viz_app.controls.job_control import job_control
from viz_app.controls.widgets import page_theme, segments
from viz_app.features.patching import measurement, second_sentence, selection
from viz_app.features.patching.measurement import Patching
from viz_app.features.patching.selection import Selected
from viz_app.figures import patching as figures
from viz_app.figures.ablation import head_title
from viz_app.figures.display_text import decimal, isolated, plain
from viz_app.figures.export.cell_grid import export_grid
from viz_app.session import python_code, readings
from viz_app.session.chosen_heads import heads_widget
from viz_app.session.state import Widget, session_object

HOW_TO_READ = """
**Activation patching** (Vig et al. 2020; Meng et al. 2022). The model reads both sentences with the same translation up
to the predicted token. Then the output of one component, in one layer at one position, is taken from one run and put
into the other, and everything after it is computed again. A cell says what share of the difference between the two runs
this makes: **0** none of it, **1** all of it. Outside 0 to 1, it went the other way or beyond.

Self-attention, cross-attention and feed-forward networks add to a state; "state after the layer" replaces the state
itself, with all that earlier layers have put there. Click a cell; of attention it shows the heads.
"""
NOT_MEANT = (
    "A patch shows that an output carries this difference, in this pair of sentences. Shares need not sum to 1, and an "
    "output with a share of 0 may matter where another one does the same."
)
ABOUT_PATHS = """
**Path patching** (Wang et al. 2022; Goldowsky-Dill et al. 2023). The output of one head, the sender, is taken from the
other run, but only the queries, keys or values of the receiver may notice: all other attention outputs on the way stay
as they are. Then everything after the receiver is computed again. Each cell is a sender. Effects are small where the
word itself, rather than a head, brings the difference to the receiver.
"""
ABOUT_BADGE = (
    "With every output of every component taken from the other run, the patched run must give that run's number; 0 and "
    "1 are then where they should be."
)
TOLERANCE = 1e-3  # nats
VIEWS = ("Components", "Paths between heads")
NAMES: dict[Side, str] = {"encoder": "Encoder", "decoder": "Decoder"}
ROWS: dict[Side, str] = {
    "encoder": "a row for each token of the sentences",
    "decoder": "a row for each token of the translation so far; the last one predicts the token",
}


@st.fragment
def page() -> None:
    """Draw everything below the sentence; a click in it runs only this part again."""
    reading = readings.reading()
    if reading is None:
        st.caption("Enter a sentence above to compare it with a second one.")
        return
    corrupted, others = second_sentence.sentence_box(reading)
    if not corrupted:
        st.info("Type a second sentence: the same as above with one word changed.")
        return
    try:
        question = second_sentence.question_boxes(reading, corrupted, others)
        found = measurement.patching(reading, question)
    except ValueError as error:
        st.error(second_sentence.problem_text(error))
        return
    headline(found)
    view = segments("View", VIEWS, VIEWS[0], "patch_view", hide_label=True)
    if view == VIEWS[0]:
        assert found.job is not None
        job_control(found.job, "patching", "Measure", partial(components, reading, found))
    else:
        paths(reading, found)
    check_badge(
        "all patched equals the other run", found.gap < TOLERANCE, ABOUT_BADGE, f"largest gap {found.gap:.1g} nats"
    )


def headline(found: Patching) -> None:
    """Say what is measured, in both runs."""
    runs, question = found.pairs[0], found.question
    first, second = (plain(isolated(readable(each))) for each in runs.translator.pieces([runs.token, runs.against]))
    name = f"Logit of **{first}** minus **{second}**"
    if question.metric == "log_prob":
        name = f"Log-probability of **{first}**"
    elif len(found.pairs) > 1 and question.against is None:
        name = f"Logit of **{first}** minus the best other token"
    clean, corrupted = (
        sum(values) / len(found.pairs) for values in zip(*((r.clean, r.corrupted) for r in found.pairs), strict=True)
    )
    mean = f", mean of {len(found.pairs)} pairs" if len(found.pairs) > 1 else ""
    numbers = (decimal(value, 2, sign=True) for value in (clean, corrupted))
    text = "{}: **{}** with the first sentence, **{}** with the second{}".format(name, *numbers, mean)
    st.markdown(text, help=HOW_TO_READ)
    if found.left_out:
        st.caption(f"Left out of the mean: {len(found.left_out)}.", help=plain("; ".join(found.left_out)))


def components(reading: readings.Reading, found: Patching) -> None:
    """Draw the effects measured so far; a click on a cell shows its heads."""
    theme, question = page_theme(), found.question
    effects, pairs, cell = found.effects(), found.shown, selection.selected_cell(found)
    if len(found.pairs) > 1:
        st.caption(f"Mean of {len(pairs)} of {len(found.pairs)} pairs." if len(pairs) > 1 else "The first pair.")
    for side, name in NAMES.items():
        st.markdown(f"**{name}**: {ROWS[side]}")
        grid = figures.side_grid(effects, pairs, side, question.into, theme, cell)
        layers = pairs[0].num_layers(figures.components_of(side)[0])

        def select(place: tuple[int, int], side: Side = side, layers: int = layers) -> None:
            session_object(Selected).select_cell(figures.grid_cell(place, side, layers))

        cell_grid(grid, select, key=f"patching-{side}")
        code = (
            python_code.reading_part(reading),
            selection.pairs_part(pairs, question),
            selection.map_part(question, side),
        )
        downloads(
            f"patching-{side}",
            partial(export_grid, grid, theme=theme, title=figures.SHARE_NAMES[question.into]),
            partial(figures.map_table, pairs, effects, side),
            title=f"{name}: {figures.SHARE_NAMES[question.into]}",
            python=lambda file, code=code: python_code.script(file, *code),
        )
        if cell is not None and side == figures.side_of(cell.component):
            one_cell(reading, found, cell)
    st.caption(NOT_MEANT)


def one_cell(reading: readings.Reading, found: Patching, cell: figures.PatchedCell) -> None:
    """Draw the numbers of a cell and, if it is one of attention, its heads."""
    question, theme = found.question, page_theme()
    share = float(found.effects()[cell.component].moved(question.into)[cell.layer, cell.position])
    token = figures.position_names(found.shown, cell.component)[cell.position]
    text = f"**{figures.cell_title(cell)}** at **{plain(isolated(token))}**: "
    text += "not measured yet" if share != share else f"**{decimal(share, 3)}**"
    kind: Kind | None = next((kind for kind in KINDS if kind == cell.component), None)
    if kind is None:
        st.markdown(f"{text}. It has no heads.")
        return
    st.markdown(f"{text}, and each of its heads alone")
    heads = found.heads(kind, cell.layer, cell.position)
    grid = figures.heads_grid(heads, kind, cell.layer, question.into, theme)

    def show(place: tuple[int, int]) -> None:
        Widget("kind").set(kind)
        heads_widget(kind).set([f"L{cell.layer + 1} H{place[1] + 1}"])

    cell_grid(grid, show, key="patching-heads")
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption("Click a head to select it on the page Heads.", width="content")
        st.page_link("app_pages/heads.py", label="Open Heads", icon=":material/arrow_forward:", width="content")
    code = (
        python_code.reading_part(reading),
        selection.pairs_part(found.pairs, question),
        selection.heads_part(question, cell),
    )
    downloads(
        "patching-heads",
        partial(export_grid, grid, theme=theme, title=f"{figures.cell_title(cell)}, {token}"),
        lambda: figures.heads_table(heads),
        title=f"Heads of {figures.cell_title(cell)} at {token}",
        python=lambda file: python_code.script(file, *code),
    )


def paths(reading: readings.Reading, found: Patching) -> None:
    """Draw the effects of all heads through the paths to one receiver."""
    receiver, hold_networks = selection.receiver_box(found)
    measured = measurement.paths_to(found, receiver, hold_networks)
    if not measured.senders:
        st.info(f"No head comes before {plain(head_title(receiver.head))}: select a higher layer.")
        return
    draw = partial(senders, reading, found, receiver, hold_networks, measured)
    job_control(measured.job, "paths", "Measure", draw)


def senders(
    reading: readings.Reading,
    found: Patching,
    receiver: measurement.Receiver,
    hold_networks: bool,
    measured: measurement.Paths,
) -> None:
    """Draw the effects of the senders measured so far; a click on one shows its positions."""
    theme, question = page_theme(), found.question
    sender = selection.selected_sender(measured.senders)
    name = f"{head_title(receiver.head)}, {selection.INPUT_NAMES[receiver.input].lower()}"
    st.markdown(f"**Heads that feed {plain(name)}**", help=ABOUT_PATHS)
    grid = figures.senders_grid(measured.senders, measured.found, question.into, theme, sender)

    def select(place: tuple[int, int]) -> None:
        session_object(Selected).select_sender(figures.grid_sender(place, measured.senders))

    cell_grid(grid, select, key="patching-senders")
    code = python_code.reading_part(reading), selection.pairs_part(found.pairs, question)
    downloads(
        "patching-paths",
        partial(export_grid, grid, theme=theme, title=f"to {name}"),
        lambda: figures.paths_table(measured.senders, measured.found),
        title=f"Heads that feed {name}",
        python=lambda file: python_code.script(file, *code, selection.paths_part(question, receiver, hold_networks)),
    )
    if sender is None:
        st.caption("Click a head to see at which position its output matters.")
    else:
        positions(reading, found, receiver, hold_networks, sender)
    st.caption(NOT_MEANT)


def positions(
    reading: readings.Reading, found: Patching, receiver: measurement.Receiver, hold_networks: bool, sender: Head
) -> None:
    """Draw the effect of a sender's output at each position."""
    theme, question = page_theme(), found.question
    effects = found.path_positions(sender, receiver, hold_networks)
    names = figures.position_names(found.pairs, sender.kind)
    st.markdown(f"**{head_title(sender)}**, by the position of its output")
    grid = figures.positions_grid(effects, names, question.into, theme)
    cell_grid(grid, key="patching-positions")
    part = selection.positions_part(question, receiver, hold_networks, sender, names)
    code = python_code.reading_part(reading), selection.pairs_part(found.pairs, question), part
    downloads(
        "patching-positions",
        partial(export_grid, grid, theme=theme, title=f"{head_title(sender)} to {receiver}"),
        lambda: figures.positions_table(effects, names),
        title=f"{head_title(sender)} to {receiver}, by position",
        python=lambda file: python_code.script(file, *code),
    )


page()
