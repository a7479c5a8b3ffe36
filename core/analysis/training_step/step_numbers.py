"""The numbers of one step of training, with their tables."""

import math
from dataclasses import dataclass
from typing import Literal

from torch import Tensor

from core.analysis.declaration import FIRST, Columns, PicturedResult
from core.analysis.pictures import Curve, Curves
from core.analysis.tokens.words import readable_all
from core.analysis.training_step.adam import AdamNumbers
from core.analysis.training_step.weight_gradient import WeightGradient
from core.model.training import LABEL_SMOOTHING
from core.text.phrases import Number, Phrase, marked
from core.trace import Head

Part = Literal["tokens", "mask", "label", "gradient", "adam"]


@dataclass(frozen=True)
class SmoothedLabel:
    """The smoothed label of one position beside the model's prediction."""

    token_ids: tuple[int, ...]  # the label, then the most probable other tokens
    tokens: tuple[str, ...]  # their pieces
    labels: tuple[float, ...]  # q, what the model is to predict, of each
    probabilities: tuple[float, ...]  # p, what it predicts
    others: int  # number of all other tokens, each of which has the same q
    other_probability: float  # p of these together


@dataclass(frozen=True)
class TrainingStep(PicturedResult):
    """One step of training on a pair. Of T predicted tokens, `</s>` last; log-probabilities are in nats."""

    position: int  # of `label`
    step: int  # its number, counted from 1
    source_tokens: tuple[str, ...]
    fed_tokens: tuple[str, ...]  # [T] what goes in
    predicted_tokens: tuple[str, ...]  # [T] what is to come out
    num_forced: int  # tokens at the start that the model is given, which are in no loss
    mask: Tensor  # [T, T] boolean, True where a position may attend to another
    label_nll: tuple[float, ...]  # [T] -log p of each label; `uniform_nll`: [T] mean of -log p over the vocabulary
    uniform_nll: tuple[float, ...]
    losses: tuple[float, ...]  # [T] their mix by the smoothing; 0 for forced tokens
    label: SmoothedLabel  # of one position
    weight: WeightGradient  # the followed weight with its gradient
    rate: float  # learning rate of the step
    adam: AdamNumbers  # the step of Adam for the weight: scalars
    log_probs: tuple[float, ...]  # [T] of the labels before the step of all weights
    log_probs_after: tuple[float, ...]  # after it
    loss_after: float  # the loss after it
    gap: float  # largest difference between `log_probs` and those of the model itself, in float32
    part: Part = "tokens"  # of which `table` is by default

    @property
    def num_losses(self) -> int:
        """Number of tokens in the loss."""
        return len(self.losses) - self.num_forced

    @property
    def least_loss(self) -> float:
        """The least possible loss of a token, the entropy of its smoothed label."""
        size = len(self.label.tokens) + self.label.others
        own, other = (smoothed_label(is_label, size) for is_label in (True, False))
        return -own * math.log(own) - (size - 1) * other * math.log(other)

    @property
    def loss(self) -> float:
        """Mean loss of a token, which the step is to lower."""
        return sum(self.losses) / self.num_losses

    def table(self, part: Part | None = None) -> Columns:
        """One part of the numbers; positions are counted from 0."""
        match part or self.part:
            case "tokens":
                return {
                    "position": range(len(self.fed_tokens)),
                    "fed": self.fed_tokens,
                    "label": self.predicted_tokens,
                    "label_nll": self.label_nll,
                    "uniform_nll": self.uniform_nll,
                    "loss": self.losses,
                    "log_prob": self.log_probs,
                    "log_prob_after": self.log_probs_after,
                }
            case "mask":
                names = [str(position) for position in range(len(self.fed_tokens))]
                return {"fed": self.fed_tokens} | dict(zip(names, self.mask.int().T.tolist(), strict=True))
            case "label":
                label, rest = self.label, self.label.others
                return {
                    "token_id": [*label.token_ids, None],
                    "token": [*label.tokens, None],
                    "tokens": [*[1] * len(label.tokens), rest],
                    "label": [*label.labels, rest * smoothed_label(False, rest + len(label.tokens))],
                    "probability": [*label.probabilities, label.other_probability],
                }
            case "gradient":
                uses = self.weight.uses
                return {
                    "weight": [self.weight.place] * len(uses),
                    **{name: [getattr(use, name) for use in uses] for name in ("role", "side", "position")},
                    **{name: [getattr(use, name) for use in uses] for name in ("error", "factor", "product")},
                }
            case "adam":
                numbers = {name: value.item() for name, value in self.adam._asdict().items()}
                before = self.weight.value
                numbers |= {"rate": self.rate, "before": before, "after": before + numbers["change"]}
                return {
                    "weight": [self.weight.place] * len(numbers),
                    "quantity": [*numbers],
                    "value": [*numbers.values()],
                }

    def pictures(self, at: Head) -> tuple[Curves]:
        """The log-probability of each label before and after the step."""
        places = range(len(self.predicted_tokens))
        both = (marked("before"), self.log_probs), (marked("after"), self.log_probs_after)
        return (
            Curves(
                title=Phrase(marked("probability of each token before and after the step")),
                axis=Phrase(marked("log-probability")),
                below="",
                curves=[
                    Curve(name=Phrase(name), places=places, values=values, color=color, shape="both")
                    for color, (name, values) in enumerate(both)
                ],
                names=list(zip(places, readable_all(self.predicted_tokens), strict=True)),
            ),
        )

    def answer(self, at: Head) -> Phrase:
        """The loss, the step of the weight, and what it does to the sentence."""
        weight = self.weight
        return Phrase(
            marked(
                "Step {step} with rate {rate} changes the loss per token from {loss} to {after}, and the "
                "log-probability of the target from {first} to {then}: {weight}, with gradient {gradient}, goes from "
                "{old} to {new}."
            ),
            loss=Number(self.loss, ".4f"),
            after=Number(self.loss_after, ".4f"),
            step=Number(self.step, ","),
            rate=Number(self.rate, ".3g"),
            first=Number(sum(self.log_probs), ".4f"),
            then=Number(sum(self.log_probs_after), ".4f"),
            weight=weight.place,
            gradient=Number(weight.gradient, ".4g"),
            old=Number(weight.value, ".6g"),
            new=Number(weight.value + self.adam.change.item(), ".6g"),
        )

    def summary(self) -> str:
        """The answer, for the command."""
        return self.answer(FIRST)


def smoothed_label(is_label: bool, vocab_size: int) -> float:
    """Probability that a token is to have: that of the label, or of any other token (5.4)."""
    return (1 - LABEL_SMOOTHING) * is_label + LABEL_SMOOTHING / vocab_size
