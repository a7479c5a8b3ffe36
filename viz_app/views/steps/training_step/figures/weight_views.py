"""Views of the step of one weight: its gradient, and Adam with the numbers put into the formulas."""

import math
from collections.abc import Sequence

import numpy as np

from core.analysis.training_step.step_numbers import TrainingStep
from core.analysis.training_step.weight_gradient import Use
from core.model.schedule import learning_rate
from core.model.training import ADAM_BETAS, WARMUP
from viz_app.language import marked, tr
from viz_app.views.steps.figures.formula import math_number, number_text, power_of_10
from viz_app.views.steps.figures.step_views import Block, NumberColumn, StepHeading, StepView, VectorRow, step_view

STEP = marked("Step of one weight")
STEPS = {
    "gradient": StepHeading(STEP, marked("Gradient"), "5.3", "gradient"),
    "moments": StepHeading(STEP, marked("Moments"), "5.3", "adam"),
    "correction": StepHeading(STEP, marked("Bias correction"), "5.3", "adam"),
    "rate": StepHeading(STEP, marked("Learning rate"), "5.3", "adam"),
    "update": StepHeading(STEP, marked("Step of Adam"), "5.3", "adam"),
}
ROLES = {
    ("embedding", "source"): marked("embedding in the source"),
    ("embedding", "target"): marked("embedding in the translation"),
    ("output", "target"): marked("output matrix"),
    ("layer", "source"): marked("in the source"),
    ("layer", "target"): marked("in the translation"),
}
BARS = 60  # of the curve of the learning rate


def weight_views(found: TrainingStep, d_model: int) -> list[StepView]:
    """Return the steps in their order; the learning rate depends on `d_model`."""
    views = [_gradient_view(found), _moments_view(found), _correction_view(found)]
    return [*views, _rate_view(found, d_model), _update_view(found)]


def _gradient_view(found: TrainingStep) -> StepView:
    weight = found.weight
    errors, power = _scaled([use.error for use in weight.uses])
    products, products_power = _scaled([use.product for use in weight.uses])
    rows = [
        VectorRow(
            label=_token(found, use),
            is_token=True,
            numbers=(error, use.factor, product),
            note=tr(ROLES[use.role, use.side]),
        )
        for use, error, product in zip(weight.uses, errors, products, strict=True)
    ]
    columns = [NumberColumn("\u03b4" + power), NumberColumn("x"), NumberColumn("\u03b4 x" + products_power)]
    roles = {tr(ROLES[use.role, use.side]) for use in weight.uses}
    text = tr(
        "{weight} is {value}. Wherever the model uses it, it multiplies a number x, and backpropagation brings the "
        "derivative \u03b4 of the loss by the output that the product is added to. Its gradient is the sum over all "
        "{count} uses.",
        weight=weight.place,
        value=number_text(weight.value),
        count=len(weight.uses),
    )
    if len(roles) > 1:
        text += " " + tr("One matrix is tied in several places (3.4), and all of them count.")
    facts = [
        (tr("gradient by backpropagation"), number_text(weight.gradient)),
        (tr("slope of the loss, without backpropagation"), number_text(weight.slope)),
    ]
    return step_view(
        STEPS,
        "gradient",
        formula=r"g = \frac{\partial L}{\partial w} = \sum_i \delta_i x_i",
        text=text,
        numbers=[f"g = {math_number(weight.gradient)}"],
        facts=facts,
        blocks=[Block(tr("uses of the weight"), rows, columns=columns)],
    )


def _token(found: TrainingStep, use: Use) -> str:
    return (found.source_tokens if use.side == "source" else found.fed_tokens)[use.position]


def _scaled(values: Sequence[float]) -> tuple[list[float], str]:
    """Return numbers in a unit in which the largest has a digit before the point, and the unit for a title."""
    largest = max(map(abs, values), default=0.0)
    power = 3 * math.floor(math.log10(largest) / 3) if largest else 0
    return [value / 10.0**power for value in values], f" (\u00d7 {power_of_10(power)})" if power else ""


