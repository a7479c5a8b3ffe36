"""Over training: a sentence and the heads at every snapshot of a training run, and when heads take their roles."""

from dataclasses import replace
from functools import partial

import streamlit as st

from core.analysis.declaration import FIRST
from core.analysis.heads.head import Head
from core.analysis.over_training.followed_sentence import FollowedSentence, OverTrainingOptions
from core.analysis.over_training.roles import SCORES, TOLERANCE, developments
from core.analysis.over_training.snapshot_reading import level_columns, level_grid
from core.analysis.recorded_call import Call
from core.analysis.training_log import log_columns, log_curves
from core.capture import Kind
from viz_app.components.picture import picture
from viz_app.controls.check_badge import check_badge
from viz_app.controls.downloads import downloads, picture_with_files
from viz_app.controls.job_control import job_control
from viz_app.controls.tables import number_column, show_table
from viz_app.controls.toolbar import kind_box
from viz_app.controls.widgets import setting_menu, setting_segments
from viz_app.drawing import ablation
from viz_app.drawing.display_text import plain
from viz_app.language import capital, localized, marked, tr, translated
from viz_app.session import address, readings
from viz_app.session.fields import part
from viz_app.session.language_codes import codes_of, with_code
from viz_app.session.state import session_object
from viz_app.views.models.over_training import histories, measurement, snapshot_view
from viz_app.views.models.over_training.histories import OpenedTraining
from viz_app.views.models.over_training.measurement import Measurement
from viz_app.views.models.over_training.selection import (
    BASIS,
    PAUSE,
    SAMPLE,
    STEP,
    Playing,
    SelectedHeads,
    selected_head,
)

ROLES, SCORE, LAYERS, TRANSLATIONS, _ = address.TRAINED_VIEW.codec.values
HOW_TO_READ = marked("""
**Snapshots** are checkpoints of one training run, from random parameters at step 0 to the last step. Each translates
the sentence with its own beam search; the bar above has the translation of the current checkpoint. Everything else is
of **one target**, the last snapshot's translation, which all snapshots are given token by token: so maps have the same
rows and columns at every step. Move the slider with the arrow keys, or let "Play" go through the steps; P starts and
stops it.
""")
ABOUT_ROLES = marked("""
A **role** is the most specific thing that a head does, by the criteria under "More" on the page Heads, unless its
weights are spread out: then that is its role, since the largest of nearly equal weights says little. It is **taken**
(bold) at the first snapshot from which on the head meets the criterion at every snapshot. A score has **settled** at
the first snapshot from which on it stays within {tolerance} of its last value. Olsson et al. (2022) follow scores of
heads over a training run in this way. Between two snapshots nothing is known.
""")
ABOUT_LENS = marked("""
The **logit lens** (nostalgebraist 2020) at the selected snapshot: the state after each layer, read as if it were the
last one. A row for each token of the last snapshot's translation; see Layer by layer.
""")
ABOUT_LAYERS = marked("""
The logit lens at every snapshot. A cell is the probability of a token of the last snapshot's translation, as the
geometric mean over its tokens.
""")
ABOUT_BASIS = marked("""
Sample: 32 shipped sentences, with the last snapshot's greedy translations as targets. One sentence says little about a
head.
""")
NOT_MEANT = marked(
    "One training with one seed: another one would give other heads these roles, at other steps. A role says where a "
    "head attends, not that the model needs it."
)
ROUNDED = marked(
    "The parameters of these snapshots are rounded to 8 bits: translations and numbers may differ from those of the "
    "checkpoint itself."
)
ABOUT_BADGE = marked(
    "The last snapshot is given the translation that its own search has found: both must give each token the same "
    "probability."
)
GAP = 1e-4  # nats


@part
def page() -> None:
    """Draw everything below the sentence; a click in it runs only this part again."""
    note, pictures = st.empty(), st.container()
    training, reading = histories.training_box(note), readings.reading()  # below the pictures
    if training is None:
        return
    with pictures:
        if reading is None:
            return
        text = with_code(reading.search.text, (), codes_of(reading.model))  # another model's codes are not words
        measured = measurement.measurement(training.history, replace(reading.search, text=text))
        if measured.job.running and not measured.has_begun:
            measured.job.advance(0)  # the first picture, without a turn of the page before it
        job_control(measured.job, "over_training", tr("Measure"), partial(playable, training, measured))


