"""Training: curves, learning rate, samples and card of a run."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.analysis import training_log
from core.analysis.declaration import Columns
from core.analysis.recorded_call import Call
from core.files.runlog import of_kind, read_log
from core.model.preset_configs import PRESETS
from viz_app.components.picture import picture
from viz_app.controls.downloads import downloads
from viz_app.controls.tables import show_table
from viz_app.controls.widgets import setting_menu, setting_segments, show_answer, way_to
from viz_app.drawing.display_text import plain, shortened
from viz_app.language import ToldError, localized, marked, tr
from viz_app.session import address, model_paths, python_code, readings
from viz_app.session.fields import part
from viz_app.views.models.path_box import link_note, path_box
from viz_app.views.models.training import run_records

T = TypeVar("T", int, float)
CURVES, RATE, SAMPLES, CARD = address.TRAINING_VIEW.codec.values
TEXTS = {
    CURVES: marked("loss, perplexity, speed and learning rate by step."),
    RATE: marked("the learning rate of these settings, and of the paper's base model."),
    SAMPLES: marked("translations of one sentence at different steps."),
    CARD: marked("the model card: training data, scores and limitations."),
}
HOW_TO_READ = {
    CURVES: marked("""
        The **negative log-likelihood** is without label smoothing; perplexity is its exponential. In training
        it is measured with dropout, in validation without, so training can be above. A token is a sub-word: values of
        models with different vocabularies cannot be compared."""),
    RATE: marked("""
        Section 5.3: the rate rises linearly during the warm-up, then falls with the inverse square root of the
        step; a wider model has a smaller rate. Scale multiplies it. In a cooldown, which the paper does not have, it
        falls linearly to 0 at the end; before it, the rate may as well stay constant. Points are the rates that the
        run logged."""),
    SAMPLES: marked("""
        Greedy translations of sentences from the validation set, which the model is not trained on. They show
        what it learns when, but do not measure it."""),
    CARD: marked("Written by `python -m train card` from the metadata of the checkpoint."),
}
SLIDE_TITLES = {"training": marked("Curves of a training run"), "schedule": marked("Learning rate")}
FOLDER = address.RUN_FOLDER  # the name of an offered folder
UPDATE_SECONDS = 3  # seconds between two updates of a run in progress


def page() -> None:
    """Select a run and show it; update it while it is in progress."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        view = setting_segments(address.TRAINING_VIEW, tr("View"), hide_label=True)
        selected = path_box(
            tr("Folder of a run"),
            FOLDER,
            model_paths.listed_paths(suffixes=()),
            tr("the shipped checkpoint's run"),
            tr("A folder on this machine, as given to `python -m train fit --run`."),
        )
        way_to("table_3", tr("Table 3"))
    link_note(FOLDER)
    try:
        place = model_paths.openable_path(selected) if selected else None
        folder = run_box(place)
        in_progress = folder is not None and run_records.run_in(folder).is_in_progress
        part(show_run, run_every=UPDATE_SECONDS if in_progress else None)(view, folder, in_progress)
    except ToldError as error:
        st.error(plain(str(error)))


def run_box(place: Path | None) -> Path | None:
    """Select one of the runs in the folder that was typed; None for the shipped one.

    The address has its name, unless the path was typed.
    """
    if place is None:
        return None
    found = run_records.runs_in(place)
    if len(found) < 2:
        return found[0] if found else place
    names = {path.name: path for path in found}
    if not is_typed():
        return names[setting_menu(address.RUN, tr("Run"), list(names), width=320)]
    return names[st.selectbox(tr("Run"), list(names), key=address.RUN.key, width=320)]


def is_typed() -> bool:
    """Whether the path of the run was typed: then nothing that is named after it is in the address."""
    return model_paths.may_type_path() and bool(FOLDER.value)


