"""The analysis `training-step`: one step of training on a sentence and its translation, in numbers.

The decoder is fed the target shifted right by one position, so each position is to predict the next token from those
before it, which are the given ones whatever the model would have written (teacher forcing). A mask hides the later
ones (3.1). The loss of a token is the cross-entropy with its smoothed label (5.4), that of the pair the mean over its
tokens, as `train` has it for a batch. Adam changes every weight by its gradient (5.3), with the learning rate of a
chosen step of the paper's schedule.

Adam begins with moments of 0 here, as at the first step of a run: a checkpoint does not keep those of its training.
There is no dropout. Everything is computed in float64, on a copy: the model itself never changes.
"""

import copy
import threading
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from core.analysis.agreement import depth_of, require_agreement
from core.analysis.declaration import Analysis, option
from core.analysis.subject import check_position
from core.analysis.training_step import weight_gradient
from core.analysis.training_step.adam import first_adam_step
from core.analysis.training_step.step_numbers import Part, SmoothedLabel, TrainingStep, smoothed_label
from core.capture import attention_mask, full_mask
from core.decoding import NonFiniteError
from core.decoding.text_codec import PassIds
from core.files.number_range import COUNTED_FROM_1
from core.model import Transformer
from core.model.half_precision import LARGE, is_large, kept_types
from core.model.schedule import learning_rate
from core.model.training import LABEL_SMOOTHING, WARMUP, smoothed_nll
from core.trace import explicit_attention, record_calls
from core.translator import Translator

COUNT = 10  # most probable tokens of a smoothed label
NUDGE = 1e-5  # h of `WeightGradient.slope`
_one_at_a_time = threading.Lock()  # a step takes four times the memory of the model


@dataclass(frozen=True)
class TrainingStepOptions:
    """Options of `training-step`; the token is counted from 0."""

    token: int = option(0, "number of the predicted token whose label to print, counted from 1", from_1=True)
    step: int = option(100, "number of the step, counted from 1, which decides the learning rate", type=COUNTED_FROM_1)
    weight: str = option(
        "",
        "weight to follow, such as 'decoder.layers.0.feed_forward.inner.weight[5, 3]', counted from 0; without an "
        "index the one with the largest gradient; by default that one of the label's row of the output matrix",
        metavar="NAME",
    )
    part: Part = option("tokens", "table to print")


def training_step(
    translator: Translator,
    source: str,
    target: str | Sequence[int],
    options: TrainingStepOptions = TrainingStepOptions(),
) -> TrainingStep:
    """One step of training on a source and its target, see the module docstring. The model is as it was.

    Raises:
        ValueError: as `Translator.explain`; there is no such token or weight; or the model cannot be trained so: it has
            no causal mask, or is too large to be copied.
        NonFiniteError: the loss or a gradient is not finite.
        DisagreementError: the log-probabilities are not the model's, or the uses do not sum to the gradient.
    """
    ids = translator.token_ids(source, target)
    check_position(options.token, len(ids.predicted))
    _require_trainable(translator.model)
    if options.weight:
        weight_gradient.parse_weight(options.weight, translator.model)  # before anything is computed
    [own] = translator.shared.log_probs([ids])
    with _one_at_a_time, torch.inference_mode(False), torch.enable_grad():
        with translator.shared.held() as shared:  # whose hooks another thread may set
            model = copy.deepcopy(shared).cpu().double().eval().requires_grad_(False)
        for module in model.modules():  # the copies of hooks that reserve memory would never give it back
            module._forward_pre_hooks.clear()  # pyright: ignore[reportPrivateUsage]
        with explicit_attention(model):
            return _Step(translator, model, ids, translator.codec.num_forced(ids.predicted, source), options).run(own)


def _require_trainable(model: Transformer) -> None:
    """Check that there can be a copy of the model with gradients."""
    if types := kept_types(model):
        names = " and ".join(sorted(str(each).removeprefix("torch.") for each in types))
        raise ValueError(
            f"the matrices of this model stay in {names}, which has too few digits for a step of training: open a "
            f"model in float32"
        )
    if is_large(model):
        count = sum(parameter.numel() for parameter in model.parameters())
        raise ValueError(
            f"this model has {count:,} parameters, at most {LARGE:,} are copied for a step of training: open a smaller "
            f"one"
        )


