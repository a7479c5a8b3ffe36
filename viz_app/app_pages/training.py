"""Training: how the weights came to be: curves, the learning rate, samples, the card, Table 3; it follows a run in
progress.
"""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from core.runlog import of_kind
from viz_app.controls.downloads import downloads
from viz_app.controls.tables import show_table
from viz_app.features.training import run_records
from viz_app.figures import training_curves
from viz_app.figures.display_text import plain
from viz_app.figures.export.plotly_chart import export_chart
from viz_app.figures.plotly_chart import CHART_CONFIG
from viz_app.figures.theme import theme_named
from viz_app.session import readings

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

T = TypeVar("T", int, float)
CURVES, RATE, SAMPLES, CARD, TABLE_3 = VIEWS = ("Curves", "Learning rate", "Samples", "Card", "Table 3")
TEXTS = {
    CURVES: "what the run measured of itself, step by step.",
    RATE: "the rate of these settings beside that of the paper's base model.",
    SAMPLES: "one sentence as the model translated it at different steps.",
    CARD: "what the checkpoint is, what it was trained on, and what it is bad at.",
    TABLE_3: "rows of the paper's Table 3, trained under one budget, beside the paper's numbers.",
}
HOW_TO_READ = {
    CURVES: """The **negative log-likelihood** is that of the plain likelihood, without label smoothing; perplexity
        is its exponential. Training's is measured with dropout, validation's without, so training can lie above. A
        token is a sub-word: values of models with other vocabularies cannot be compared.""",
    RATE: """Section 5.3: the rate rises in a line for the warm-up, then falls with the root of the step; a wider
        model gets a smaller one. Scale multiplies it. A cooldown, which the paper does not have, lets it fall in a
        line towards 0 at the end. Crosses are what the run logged.""",
    SAMPLES: """Greedy translations of sentences from the validation set, which the model is not trained on. They
        are no measure, but show what it has learned when.""",
    CARD: "Written by `python -m train card` from what the checkpoint knows of itself.",
    TABLE_3: """Perplexity is per sub-word and comparable between the rows only; the paper's data, vocabulary and
        budget are others, so compare how the rows differ from base, not their values. One run a row: small
        differences may be chance.""",
}
EVERY = 3  # seconds between two looks at a run in progress


def page() -> None:
    """Ask which run, and show it; follow it if it goes on."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        view: str = st.segmented_control(
            "View",
            VIEWS,
            default=CURVES,
            required=True,
            key="training_view",
            bind="query-params",
            label_visibility="collapsed",
        )
        typed: str = st.text_input(
            "Folder of a run",
            key="run_folder",
            bind="query-params",
            placeholder="the shipped checkpoint's run",
            help="On this machine: what stands after --run of `python -m train fit`, or after -o of `python -m train "
            "table3`.",
            width=320,
        )
    place = Path(typed.strip()).expanduser() if typed and typed.strip() else None
    try:
        if view == TABLE_3:
            heading(view)
            table_3(place or run_records.SHIPPED_TABLE_3, theme_named(st.context.theme.type))
            return
        folder = chosen(place)
        run = run_records.run_in(folder) if folder else run_records.shipped_run()
        going_on = folder is not None and run.is_going_on
        st.fragment(follow, run_every=EVERY if going_on else None)(view, folder, going_on)
    except run_records.RunRecordError as error:
        st.error(plain(str(error)))


def chosen(place: Path | None) -> Path | None:
    """The run in what was typed; of several, the one that is picked."""
    if place is None:
        return None
    found = run_records.runs_in(place)
    if len(found) < 2:
        return found[0] if found else place
    return st.selectbox("Run", found, format_func=lambda path: path.name, key="run", bind="query-params", width=320)


def heading(view: str) -> None:
    """What the picture is, in a line."""
    st.markdown(f"**{view}**: {TEXTS[view]}", help=" ".join(HOW_TO_READ[view].split()))


def follow(view: str, folder: Path | None, followed: bool) -> None:
    """Read the run anew and show it; a run in progress does this every few seconds."""
    theme = theme_named(st.context.theme.type)
    heading(view)
    try:
        run = run_records.run_in(folder) if folder else run_records.shipped_run()
        if folder:
            st.caption(status(run))
            if followed and not run.is_going_on:
                st.rerun()  # the end: nothing more to follow
        elif readings.model().name != run.name:
            st.caption(
                plain(
                    f"{readings.model().name} was uploaded without its run: this is that of {run.name}, the shipped "
                    f"checkpoint."
                )
            )
        if view != CARD and (before := run_records.told_before(known(run))):
            st.caption(plain(before))
        if view == CURVES:
            curves(run, theme)
        elif view == RATE:
            rate(run, theme)
        elif view == SAMPLES:
            samples(run)
        else:
            card(run)
    except run_records.RunRecordError as error:
        st.error(plain(str(error)))


def status(run: run_records.Run) -> str:
    """Where the run is, and whether it goes on."""
    of = f" of {run.last_step:,}" if run.last_step else ""
    preset = f", preset {run.facts['preset']}" if "preset" in run.facts else ""
    now = (
        f"in progress, written {run.age:.0f} s ago; looked at every {EVERY} s" if run.is_going_on else "not in progress"
    )
    return plain(f"{run.name}{preset}: step {run.step:,}{of}, {now}")


def known(run: run_records.Run) -> dict[str, Any]:
    """What a run, or the checkpoint that was shipped without its folder, says of how it was begun."""
    return run.facts or (readings.model().translator.training if readings.model().name == run.name else {})


def has_log(run: run_records.Run) -> bool:
    """Whether there is something to draw; says so where there is not."""
    if run.lines:
        return True
    if run.age == float("inf"):
        st.info(
            f"{plain(run.name)} was shipped without its log. `python -m train card CHECKPOINT --log RUN/log.jsonl` "
            f"puts one beside it; "
            "the folder of a run can be given above."
        )
    else:
        st.info("The run has not written anything yet: its first line comes after 25 steps.")
    return False


def curves(run: run_records.Run, theme: training_curves.Theme) -> None:
    """One number of the run over the steps."""
    if not has_log(run):
        return
    measures = [
        name
        for name in training_curves.MEASURES
        if any(training_curves.values(run.lines, kind, name)[0] for kind in ("train", "valid"))
    ]
    if not measures:
        st.info("The log has no numbers yet.")
        return
    names = {"nll": "Loss", "perplexity": "Perplexity", "tokens_per_second": "Speed", "rate": "Rate"}
    measure: str = st.segmented_control(
        "Number",
        measures,
        default=measures[0],
        required=True,
        format_func=names.__getitem__,
        key="training_measure",
        bind="query-params",
        label_visibility="collapsed",
    )
    figure = training_curves.curves(run.lines, measure, theme)
    st.plotly_chart(
        figure, theme=None, config=CHART_CONFIG, key=f"curves_{measure}", alt=training_curves.MEASURES[measure]
    )
    with_table(figure, theme, training_curves.curves_table(run.lines), "training")


def rate(run: run_records.Run, theme: training_curves.Theme) -> None:
    """The schedule with its knobs."""
    facts = known(run)
    recipe, config = facts.get("recipe", {}), facts.get("config", {})
    d_model: int = config.get("d_model") or readings.model().translator.model.config.d_model
    columns = st.columns(5, gap="medium")
    asked = min(max(100, int(recipe.get("steps", 30_000))), 1_000_000)
    last_step = columns[0].number_input(
        "Steps", 100, 1_000_000, asked, 100, key=f"rate_steps_{run.name}", bind="query-params"
    )
    widths = sorted({64, 128, 256, 512, 768, 1024, d_model})
    knobs = training_curves.Schedule(
        d_model=columns[1].select_slider(
            "d_model", widths, d_model, key=f"rate_d_model_{run.name}", bind="query-params"
        ),
        warmup=knob(columns[2], "Warm-up", 1, 10_000, int(recipe.get("warmup", 4_000)), 1, run),
        rate_scale=knob(columns[3], "Scale", 0.01, 4.0, float(recipe.get("rate_scale", 1.0)), 0.001, run),
        cooldown=knob(columns[4], "Cooldown", 0, 10_000, int(recipe.get("cooldown", 0)), 1, run),
    )
    figure = training_curves.schedule(knobs, int(last_step), theme, run.lines)
    st.plotly_chart(figure, theme=None, config=CHART_CONFIG, key="schedule", alt=TEXTS[RATE])
    with_table(figure, theme, training_curves.schedule_table(knobs, int(last_step)), "schedule")


def knob(column: "DeltaGenerator", name: str, least: T, most: T, first: T, step: T, run: run_records.Run) -> T:
    """A slider of a run's schedule."""
    key = f"rate_{name.lower().replace('-', '')}_{run.name}"
    return column.slider(name, least, most, min(most, first), step, key=key, bind="query-params")