def heading(view: str, run: run_records.Run) -> None:
    """Draw the title of a view; of the curves, what the run reached."""
    about = " ".join(tr(HOW_TO_READ[view]).split())
    if view == CURVES and (answer := training_log.run_answer(run.lines)):
        show_answer(answer, about)
        return
    text = tr("**{name}**: {text}", name=tr(view), text=tr(TEXTS[view]))
    st.markdown(text, help=about)


def show_run(view: str, folder: Path | None, in_progress: bool) -> None:
    """Read a run and show it; repeated every few seconds while it is in progress."""
    try:
        run = run_records.run_in(folder) if folder else run_records.shipped_run(readings.model())
        heading(view, run)
        if folder:
            st.caption(status(run))
            if in_progress and not run.is_in_progress:
                st.rerun()  # without `run_every`
        elif readings.model().name != run.name:
            note = tr(
                "{model} has no records of its run: these are those of {run}, the shipped checkpoint.",
                model=readings.model().name,
                run=run.name,
            )
            st.caption(plain(note))
        if view != CARD and (note := run_records.start_note(facts_of(run), run.step)):
            st.caption(plain(note))
        if view == CURVES:
            curves(run)
        elif view == RATE:
            rate(run)
        elif view == SAMPLES:
            samples(run)
        else:
            card(run)
    except ToldError as error:
        st.error(plain(str(error)))


def status(run: run_records.Run) -> str:
    """Say at which step the run is, and whether it is in progress."""
    name, step, now = run.name, tr("step {step:,}", step=run.step), tr("not in progress")
    if "preset" in run.facts:
        name = tr("{run}, preset {preset}", run=run.name, preset=shortened(str(run.facts["preset"])))
    if run.last_step:
        step = tr("step {step:,} of {last:,}", step=run.step, last=run.last_step)
    if run.is_in_progress:
        now = tr("in progress, written {age:.0f} s ago; updated every {pause} s", age=run.age, pause=UPDATE_SECONDS)
    return plain(tr("{run}: {step}, {now}", run=name, step=step, now=now))


def facts_of(run: run_records.Run) -> dict[str, Any]:
    """Return the settings of a run; those of the shipped run are in the metadata of its checkpoint."""
    model = readings.model()
    is_of_run = model.explanation is None and model.name == run.name
    return run.facts or run_records.checked_facts(model.translator.training if is_of_run else {}, model.name)


def has_log(run: run_records.Run) -> bool:
    """Return whether the run has a log; if not, say so on the page."""
    if run.lines:
        return True
    if run.age == float("inf"):
        st.info(
            tr(
                "{run} has no log. `python -m train card CHECKPOINT --log RUN/log.jsonl` writes one; or enter the "
                "folder of a run above.",
                run=plain(run.name),
            )
        )
    else:
        st.info(tr("The run has not logged anything yet; its first line comes after 25 steps."))
    return False


def curves(run: run_records.Run) -> None:
    """Draw one quantity of the run over the steps."""
    if not has_log(run):
        return
    measures = [name for name in training_log.MEASURES if training_log.log_curves(run.lines, name).curves]
    if not measures:
        st.info(tr("The log has no numbers yet."))
        return
    names = {"nll": tr("Loss"), "perplexity": tr("Perplexity"), "tokens_per_second": tr("Speed"), "rate": tr("Rate")}
    options = {measure: names[measure] for measure in measures}
    measure = setting_segments(address.TRAINING_MEASURE, tr("Measure"), options, hide_label=True)
    picture(training_log.log_curves(run.lines, measure), f"curves_{measure}")
    with_table(f"curves_{measure}", Call("table", training_log.log_columns, (log_call(run),)), "training")