def playable(training: OpenedTraining, measured: Measurement) -> None:
    """Draw the snapshots, one after the other while they are played."""
    run_every = PAUSE if session_object(Playing).is_on else None
    part(snapshots, run_every=run_every)(training, measured)


def snapshots(training: OpenedTraining, measured: Measurement) -> None:
    """Draw the selected snapshot, and the changes over all that are measured so far."""
    if not measured.has_begun:
        return
    step, kind = step_and_kind(measured)
    now = measured.sentence.readings[step]
    snapshot_view.translation(now, measured.last)
    head = selected_head(kind, measured.last.explanation.maps[kind])
    with st.container(key="side-by-side"):
        left, right = st.columns([4, 7], gap="large")
        with left:
            snapshot_view.overview(training, measured, now, head)
            if measured.steps:
                snapshot_view.card(measured, step, head, (BASIS.requested or SAMPLE) == SAMPLE)
        with right:
            snapshot_view.large(training, measured, now, head)
    snapshot_view.translation_note(now, measured.last)
    if training.history.in_eight_bits:
        st.caption(tr(ROUNDED))
    if not measured.steps:
        return
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        view = setting_segments(address.TRAINED_VIEW, tr("View"), hide_label=True)
        of_heads = view in (ROLES, SCORE)
        basis = setting_segments(BASIS, tr("Measured on"), hide_label=True, help=tr(ABOUT_BASIS), disabled=not of_heads)
        names = {name: capital(tr(text)) for name, text in SCORES.items()}
        score: str = setting_menu(
            address.TRAINED_SCORE, tr("Score"), names, hide_label=True, disabled=not of_heads, width=260
        )
    if of_heads:
        heads(training, measured, step, head, score, view, basis == SAMPLE)
    elif view == LAYERS:
        layers(training, measured, step)
    elif view == TRANSLATIONS:
        translations(training, measured)
    else:
        loss(training, measured, step)
    st.caption(tr(NOT_MEANT))
    badge(measured)


def step_and_kind(measured: Measurement) -> tuple[int, Kind]:
    """Select a snapshot and a kind of attention; while the snapshot is not measured yet, the last one is shown."""
    steps, playing = measured.history.steps, session_object(Playing)
    was_on = playing.is_on
    playing.advance(steps)
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        label, icon = (tr("Stop"), ":material/stop:") if playing.is_on else (tr("Play"), ":material/play_arrow:")
        pressed = st.button(
            label,
            key="trained_play",
            icon=icon,
            shortcut="P",
            on_click=playing.switch,
            args=(steps,),
            disabled=not measured.job.finished,
        )
        step = STEP.draw(
            st.select_slider,
            tr("Training steps"),
            steps,
            default=steps[-1],
            format_func=localized,
            help=tr(HOW_TO_READ),
        )
        kind = kind_box()
    playing.keep_shown(step)
    if pressed or was_on != playing.is_on:
        st.rerun()  # `run_every` is set where the fragment is called
    if step in measured.steps or step == steps[-1]:
        return step, kind
    st.caption(tr("Step {step} is not measured yet: the last one is shown.", step=localized(step)))
    return steps[-1], kind


