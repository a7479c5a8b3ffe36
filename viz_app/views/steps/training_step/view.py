"""One step of training: the sentence and its translation as a training pair, in numbers."""

from core.analysis.declaration import FIRST
from core.analysis.training_step.step_numbers import TrainingStep
from viz_app.controls.check_badge import check_badge
from viz_app.controls.downloads import downloads
from viz_app.controls.widgets import show_answer
from viz_app.language import marked, tr
from viz_app.session.readings import Reading, reading_part
from viz_app.session.state import refusals_shown, session_object
from viz_app.session.step_place import TrainingPlace
from viz_app.views.steps.figures.step_views import step_named
from viz_app.views.steps.step_walk import step_walk
from viz_app.views.steps.training_step.figures.training_views import training_views
from viz_app.views.steps.training_step.training_pair import is_right, option_boxes, reference_box, step_call

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


page()