@dataclass(frozen=True)
class _Step:
    """A step in the making, on a copy of the model."""

    translator: Translator
    model: Transformer
    ids: PassIds
    num_forced: int
    options: TrainingStepOptions

    def run(self, own: Sequence[float]) -> TrainingStep:
        """Take the step; `own` are the log-probabilities of the labels by the model itself."""
        options, length = self.options, len(self.ids.fed)
        matrix = next(name for name, each in self.model.named_parameters() if each is self.model.unembedding)
        name, index = weight_gradient.parse_weight(options.weight or matrix, self.model)
        parameters = weight_gradient.trained_parameters(self.model.requires_grad_(True))
        with record_calls(weight_gradient.layer_of(self.model, name)) as calls:
            states, logits = self._pass()
        label_nll, uniform_nll, losses = self._losses(logits)
        gradients, errors = self._gradients(losses, parameters, [*(call.output for call in calls), logits])
        states, logits = states.detach(), logits.detach()
        if index is None:
            row = self.ids.predicted[options.token] if not options.weight else None
            index = _largest(gradients[name], row)
        with torch.no_grad():
            output = states[0], errors.pop()[0]
            uses = weight_gradient.weight_uses(self.model, name, index, list(zip(calls, errors, strict=True)), output)
            rate = learning_rate(options.step, self.model.config.d_model, WARMUP)
            value, gradient = parameters[name][index].item(), gradients[name][index].clone()
            weight = weight_gradient.WeightGradient(
                name, index, value, gradient.item(), uses, self._slope(parameters[name], index)
            )
            for each, parameter in parameters.items():
                parameter += first_adam_step(gradients[each], rate).change
            after_nll, _, after_losses = self._losses(self._pass()[1])
        log_probs, size = (-label_nll).tolist(), sum(abs(use.product) for use in uses)
        ours, theirs = (torch.tensor(each[self.num_forced :], dtype=torch.float64) for each in (log_probs, own))
        gap = require_agreement("log-probabilities of the labels", ours, theirs, depth_of(self.model.config))
        require_agreement(f"the gradient of {name}, as the sum over its uses", weight.total, weight.gradient, 1, size)
        neighbourhood = self.model.config.neighbourhood
        restricted = attention_mask("decoder_self", length, neighbourhood)
        return TrainingStep(
            position=options.token,
            step=options.step,
            source_tokens=self.translator.codec.source_pieces(self.ids.source),
            fed_tokens=self.translator.codec.fed_pieces(self.ids.fed),
            predicted_tokens=self.translator.codec.pieces(self.ids.predicted),
            num_forced=self.num_forced,
            mask=full_mask("decoder_self", length, length) if restricted is None else restricted,
            label_nll=tuple(label_nll.tolist()),
            uniform_nll=tuple(uniform_nll.tolist()),
            losses=tuple(losses.tolist()),
            label=self._label(logits[0, options.token]),
            weight=weight,
            rate=rate,
            adam=first_adam_step(gradient, rate),
            log_probs=tuple(log_probs),
            log_probs_after=tuple((-after_nll).tolist()),
            loss_after=float(after_losses.sum()) / (length - self.num_forced),
            gap=gap,
            part=options.part,
        )

    def _pass(self) -> tuple[Tensor, Tensor]:
        """Decoder states [1, T, D] and logits [1, T, V], teacher-forced."""
        source, fed = torch.tensor([self.ids.source]), torch.tensor([self.ids.fed])
        states = self.model.decode(fed, self.model.encode(source), self.model.source_mask(source))
        return states, self.model.project(states)

    def _losses(self, logits: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """-log p of the labels, its mean over the vocabulary, and the losses: [T] each."""
        nll = -logits[0].log_softmax(-1)  # [T, V]
        if not nll.isfinite().all():
            raise NonFiniteError("for this target")
        of_label = nll.gather(1, torch.tensor(self.ids.predicted)[:, None])[:, 0]
        counted = torch.arange(len(nll)) >= self.num_forced
        return of_label, nll.mean(1), smoothed_nll(of_label, nll.mean(1), LABEL_SMOOTHING) * counted

    def _gradients(
        self, losses: Tensor, parameters: dict[str, nn.Parameter], outputs: list[Tensor]
    ) -> tuple[dict[str, Tensor], list[Tensor]]:
        """Derivatives of the loss by the parameters and by outputs of layers."""
        loss = losses.sum() / (len(losses) - self.num_forced)
        found = torch.autograd.grad(loss, [*parameters.values(), *outputs], allow_unused=True, materialize_grads=True)
        if not all(gradient.isfinite().all() for gradient in found):
            raise NonFiniteError("in the gradients of this target")
        return dict(zip(parameters, found, strict=False)), list(found[len(parameters) :])

    def _slope(self, parameter: Tensor, index: weight_gradient.Index) -> float:
        """The central difference of the loss by one weight."""
        losses: list[float] = []
        value = parameter[index].item()
        for nudged in (value + NUDGE, value - NUDGE):
            parameter[index] = nudged
            losses.append(float(self._losses(self._pass()[1])[2].sum()) / (len(self.ids.fed) - self.num_forced))
        parameter[index] = value
        return (losses[0] - losses[1]) / (2 * NUDGE)

    def _label(self, logits: Tensor) -> SmoothedLabel:
        """The smoothed label of the position of the options: [V] -> label."""
        label, size = self.ids.predicted[self.options.token], len(logits)
        probabilities = logits.softmax(-1)
        best = probabilities.topk(min(COUNT, size)).indices.tolist()
        token_ids = [label, *(each for each in best if each != label)]
        shown = probabilities[token_ids]
        return SmoothedLabel(
            token_ids=tuple(token_ids),
            tokens=tuple(map(self.translator.codec.piece, token_ids)),
            labels=tuple(smoothed_label(each == label, size) for each in token_ids),
            probabilities=tuple(shown.tolist()),
            others=size - len(token_ids),
            other_probability=float(probabilities.sum() - shown.sum()),
        )


def _largest(gradient: Tensor, row: int | None) -> weight_gradient.Index:
    """Index of the largest gradient by its absolute value, in a row or in all of a parameter."""
    own = gradient if row is None else gradient[row]
    place = tuple(int(each) for each in torch.unravel_index(own.abs().argmax(), own.shape))
    return place if row is None else (row, *place)


TRAINING_STEP = Analysis(
    "training-step", "print one step of training on a sentence and its translation", training_step, TrainingStepOptions
)