def heads(
    training: OpenedTraining, measured: Measurement, step: int, head: Head, score: str, view: str, on_sample: bool
) -> None:
    """Draw the roles, or one score, of all heads of a kind over the snapshots."""
    steps, kind = measured.steps, head.kind
    if score == "agreement" and kind != "cross":
        st.caption(tr("Self-attention links no words: select another score, or cross-attention."))
        return
    found = developments(steps, measured.cards(on_sample), score, kind=kind)
    selected = next(each for each in found.heads if each.head == head)
    st.markdown(f"**{translated(found.answer(head))}**", help=tr(ABOUT_ROLES, tolerance=TOLERANCE))
    st.caption(tr("{head}: {text}.", head=ablation.head_title(head), text=translated(found.says(selected))))

    def click(place: tuple[int, int]) -> None:
        session_object(SelectedHeads)[kind] = found.heads[place[0]].head[1:]
        STEP.set(steps[place[1]])

    def table() -> Call:
        cards = measurement.cards_call(training, measured, on_sample)
        of_steps = Call("steps", ".steps", (measurement.history_call(training),)).returning(steps)
        return Call("heads", developments, (of_steps, cards, score), {"kind": kind}).returning(found).then("table")

    name = f"trained-{view.lower()}-{kind}"
    if view == ROLES:
        at, title = (found.heads.index(selected), steps.index(step)), tr("When heads take their roles")
        picture_with_files(found.roles(), name, table, at, key="trained_roles", title=title, on_place=click)
    else:
        curves = found.curves(head, step)
        picture_with_files(curves, name, table, key="trained_curves", title=capital(translated(curves.title)))


def layers(training: OpenedTraining, measured: Measurement, step: int) -> None:
    """Draw the logit lens of the selected snapshot, and of all; a click selects a step."""
    lens = measured.sentence.readings[step].lens
    st.markdown(
        tr("**The most probable token after each layer**, at step {step}", step=localized(step)), help=tr(ABOUT_LENS)
    )
    (at_step,) = lens.pictures(FIRST)
    picture(at_step, "trained_lens")
    st.caption(plain(translated(lens.answer(FIRST))))
    title = tr("Most probable token after each layer, at step {step}", step=localized(step))
    recorded = Call("lens", ".lens", (measurement.reading_call(training, measured, step),))
    downloads("trained-lens", "trained_lens", recorded.then("table"), title=title)
    shown = [measured.sentence.readings[each] for each in measured.steps]
    st.markdown(tr("**How probable each layer finds the last translation**"), help=tr(ABOUT_LAYERS))
    grid = level_grid(shown)
    column = measured.steps.index(step)
    marked = {(row, column) for row in range(len(grid.rows))}
    table = Call("table", level_columns, (measurement.readings_call(training, measured),))
    title = tr("Probability by layer over training")

    def select(place: tuple[int, int]) -> None:
        STEP.set(measured.steps[place[1]])

    picture_with_files(grid, "trained-layers", table, marked, key="trained_layers", title=title, on_place=select)


def translations(training: OpenedTraining, measured: Measurement) -> None:
    """Draw the translations of all snapshots."""
    options = OverTrainingOptions()
    shown = FollowedSentence([measured.sentence.readings[each] for each in measured.steps], options)
    columns = {
        "step": number_column(tr("Step"), 0, width=80),
        "translation": tr("Own translation"),
        "log_prob": number_column(tr("Log-probability of the last one"), 2, width=200),
    }
    show_table(shown.table(), height="content", columns=columns)
    recorded = Call("sentence", FollowedSentence, (measurement.readings_call(training, measured), options))
    downloads("trained-translations", call=recorded.returning(shown).then("table"))


def loss(training: OpenedTraining, measured: Measurement, step: int) -> None:
    """Draw the loss of the run, with its snapshots."""
    lines = training.history.log
    if not lines:
        st.info(tr("These snapshots have no log: open the run's folder, or a file of `python -m train history`."))
        return
    st.markdown(tr("**Loss of the run**: a line at each snapshot, the strong one at the selected step"))
    curves = replace(log_curves(lines, "nll"), rules=measured.steps, current=step)
    table = Call("table", log_columns, (Call("log", ".log", (measurement.history_call(training),)),))
    title = tr("Loss of a training run, and its snapshots")
    picture_with_files(curves, "trained-loss", table, key="trained_loss", title=title, of_sentence=False)


def badge(measured: Measurement) -> None:
    """Compare the replay of the last snapshot with its search."""
    last = measured.last
    pairs = zip(last.translation.token_log_probs, last.explanation.log_probs, strict=False)
    gap = max(abs(own - replayed) for own, replayed in pairs)
    detail = tr("largest difference {gap:.1g} nats", gap=gap)
    check_badge(tr("last snapshot equals its search"), gap < GAP, tr(ABOUT_BADGE), detail)


page()