def rate(run: run_records.Run) -> None:
    """Draw the learning rate schedule, with sliders for its parameters."""
    facts = facts_of(run)
    recipe, lines = facts.get("recipe", {}), run_records.last_run(facts, run.lines)
    model = readings.model()
    shown = PRESETS["base"] if model.explanation is not None else model.translator.model.config
    d_model: int = facts.get("config", {}).get("d_model", shown.d_model)
    mine, steps = training_log.run_schedule(recipe, d_model, lines)
    columns = st.columns(4, gap="medium", vertical_alignment="bottom")
    more = columns[3].popover(tr("More"))
    steps = min(max(100, steps), 1_000_000)
    last_step = schedule_box(
        columns[0].number_input, tr("Steps"), 100, 1_000_000, first=steps, key=f"steps_{run.name}", step=100
    )
    widths = sorted({64, 128, 256, 512, 768, 1024, d_model})
    key = f"constant_{run.name}"
    is_constant = schedule_box(
        more.toggle, tr("Constant after the warm-up"), first=mine.schedule == "constant", key=key
    )
    schedule = training_log.Schedule(
        d_model=schedule_box(columns[1].select_slider, "d_model", widths, first=d_model, key=f"d_model_{run.name}"),
        warmup=slider(columns[2], marked("Warm-up"), 1, 10_000, mine.warmup, 1, run),
        rate_scale=slider(more, marked("Scale"), 0.01, 4.0, float(mine.rate_scale), 0.001, run),
        cooldown=slider(more, marked("Cooldown"), 0, 10_000, mine.cooldown, 1, run),
        schedule="constant" if is_constant else "inverse_sqrt",
    )
    picture(training_log.schedule_curves(schedule, int(last_step), lines), "schedule")
    call = Call("table", training_log.schedule_columns, (schedule, int(last_step)))
    with_table("schedule", call, "schedule")


def slider(column: DeltaGenerator, name: str, least: T, most: T, first: T, step: T, run: run_records.Run) -> T:
    """Draw a slider for a parameter of a run's schedule."""
    key = f"{name.lower().replace('-', '')}_{run.name}"
    first = max(least, min(most, first))
    return schedule_box(column.slider, tr(name), least, most, first=first, key=key, step=step, format="localized")


def schedule_box(widget: Callable[..., T], label: str, *limits: Any, first: T, key: str, **options: Any) -> T:
    """Draw a setting of a run's schedule; it is in the address, unless the run's path was typed."""
    if is_typed():
        return widget(label, *limits, value=first, key=f"rate_{key}", **options)
    return address.rate(key, first).draw(widget, label, *limits, default=first, **options)


def samples(run: run_records.Run) -> None:
    """Draw a sentence and its translations at different steps."""
    if not has_log(run):
        return
    lines = of_kind(run.lines, "sample")
    sentences = list(dict.fromkeys(line["source"] for line in lines))
    if not sentences:
        st.info(tr("There are no samples yet; the first validation writes some."))
        return
    sentence = setting_menu(address.SAMPLE, tr("Sentence"), sentences)
    mine = [line for line in lines if line["source"] == sentence]
    st.caption(tr("Reference: {text}", text=plain(mine[-1]["reference"])))
    rows = [(localized(line["step"], ","), plain(line["translation"])) for line in mine]
    st.table(pd.DataFrame(rows, columns=[tr("Step"), tr("Translation")]), hide_index=True, border="horizontal")
    frame = Call("frame", pd.DataFrame, (Call("samples", of_kind, (log_call(run), "sample")),))
    downloads("samples", call=frame.then("drop", columns="kind"))


def log_call(run: run_records.Run) -> Call:
    """Return the call that reads the log of a run."""
    return Call("lines", read_log, (python_code.given_path("path", run.log),)).returning(run.lines)


def card(run: run_records.Run) -> None:
    """Draw the model card, without its pictures."""
    if text := run_records.card_text(run):
        with st.container(border=True):
            st.markdown(text)
    else:
        st.info(tr("{run} has no card; `python -m train card CHECKPOINT` writes one.", run=plain(run.name)))


def with_table(chart: str, call: Call, name: str) -> None:
    """Draw the numbers behind a chart, given by its key, which are the result of a call, and offer both as files."""
    table: Columns = call.run()
    with st.expander(tr("Numbers")):
        show_table(table, height=420)
    downloads(name, chart, call.returning(table), title=tr(SLIDE_TITLES[name]), of_sentence=False)


page()
