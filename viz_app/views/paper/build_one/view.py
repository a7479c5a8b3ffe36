"""Build one: the paper's Transformer trained on a small task, whole or with a part changed, while one watches."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Literal

import streamlit as st

from core.analysis.heads.head import Head
from core.analysis.pictures import Curve, Curves
from core.capture import KINDS, Kind
from core.lab import measured
from core.lab.comparison import COUNTED
from core.lab.tasks import MAX_LINES, MIN_SOURCES, Unit, own_task
from core.lab.variants import VARIANTS, Settings
from viz_app.components.attention_map import attention_map
from viz_app.components.head_grid import grid_payload, head_grid
from viz_app.components.picture import picture
from viz_app.controls.downloads import downloads
from viz_app.controls.job_control import job_control
from viz_app.controls.lines_form import MAX_BYTES
from viz_app.controls.widgets import page_theme, setting_segments
from viz_app.drawing.display_text import isolated, plain, sentence_case
from viz_app.drawing.head_names import KIND_NAMES, LayerHead, head_title
from viz_app.language import joined, localized, marked, tr, tr_lower, tr_values
from viz_app.session import address
from viz_app.session.environment import LAB_VARIABLE, has_lab
from viz_app.session.fields import Field
from viz_app.session.state import kept, session_object
from viz_app.session.uploaded_text import decoded
from viz_app.views.paper.build_one.lab_run import ANSWERED, STEPS, Choice, LabRun, LabSlot

PAPER, OWN = "paper", "own"  # in place of a variant, and of a task of `core.lab`
WHOLE = marked("The paper's parts")
ROW = 50  # pixels of the maps of a layer
MOST_POINTS, MOST_DOTS = 300, 50  # of a curve, and of one whose points are marked
SIZES = {
    "two": {},
    "one": {"num_layers": 1},
    "six": {"num_layers": 6, "warmup": 400},  # see ABOUT_SIZE
    "paper": {"d_model": 64, "d_ff": 256, "num_heads": 4},  # as `paper.train`
    "wide": {"d_model": 256, "num_heads": 1},
}
TASKS = {
    "reverse": marked("Reverse digits"),
    "copy": marked("Copy digits"),
    "sort": marked("Sort digits"),
    "dates": marked("Dates in words to digits"),
    OWN: marked("Your own pairs"),
}
ABOUT_SIZE = marked(
    "N layers in encoder and decoder each, of width d_model, with h heads. Six layers have a warm-up of {slow} steps: "
    "with {usual}, as the others have, they learn nothing in the paper's order."
)
EXAMPLE = "one two\ttwo one"
UNITS = {"words": marked("Words"), "characters": marked("Characters")}
HOW_TO_READ = marked("""
Both models are trained by the loop of `core/paper.py`, from one seed and on the same batches; only the part that is
named differs. The **loss** is that of the batch, with dropout and smoothed labels unless these are changed, so that it
does not reach 0. **Exact answers** are those of greedy search to sources that training never sees. The maps are of the
model with the change, which is fed the right answer to the first source; a click enlarges a head.
""")
NOT_MEANT = marked(
    "One seed and a small task: what is not needed here may be needed at the paper's size. A low loss is no proof."
)


def own_pairs() -> tuple[str, Unit] | None:
    """Take the visitor's own pairs; None, with the reason on the page, without any that can be trained on."""
    unit: Unit = setting_segments(address.LAB_UNIT, tr("Tokens"), tr_values(UNITS))
    about = tr(
        "A line each: source, tab, target. {least} different sources or more, {most:,} lines at most. A tenth is kept "
        "to count exact answers. The pairs stay in the memory of the app; a link does not have them.",
        least=MIN_SOURCES,
        most=MAX_LINES,
    )
    text = st.text_area(tr(TASKS[OWN]), key="lab_own", placeholder=EXAMPLE, help=about, persist_state="session")
    file = st.file_uploader(tr("Or a text file"), key="lab_pairs", max_upload_size=MAX_BYTES // 2**20)
    if file is None and not text.strip():
        st.caption(about)
        return None
    try:
        text = decoded(file.name, file.getvalue(), MAX_BYTES) if file else text
        kept("lab_own_task", (text, unit), lambda: own_task(text, unit))
    except ValueError as error:
        st.error(sentence_case(str(error)))
        return None
    return text, unit


def chosen() -> Choice | None:
    """Select what is trained; None if there are no pairs yet."""

    def box(setting: Field[str], label: str, names: Mapping[str, str], width: int, about: str | None = None) -> str:
        form = names.__getitem__
        return setting.draw(st.selectbox, label, list(names), format_func=form, width=width, help=about)

    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        task = box(address.LAB_TASK, tr("Task"), tr_values(TASKS), 250)
        sizes = {name: Settings(**size) for name, size in SIZES.items()}
        names = {name: f"N = {s.num_layers}, d_model = {s.d_model}, h = {s.num_heads}" for name, s in sizes.items()}
        warmups = {"slow": sizes["six"].warmup, "usual": Settings().warmup}
        size = sizes[box(address.LAB_SIZE, tr("Model size"), names, 330, tr(ABOUT_SIZE, **warmups))]
        parts = {PAPER: tr("nothing: the paper's parts")} | {
            name: tr(each.title)
            for name, each in VARIANTS.items()
            if each.parts or replace(size, **each.settings) != size
        }
        part = box(address.LAB_PART, tr("Changed"), parts, 360, tr(HOW_TO_READ))
        steps = address.LAB_STEPS.draw(st.selectbox, tr("Steps"), STEPS, format_func=localized, width=170)
        seed = address.LAB_SEED.draw(st.number_input, tr("Seed"), 0, 999_999)
    own = own_pairs() if task == OWN else None
    if task == OWN and own is None:
        return None
    return Choice(task, own, replace(size, seed=seed), "" if part == PAPER else part, steps)


def about(choice: Choice) -> None:
    """Say what the paper says of the part, what follows without it, and what was seen."""
    if not (variant := VARIANTS.get(choice.variant)):
        st.caption(tr("The parts of core/paper.py, as the paper has them: change one to see what it is for."))
        return
    rows = (measured.row_name(choice.task, names, choice.settings) for names in ([], [variant.name]))
    found = [measured.recorded()[row] for row in rows if row in measured.recorded()]
    seen = tr("not measured for this task and size.")
    if len(found) == 2:
        seen = tr(
            "{median:.0%} exact answers after {steps} steps ({least:.0%} to {greatest:.0%}; seeds: {seeds}), "
            "{whole:.0%} with the paper's parts.",
            whole=found[0].exact[-1].median,
            steps=measured.STEPS[-1],
            seeds=found[1].seeds,
            **found[1].exact[-1]._asdict(),
        )
    text = marked("**The paper** ({section}): {says} **Predicted**: {predicted} **Seen**: {seen}")
    says, predicted = tr(variant.says), tr(variant.predicted)
    st.markdown(tr(text, section=variant.section, says=says, predicted=predicted, seen=seen))


def page() -> None:
    """Draw the choices, what is known of them, and the training."""
    if not has_lab():
        st.info(tr("This app trains no models: it was started with {variable}=off.", variable=LAB_VARIABLE))
        return
    if (choice := chosen()) is None:
        return
    if choice.variant:
        about(choice)
    slot = session_object(LabSlot)
    run = slot.of(choice, lambda: LabRun(choice))

    def beside() -> None:
        if not run.job.running and st.button(tr("One step"), key="lab_step"):
            run.job.advance(0)
            st.rerun()
        if run.job.done and st.button(tr("Stop"), on_click=slot.close, key="lab_stop"):
            st.rerun()

    job_control(run.job, "lab", marked("Start"), partial(result, run), marked("Pause"), beside)
    if not choice.variant:
        about(choice)  # an invitation


def result(run: LabRun) -> None:
    """Draw what the models have learned so far."""
    titles = [each.variants[0].title if each.variants else WHOLE for each in run.trainings]
    names, lower = [*map(tr, titles)], [*map(tr_lower, titles)]
    if run.counted:
        shares = [tr("{name} {share:.0%}", name=name, share=of[-1]) for name, of in zip(lower, run.exact, strict=True)]
        found = {"step": run.counted[-1], "count": len(run.task.unseen[:COUNTED]), "texts": joined(shares)}
        st.markdown(tr("**Exact answers after {step} steps** to {count} unseen sources: {texts}", **found))
    with st.container(key="side-by-side"):
        left, right = st.columns(2, gap="large")
        with left:
            curves(run, "loss", tr("loss, in nats"), names)
            st.caption(tr("Answers to unseen sources after {step} steps", step=run.looked))
            st.markdown(answers_table(run, names))
            if variant := VARIANTS.get(run.choice.variant):
                place = st.expander(tr("The code that differs")) if run.looked else st.container()
                place.code(variant.diff(run.choice.settings), language=None, wrap_lines=True)
        with right:
            st.caption(tr("All heads: {name}", name=lower[-1]))
            heads(run)
            curves(run, "exact", tr("exact answers"), names)
    st.caption(tr(NOT_MEANT))
    if run.job.done and not run.job.running:
        opening(run, names[-1])


def curves(run: LabRun, key: Literal["loss", "exact"], axis: str, names: Sequence[str]) -> None:
    """Draw the losses, or the shares of exact answers, of all trainings."""
    steps, *values = run.table(key).values()
    if not steps:
        return
    apart = 1 + len(steps) // MOST_POINTS
    scale, most = ("share", 1) if key == "exact" else ("linear", None)
    shape = "both" if len(steps) < MOST_DOTS else "line"
    lines = [
        Curve(name=name, places=steps[::apart], values=own[::apart], color=color, shape=shape)
        for color, (name, own) in enumerate(zip(names, values, strict=True))
    ]
    drawn = Curves(title=axis, axis=axis, below=tr("step"), curves=lines, limits=(0, most), scale=scale)
    picture(drawn, f"lab_{key}")
    if not run.job.running:
        downloads(f"build-one-{key}", f"lab_{key}", title=axis, of_sentence=False, call=lambda: run.call(key))


def heads(run: LabRun) -> None:
    """Draw all heads, and the selected one large; a click selects a head."""

    def exists(head: Head) -> bool:
        return head.layer < len(run.maps[head.kind]) and head.head < run.maps[head.kind][head.layer].num_heads

    chosen, theme = address.LAB_HEAD.selected(possible=exists), page_theme()
    for column, kind in zip(st.columns(len(KINDS)), KINDS, strict=True):
        with column:
            st.caption(tr(KIND_NAMES[kind]) if run.maps[kind] else f"{tr(KIND_NAMES[kind])}: \u2013")

            def click(place: LayerHead, kind: Kind = kind) -> None:
                address.LAB_HEAD.set(Head(kind, *place))

            if maps := run.maps[kind]:
                selected = [chosen[1:]] if chosen and chosen.kind == kind else []
                head_grid(grid_payload(maps, theme, selected, ROW), maps, click, f"lab_{kind}")
    if chosen:
        st.caption(head_title(chosen))
        attention_map(run.maps[chosen.kind][chosen.layer], chosen.head, theme, key="lab_map")


def answers_table(run: LabRun, names: Sequence[str]) -> str:
    """Return sources, right answers, and those of the trainings, marked right or wrong, in Markdown."""
    rows = [[tr("Source"), tr("Right answer"), *map(plain, names)], ["---"] * (2 + len(names))]
    for source, target, *answers in zip(*zip(*run.task.unseen[:ANSWERED], strict=True), *run.answers, strict=True):
        marks = ["\u2713" if answer == target else "\u2717" for answer in answers]
        texts = [isolated(plain(text)) for text in (source, target, *(answer or "\u2013" for answer in answers))]
        rows.append([*texts[:2], *map("\u00a0".join, zip(marks, texts[2:], strict=True))])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def opening(run: LabRun, name: str) -> None:
    """Offer the model to all pages and as a file, or say why it only lives here."""
    if (variant := VARIANTS.get(run.choice.variant)) and not variant.is_paper_model:
        text = marked(
            "**{name}**: all other views compute the paper's model, and are closed to this one, as they would show "
            "another. Its maps, answers and loss are here."
        )
        st.caption(tr(text, name=name))
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        st.button(tr("Open it in all views"), on_click=run.open, key="lab_open")
        st.download_button(tr("Checkpoint"), run.checkpoint, run.file, on_click="ignore", key="lab_file")
    if run.refused:
        st.error(sentence_case(run.refused))


page()
