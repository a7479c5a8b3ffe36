"""Views of one step of training: the pair, its loss, the step of one weight, and the sentence before and after."""

import math

from core.analysis.tokens.words import readable
from core.analysis.training_step.step_numbers import TrainingStep, smoothed_label
from core.model.training import LABEL_SMOOTHING
from viz_app.drawing.display_text import decimal
from viz_app.language import localized, marked, tr
from viz_app.views.steps.figures.formula import math_number, number_text
from viz_app.views.steps.figures.step_views import (
    Block,
    NumberColumn,
    StepHeading,
    StepView,
    VectorRow,
    mask_block,
    step_view,
    token_rows,
)
from viz_app.views.steps.training_step.figures.weight_views import weight_views

PAIR, LOSS, RESULT = marked("Training pair"), marked("Loss"), marked("Result")
STEPS = {
    "shifted": StepHeading(PAIR, marked("Shifted right"), "3.1", "tokens"),
    "mask": StepHeading(PAIR, marked("Look-ahead mask"), "3.2.3", "mask"),
    "label": StepHeading(LOSS, marked("Smoothed label"), "5.4", "label"),
    "loss": StepHeading(LOSS, marked("Loss per token"), "5.4", "tokens"),
    "result": StepHeading(RESULT, marked("Before and after"), "5.3", "tokens"),
}
PROBABILITY = NumberColumn(marked("probability"), "share")


def training_views(found: TrainingStep, d_model: int) -> list[StepView]:
    """Return the steps in their order; the learning rate depends on `d_model`."""
    before = [_shifted_view(found), _mask_view(found), _label_view(found), _loss_view(found)]
    return [*before, *weight_views(found, d_model), _result_view(found)]


def _shifted_view(found: TrainingStep) -> StepView:
    position, forced = found.position, found.num_forced
    rows = [
        VectorRow(
            label=fed,
            is_token=True,
            numbers=(math.exp(log_prob) if row >= forced else 1.0,),
            note=tr("is to predict {token}", token=readable(label)),
            is_marked=row == position,
        )
        for row, (fed, label, log_prob) in enumerate(
            zip(found.fed_tokens, found.predicted_tokens, found.log_probs, strict=True)
        )
    ]
    text = tr(
        "The translation goes into the decoder moved by one position: after {fed} it is to predict {label}. What goes "
        "in are the tokens of this translation, whatever the model would have written (teacher forcing), so all "
        "positions learn at once.",
        fed=readable(found.fed_tokens[position]),
        label=readable(found.predicted_tokens[position]),
    )
    title = tr("what goes in, how probable the next token is, and what that is")
    blocks = [Block(title, rows, columns=[PROBABILITY])]
    return step_view(STEPS, "shifted", formula=r"x_t = y_{t - 1}", text=text, blocks=blocks)


def _mask_view(found: TrainingStep) -> StepView:
    text = tr(
        "Each position sees itself and those before it. Without the mask it would see the token that it is to predict, "
        "which goes in one position later."
    )
    return step_view(
        STEPS,
        "mask",
        formula=r"s_j = -\infty \, (j > t)",
        text=text,
        blocks=[mask_block(found.fed_tokens, found.fed_tokens, found.mask, found.position)],
    )


def _label_view(found: TrainingStep) -> StepView:
    label, size = found.label, len(found.label.tokens) + found.label.others
    numbers = [(q, p, p - q) for q, p in zip(label.labels, label.probabilities, strict=True)]
    rows = token_rows(label.tokens, numbers, 0)
    if label.others:
        q, p = label.others * smoothed_label(False, size), label.other_probability
        name = tr("{count} others", count=label.others)
        rows.append(VectorRow(label=name, numbers=(q, p, p - q)))
    columns = [
        NumberColumn(marked("label q"), "share", digits=5),
        NumberColumn(marked("model p"), "share", digits=5),
        NumberColumn(marked("error p \u2212 q"), digits=5),
    ]
    share = math_number(LABEL_SMOOTHING)
    text = tr(
        "After {fed}, {label} is to have a probability of {own}: {share} is spread evenly over all {size} tokens, "
        "itself included, so that the model never becomes too sure. The error p \u2212 q is the derivative of the "
        "token's loss by each logit.",
        fed=readable(found.fed_tokens[found.position]),
        label=readable(label.tokens[0]),
        own=decimal(label.labels[0], 5),
        share=decimal(LABEL_SMOOTHING, 1),
        size=size,
    )
    return step_view(
        STEPS,
        "label",
        formula=r"q(y_t) = 1 - \epsilon + \frac{\epsilon}{V}, \, q(v) = \frac{\epsilon}{V}",
        text=text,
        numbers=[
            rf"q(y_t) = 1 - {share} + \frac{{{share}}}{{{size}}} = {math_number(label.labels[0], 5)}, \, "
            rf"q(v) = \frac{{{share}}}{{{size}}} = {math_number(smoothed_label(False, size))}"
        ],
        blocks=[Block(tr("label and prediction of the most probable tokens"), rows, columns=columns)],
    )


