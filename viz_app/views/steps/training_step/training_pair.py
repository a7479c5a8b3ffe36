"""The pair that the page One step of training trains on: widgets, and the cached numbers."""

import streamlit as st

from core.analysis.recorded_call import Call
from core.analysis.training_step.step_numbers import TrainingStep
from core.analysis.training_step.training_step import TrainingStepOptions, training_step
from core.analysis.training_step.weight_gradient import trained_parameters
from viz_app.controls.predicted_token import numbered, token_box
from viz_app.controls.widgets import setting_menu
from viz_app.language import marked, tr
from viz_app.session.address import REFERENCE, REFERENCE_TOKEN, SCHEDULE_STEP, TRAINED_WEIGHT, WEIGHT_INDEX
from viz_app.session.python_code import RecordedPass, with_result
from viz_app.session.readings import Reading

ABOUT_WEIGHT = marked(
    "Any parameter of the model, by its name in Python. The biases of the keys are not trained: they change nothing."
)
ABOUT_INDEX = marked("Row and column, counted from 0; empty for the largest gradient.")
LAST_STEP = 1_000_000


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