def _moments_view(found: TrainingStep) -> StepView:
    beta1, beta2 = map(math_number, ADAM_BETAS)
    rest1, rest2 = (math_number(1 - beta) for beta in ADAM_BETAS)
    gradient = math_number(found.adam.gradient.item(), in_product=True)
    text = tr(
        "Adam keeps two running means for every weight: of its gradients, and of their squares. Both are 0 here before "
        "the step, as at the beginning of a training: a checkpoint does not keep those of its own."
    )
    return step_view(
        STEPS,
        "moments",
        formula=r"m_1 = \beta_1 m_0 + (1 - \beta_1) g, \, v_1 = \beta_2 v_0 + (1 - \beta_2) g^2",
        text=text,
        numbers=[
            rf"m_1 = {beta1} \cdot 0 + {rest1} \cdot {gradient} = {math_number(found.adam.moment.item())}",
            rf"v_1 = {beta2} \cdot 0 + {rest2} \cdot {gradient}^2 = {math_number(found.adam.square.item())}",
        ],
    )


def _correction_view(found: TrainingStep) -> StepView:
    adam, (beta1, beta2) = found.adam, map(math_number, ADAM_BETAS)
    text = tr(
        "Means that begin at 0 are too small at first; dividing by 1 \u2212 \u03b2 to the power of the number of steps "
        "makes up for it. After this first one they are the gradient and its square again."
    )
    return step_view(
        STEPS,
        "correction",
        formula=r"\hat m_t = \frac{m_t}{1 - \beta_1^t}, \, \hat v_t = \frac{v_t}{1 - \beta_2^t}",
        text=text,
        numbers=[
            rf"\hat m_1 = \frac{{{math_number(adam.moment.item())}}}{{1 - {beta1}^1}} = "
            rf"{math_number(adam.corrected_moment.item())}",
            rf"\hat v_1 = \frac{{{math_number(adam.square.item())}}}{{1 - {beta2}^1}} = "
            rf"{math_number(adam.corrected_square.item())}",
        ],
    )


def _rate_view(found: TrainingStep, d_model: int) -> StepView:
    last = max(2 * WARMUP, found.step)
    steps = [max(1, round(last * bar / (BARS - 1))) for bar in range(BARS)]
    rates, power = _scaled([learning_rate(step, d_model, WARMUP) for step in steps])
    text = tr(
        "The rate rises over the first {warmup} steps and then falls with the root of the step. At step {step} it is "
        "{rate}.",
        warmup=WARMUP,
        step=found.step,
        rate=number_text(found.rate),
    )
    half, more = (rf"^{{\mathrm{{{each}}}}}" for each in (math_number(-0.5), math_number(-1.5)))
    return step_view(
        STEPS,
        "rate",
        formula=r"\mathrm{rate} = d_{\mathrm{model}}^{\mathrm{-0.5}} \cdot "
        r"\min(n^{\mathrm{-0.5}}, n \cdot w^{\mathrm{-1.5}})",
        text=text,
        numbers=[
            rf"\mathrm{{rate}} = {d_model}{half} \cdot \min({found.step}{half}, {found.step} \cdot {WARMUP}{more}) = "
            rf"{math_number(found.rate)}"
        ],
        blocks=[
            Block(
                tr("from step 1 to {last}", last=last),
                [VectorRow(label=tr("rate") + power, values=np.array(rates), as_bars=True)],
                width=BARS,
                names=[tr("step {step}", step=step) for step in steps],
            )
        ],
    )


def _update_view(found: TrainingStep) -> StepView:
    adam, before = found.adam, found.weight.value
    after = before + adam.change.item()
    text = tr(
        "The weight goes from {before} to {after}. In a first step the fraction is 1 or \u22121, so every weight moves "
        "by the learning rate, however small its gradient is.",
        before=number_text(before, 6),
        after=number_text(after, 6),
    )
    numbers = (
        rf"w = {math_number(before, 6)} - {math_number(found.rate)} \cdot "
        rf"\frac{{{math_number(adam.corrected_moment.item())}}}"
        rf"{{\sqrt{{{math_number(adam.corrected_square.item())}}} + 10^{{\mathrm{{-9}}}}}} = {math_number(after, 6)}"
    )
    return step_view(
        STEPS,
        "update",
        formula=r"w \leftarrow w - \mathrm{rate} \cdot \frac{\hat m_1}{\sqrt{\hat v_1} + \epsilon}",
        text=text,
        numbers=[numbers],
        facts=[(tr("change"), number_text(adam.change.item()))],
    )