def _loss_view(found: TrainingStep) -> StepView:
    columns = [
        NumberColumn("\u2212log p", "positive"),
        NumberColumn(marked("mean \u2212log p"), "positive"),
        NumberColumn(marked("loss"), "positive"),
    ]
    numbers = list(zip(found.label_nll, found.uniform_nll, found.losses, strict=True))
    rows = token_rows(found.predicted_tokens, numbers, found.position)
    total, count = sum(found.losses), found.num_losses
    text = tr(
        "The loss of a token is the cross-entropy with its smoothed label: {own} of \u2212log p of the token itself, "
        "and {share} of the mean over the whole vocabulary. The bars sum to {total}; for {count} tokens that is {loss} "
        "each, which the step is to lower.",
        own=decimal(1 - LABEL_SMOOTHING, 1),
        share=decimal(LABEL_SMOOTHING, 1),
        total=decimal(total, 3),
        count=count,
        loss=decimal(found.loss, 3),
    )
    facts = [(tr("sum"), decimal(total, 3)), (tr("least possible loss of a token"), decimal(found.least_loss, 3))]
    if found.num_forced:
        facts.append((tr("given tokens, without a loss"), localized(found.num_forced)))
    return step_view(
        STEPS,
        "loss",
        formula=r"L = \frac{1}{n} \sum_t L_t, \, "
        r"L_t = -(1 - \epsilon) \cdot \log p(y_t) - \frac{\epsilon}{V} \sum_v \log p(v)",
        text=text,
        numbers=[rf"L = \frac{{{math_number(total)}}}{{{count}}} = {math_number(found.loss)}"],
        facts=facts,
        blocks=[Block(tr("loss of each token"), rows, columns=columns)],
    )


def _result_view(found: TrainingStep) -> StepView:
    before, after = (sum(each[found.num_forced :]) for each in (found.log_probs, found.log_probs_after))
    numbers = [
        (math.exp(one), math.exp(two), two - one) if row >= found.num_forced else (1.0, 1.0, 0.0)
        for row, (one, two) in enumerate(zip(found.log_probs, found.log_probs_after, strict=True))
    ]
    columns = [
        NumberColumn(marked("before"), "share"),
        NumberColumn(marked("after"), "share"),
        NumberColumn(marked("change of log p")),
    ]
    values = {"before": number_text(math.exp(before), 3), "after": number_text(math.exp(after), 3)}
    if after > before:
        text = tr(
            "When all weights have made their step, the probability of the translation is {after} instead of {before}.",
            **values,
        )
    elif found.loss_after < found.loss:
        text = tr(
            "When all weights have made their step, the loss is smaller, but the probability of the translation is "
            "{after} instead of {before}: smoothed labels ask for less certainty than the model has.",
            **values,
        )
    else:
        text = tr(
            "When all weights have made their step, the probability of the translation is {after} instead of {before}, "
            "and the loss has grown: with this rate the step leads too far. That is why the rate begins near 0: try an "
            "earlier step.",
            **values,
        )
    text += " " + tr("The step was taken on a copy: the model itself is as it was.")
    facts = [(tr("loss before"), decimal(found.loss, 4)), (tr("loss after"), decimal(found.loss_after, 4))]
    return step_view(
        STEPS,
        "result",
        formula=r"\log P = \sum_t \log p(y_t)",
        text=text,
        numbers=[rf"\log P = {math_number(before)} \rightarrow{math_number(after)}"],
        facts=facts,
        blocks=[
            Block(
                tr("probability of each token before and after the step"),
                token_rows(found.predicted_tokens, numbers, found.position),
                columns=columns,
            )
        ],
    )
