"""One step of training: the sentence and its translation as a training pair, in numbers."""

import streamlit as st

from core.analysis.declaration import FIRST
from core.analysis.recorded_call import Call
from core.analysis.training_step.step_numbers import TrainingStep
from core.analysis.training_step.training_step import TrainingStepOptions, training_step
from core.analysis.training_step.weight_gradient import trained_parameters
from viz_app.controls.check_badge import check_badge
from viz_app.controls.downloads import downloads
from viz_app.controls.predicted_token import numbered, token_box
from viz_app.controls.widgets import setting_menu, show_answer
from viz_app.language import marked, tr
from viz_app.session.address import REFERENCE, REFERENCE_TOKEN, SCHEDULE_STEP, TRAINED_WEIGHT, WEIGHT_INDEX
from viz_app.session.python_code import RecordedPass, with_result
from viz_app.session.readings import Reading, reading_part
from viz_app.session.state import refusals_shown, session_object
from viz_app.session.step_place import TrainingPlace
from viz_app.views.steps.figures.step_views import step_named
from viz_app.views.steps.step_walk import step_walk
from viz_app.views.steps.training_step.figures.training_views import training_views

HOW_TO_READ = marked("""
What training does with one sentence and its translation, or with a reference that you type: what goes in and what is to
come out, the loss of each token, and the step that the loss makes one weight take. Go on with the arrow keys or the
list.

The selected token is the one whose label is shown. Without a weight of your own, the one that is followed is the entry
of this token in the output matrix that has the largest gradient. The number of the step decides the learning rate.

The step is computed on a copy of the model, without dropout. A training takes it for thousands of tokens at once: what
one sentence does to a trained model says **how** it learns, not what it has learned.
""")
ABOUT_BADGE = marked(
    "Everything is computed in float64. The products of all uses must sum to the gradient that backpropagation finds; "
    "the slope of the loss when the weight alone is moved a little must be the same; and the log-probabilities must be "
    "those of the model itself, to the rounding of float32."
)
ABOUT_WEIGHT = marked(
    "Any parameter of the model, by its name in Python. The biases of the keys are not trained: they change nothing."
)
ABOUT_INDEX = marked("Row and column, counted from 0; empty for the largest gradient.")
LAST_STEP = 1_000_000


@reading_part
def page(reading: Reading) -> None:
    """Draw everything below the sentence; a click in it runs only this part again."""
    place = session_object(TrainingPlace)
    place.restore()
    reference = reference_box(reading)
    with refusals_shown():
        recorded = step_call(reading, reference, option_boxes(reading, reference))
    found: TrainingStep = recorded.known
    weight, views = found.weight, training_views(found, reading.model.translator.config.d_model)
    view = step_named(views, place.step)
    place.write(view is views[0])
    title = tr("Step {step}: {weight}", step=found.step, weight=weight.place)
    show_answer(found.answer(FIRST), tr(HOW_TO_READ))
    step_walk(views, tr("Steps of a training"), title, place, "training_walk")
    text = tr(
        "gradient {gradient:.4g}, sum of the uses {total:.4g}, slope {slope:.4g}; log-probabilities differ by "
        "{gap:.1g}",
        gradient=weight.gradient,
        total=weight.total,
        slope=weight.slope,
        gap=found.gap,
    )
    check_badge(tr("the gradient is right"), is_right(found), tr(ABOUT_BADGE), text)
    downloads(
        f"training-{view.name}", "training_walk", recorded.then("table", view.part), title=f"{view.title}, {title}"
    )


@with_result(max_entries=24)
def step_call(about: Reading, reference: str, options: TrainingStepOptions) -> Call:
    """Return the call that computes the step.

    Raises:
        ValueError: as `training_step`.
    """
    target = reference or about.hypothesis.token_ids
    arguments = RecordedPass(about.model, about.translation.source, target).arguments
    return Call("step", training_step, (*arguments, options))


def reference_box(about: Reading) -> str:
    """Return another translation that the visitor types to train on; "" for the one that is shown."""
    help = tr("Another translation to train on, instead of the one that is shown above.")
    placeholder = about.hypothesis.text
    return REFERENCE.draw(st.text_input, tr("Reference"), placeholder=placeholder, help=help).strip()


def option_boxes(about: Reading, reference: str) -> TrainingStepOptions:
    """Select the token, the step and the weight.

    Raises:
        ValueError: the model cannot read the reference.
    """
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        token = _reference_token(about, reference) if reference else token_box(about)
        step = SCHEDULE_STEP.draw(st.number_input, tr("Number of the step"), 1, LAST_STEP, width=130)
        return TrainingStepOptions(token=token, step=step, weight=_weight_boxes(about))


def _reference_token(about: Reading, reference: str) -> int:
    """Select a token of a typed reference."""
    translator = about.model.translator
    ids = translator.token_ids(about.translation.source, reference)
    names = numbered(translator.codec.pieces(ids.predicted))
    return setting_menu(REFERENCE_TOKEN, tr("Predicted token"), names, width=200)


def _weight_boxes(about: Reading) -> str:
    """Select a weight by its parameter and index; "" for that of the selected token."""
    own = {name: name for name in trained_parameters(about.model.translator.model)}
    names = {"": tr("of the token, in the output matrix"), **own}
    name = setting_menu(TRAINED_WEIGHT, tr("Weight"), names, width=340, help=tr(ABOUT_WEIGHT))
    if not name:
        return ""
    index = WEIGHT_INDEX.draw(
        st.text_input, tr("Index"), placeholder=tr("largest gradient"), width=150, help=tr(ABOUT_INDEX)
    ).strip(" []")
    return f"{name}[{index}]" if index else name


def is_right(found: TrainingStep) -> bool:
    """Whether the slope agrees with the gradient; a sum or log-probabilities that disagree are refused before."""
    weight = found.weight
    return abs(weight.slope - weight.gradient) < 1e-2 * max(abs(weight.gradient), 1e-6)


page()