def samples(run: run_records.Run) -> None:
    """A sentence and its translations."""
    if not has_log(run):
        return
    found = of_kind(run.lines, "sample")
    sentences = list(dict.fromkeys(str(line["source"]) for line in found))
    if not sentences:
        st.info("There are no samples yet: the first come with the first validation.")
        return
    sentence = st.selectbox("Sentence", sentences, key="sample", bind="query-params")
    mine = [line for line in found if line["source"] == sentence]
    st.caption(f"Reference: {plain(str(mine[-1].get('reference', '')))}")
    rows = [(f"{line['step']:,}", plain(str(line.get("translation", "")))) for line in mine]
    st.table(pd.DataFrame(rows, columns=["Step", "Translation"]), hide_index=True, border="horizontal")
    downloads("samples", table=lambda: pd.DataFrame(found).drop(columns="kind"))


def card(run: run_records.Run) -> None:
    """The model card, without its pictures."""
    if run.card:
        with st.container(border=True):
            st.markdown(run.card)
    else:
        st.info(f"There is no card of {plain(run.name)}: `python -m train card CHECKPOINT` writes one.")


def table_3(folder: Path, theme: training_curves.Theme) -> None:
    """Rows of Table 3 beside the paper's."""
    table = run_records.table_3(folder)
    if table is None:
        st.info(
            "There are no results of Table 3 here: `python -m train table3 --data FOLDER --budget STEPS -o FOLDER` "
            "makes some; give its folder above."
        )
        return
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        measure: str = st.segmented_control(
            "Measure",
            tuple(training_curves.ROW_MEASURES),
            default="perplexity",
            required=True,
            format_func=training_curves.ROW_MEASURES.__getitem__,
            key="row_measure",
            bind="query-params",
            label_visibility="collapsed",
        )
        has_base = bool((table["row"] == "base").any())
        relative = st.toggle("Difference to base", has_base, disabled=not has_base, key="relative", bind="query-params")
    figure = training_curves.row_dots(table, measure, theme, relative=relative and has_base)
    st.plotly_chart(figure, theme=None, config=CHART_CONFIG, key=f"rows_{measure}_{relative}", alt=TEXTS[TABLE_3])
    with_table(figure, theme, table, "table3", expanded=True)


def with_table(
    figure: go.Figure, theme: training_curves.Theme, table: pd.DataFrame, name: str, expanded: bool = False
) -> None:
    """The numbers behind a picture, and a way to take both along."""
    with st.expander("Numbers", expanded=expanded):
        show_table(table, height=min(420, 40 + 35 * len(table)))
    downloads(name, partial(export_chart, figure, theme=theme), lambda: table)


page()
