"""A module that somebody else has written, beside the model that was read of it by a description.

Both run on the same ids. How the module is called is found by trying: of the ways that run, the one is right in which a
sentence does not depend on others of its batch, its last logit depends on its last token and no other does, and padding
changes nothing. What opens differs in its log-probabilities by rounding alone.
"""

import inspect
import math
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import product
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from core.files.strict_json import json_text
from core.formats.checkpoint import Checkpoint, CheckpointError
from core.formats.torch_transformer import OF_VOCABULARY
from core.formats.traced_module import NAMES, Recorder, Step, TracedModule
from core.model import Transformer
from core.model.config import TransformerConfig
from core.trace import edit, later_tokens_visible

Forward = Callable[..., Any]  # ids [B, S] and [B, T] to logits
Description = Mapping[str, Any]
# A way to call a forward: what it does with targets (0: nothing; 1: it puts the start before them and leaves out the
# last one; 2: it leaves out the last one), what True means in its masks ("torch", as in `torch.nn.Transformer`,
# "visible", "hidden", "added" for numbers that are added to scores, or "" for none), their axes unless torch's, whether
# they are of 0 and 1, whether ids are [S, B] and results [T, B, V]
Call = tuple[int, str, int, bool, bool]
Parameters = Mapping[str, Tensor]
Load = Callable[[Description, Parameters | None], Checkpoint]  # by a description; of other parameters than the module's
SHAPE = 3, 7, 5  # B, S and T of the batch that is compared
LONG = 2, 48, 40  # B, S and T of a longer one
PADDING = 2  # tokens that a sentence with padding has at its end
ROUNDING = 2.0**-20  # of a sub-layer in float32, relative
OF_TARGET = re.compile(r"(?!mem)(.*(tgt|trg|target|dec|look|causal|future)|y)", re.IGNORECASE)


class UserModule:
    """A module as a function of token ids, of which `config` has the vocabularies and special tokens.

    Attributes:
        project: the layer of the logits, if its forward does not have it; without it, states are taken as logits.

    Raises:
        CheckpointError: it cannot be run on ids of source and target, or mixes the sentences of a batch.
    """

    project: Callable[[Tensor], Tensor] | None = None

    def __init__(self, module: nn.Module, config: TransformerConfig, forward: Forward | None) -> None:
        self._module, self._config, self._batch = module, config, batch_of(config)
        self._forward, self._is_own = forward or module.forward, forward is None
        named = list(inspect.signature(self._forward).parameters) if self._is_own else []
        self._masks = [name for name in named if re.search("pad|mask|len", name.lower())]
        sides = [name for name in named if name not in self._masks][:2]
        self._sides = sorted(sides, key=lambda each: bool(OF_TARGET.match(each)))
        found: dict[Call, tuple[bool, bool, bool, bool]] = {}
        problems: list[Exception] = []
        for self._call in self._calls():  # noqa: B020
            if self._call[0] and any(each[:2] == (True, True) for each in found.values()):
                break  # it does nothing with targets
            try:
                found[self._call] = self._properties()
            except Exception as error:  # of the code of others, called in a way that it may not be made for
                problems.append(error)
            if all(found.get(self._call, (False,))):
                break
        name = type(module).__name__
        if not found:
            raise CheckpointError(
                f"{name} cannot be run on token ids of source and target ({problems[0]!r:.200}): give "
                f"forward=FUNCTION, which returns its logits for ids [B, S] and [B, T]"
            )
        self._call = max(found, key=found.__getitem__)
        independent, _, self.is_causal, self.hides_padding = found[self._call]  # see `_properties`
        if not independent:
            raise CheckpointError(f"{name}: the logits of a sentence depend on the others of its batch, on either axis")

    @torch.no_grad()
    def compare(self, model: Transformer) -> float:
        """The difference to the log-probabilities of a model without padding, which has to be of rounding alone.

        Raises:
            CheckpointError: it is not, or it is not on longer sentences, if the module takes them.
        """
        difference = 0.0
        for shape in (LONG, SHAPE):
            batch = batch_of(model.config, shape)
            try:
                theirs = self._log_probs(*batch)
            except Exception:
                continue
            with edit(model, {} if self.is_causal else later_tokens_visible(model)):
                difference = float((model(*batch).float().log_softmax(-1) - theirs).abs().max())
            if difference > margin_of(theirs, model.config):
                raise CheckpointError(
                    f"{type(self._module).__name__} computes something else than what was read: log-probabilities "
                    f"differ by {difference:.2g} in sentences of {shape[1]} tokens"
                )
        return difference

    @torch.no_grad()
    def _log_probs(self, source: Tensor, target: Tensor) -> Tensor:
        """Log-probabilities of the next token: [B, T, V]."""
        training = [each for each in self._module.modules() if each.training]
        self._module.eval()
        try:
            return self._run(source, target)
        finally:
            for each in training:
                each.training = True

    def structure(self) -> tuple[dict[str, Any], dict[str, Tensor]]:
        """See `TracedModule.read`."""
        ids = [(self._batch[0][row : row + 1], self._batch[1][row : row + 1]) for row in range(2)]
        stored = [each.detach().float().cpu() for each in (*self._module.parameters(), *self._module.buffers())]
        sizes = self._config.vocab_size, self._config.target_size
        passes = [self._steps(*each) for each in ids]
        return TracedModule(type(self._module).__name__, ids, passes, stored, sizes).read()

    @torch.no_grad()
    def _steps(self, source: Tensor, target: Tensor) -> list[Step]:
        """The operations of its pass, with attention in operations of its own."""
        is_fast = torch.backends.mha.get_fastpath_enabled()
        torch.backends.mha.set_fastpath_enabled(False)
        try:
            with sdpa_kernel(SDPBackend.MATH), Recorder() as recorder:
                self._log_probs(source, target)
        finally:
            torch.backends.mha.set_fastpath_enabled(is_fast)
        return recorder.steps

    def _run(self, source: Tensor, target: Tensor) -> Tensor:
        config, (shift, *_, is_first) = self._config, self._call
        device = next((each.device for each in self._module.parameters()), target.device)
        source, target = source.to(device), target.to(device)
        given = target if not shift else torch.cat((target[:, 2 - shift :], target[:, -1:]), 1)
        ids = (source.T, given.T) if is_first else (source, given)
        arguments = self._arguments(source, given)
        if len(self._sides) == 2:
            arguments, ids = {**arguments, **dict(zip(self._sides, ids, strict=True))}, ()
        tensors = list(_tensors_of(self._forward(*ids, **arguments)))
        outputs = [each.transpose(0, 1) if is_first else each for each in tensors if each.dim() == 3]
        outputs = [each for each in outputs if each.shape[:2] == target.shape]
        if not outputs:
            raise ValueError(f"it returns {[list(each.shape) for each in tensors]}, not [B, T, {config.target_size}]")
        output = outputs[0].float().cpu()
        if output.size(-1) != config.target_size:
            output = self.project(output) if self.project else output
        elif float(output.min()) >= 0 and torch.allclose(output.sum(-1), torch.ones(()), atol=1e-3):
            output = output.log()
        if not output.isfinite().all():
            raise ValueError("its logits are not finite")
        return output.log_softmax(-1)

    def _calls(self) -> Iterator[Call]:
        """Ways to call the forward, the more common ones first."""
        kinds = [(kind, *each) for each in product((4, 3, 2), (False, True)) for kind in ("visible", "hidden")]
        added = [("added", axes, False) for axes in (4, 3, 2)]
        masks = [*[("torch", 0, False), *kinds, *added] * bool(self._masks), ("", 0, False)]
        for shift, (kind, axes, numbers), is_first in product((0, 1, 2), masks, (False, True)):
            if self._is_own or not (shift or is_first):
                yield shift, kind, axes, numbers, is_first

    def _arguments(self, source: Tensor, target: Tensor) -> dict[str, Tensor]:
        """Masks and lengths by the names of parameters."""
        config, (_, masks, axes, numbers, _) = self._config, self._call
        found: dict[str, Tensor] = {}
        for name in self._masks if masks else ():
            ids = target if OF_TARGET.match(name) else source
            real = ids != config.pad_id
            real[:, 0] |= config.bos_id == config.pad_id
            pairs = real.new_ones((target if name.lower().startswith("mem") else ids).size(1), ids.size(1))  # [Q, K]
            pairs = pairs.tril() if ids is target else pairs
            if not re.search("pad|mask", name.lower()):
                found[name] = real.sum(1).cpu()
                continue
            if "pad" in name.lower() or (axes and ids is source):
                visible = real[:, None] if axes > 2 else real
            else:
                visible = real[:, None] & pairs if axes > 2 else pairs
            mask = (visible[:, None] if axes == 4 else visible) ^ (masks != "visible")
            mask = torch.zeros(mask.shape).masked_fill(mask, -math.inf) if masks == "added" else mask
            found[name] = mask.float() if numbers else mask
        return found

    def _properties(self) -> tuple[bool, bool, bool, bool]:
        """Whether sentences are independent, only the last logit depends on the last token, and padding is hidden."""
        config, (source, target) = self._config, self._batch
        whole, changed = self._log_probs(source, target), target.clone()
        changed[0, -1] = next((each for each in target.unique().tolist() if each != int(target[0, -1])), config.eos_id)
        alone, changed = self._log_probs(source[:1], target[:1]), self._log_probs(source, changed)

        def is_same(one: Tensor, other: Tensor) -> bool:
            return float((one - other).abs().max()) <= margin_of(whole, config)

        hides = False
        with suppress(ValueError):  # padding may make something that is not finite
            padded = self._log_probs(*(F.pad(each, (0, PADDING), value=config.pad_id) for each in self._batch))
            hides = is_same(padded[:, : target.size(1)], whole)
        depends = not is_same(changed[0, -1], whole[0, -1]), is_same(changed[0, :-1], whole[0, :-1])
        return is_same(alone, whole[:1]), *depends, hides


def batch_of(config: TransformerConfig, shape: tuple[int, int, int] = SHAPE) -> tuple[Tensor, Tensor]:
    """Random ids of no special tokens, targets from the start on: [B, S] and [B, T]."""
    special, generator = {config.pad_id, config.bos_id, config.eos_id}, torch.Generator().manual_seed(0)
    most = config.max_positions - PADDING if config.positions == "learned" else max(shape)
    sides: list[Tensor] = []
    for size, length in zip((config.vocab_size, config.target_size), shape[1:], strict=True):
        ordinary = torch.tensor([each for each in range(size) if each not in special] or [size - 1])
        sides.append(ordinary[torch.randint(len(ordinary), (shape[0], min(length, most)), generator=generator)])
    sides[1][:, 0] = config.bos_id
    return sides[0], sides[1]


def margin_of(values: Tensor, config: TransformerConfig) -> float:
    """The largest difference between two computations of some values that rounding explains."""
    depth = 2 * config.num_encoder_layers + 3 * config.num_decoder_layers + 1
    return ROUNDING * depth * max(1.0, float(values.abs().max()))


def _tensors_of(value: object) -> Iterator[Tensor]:
    """Tensors of numbers in a result, in its containers."""
    if isinstance(value, Tensor) and value.is_floating_point():
        yield value
    inside = cast("Mapping[Any, Any]", value).values() if isinstance(value, Mapping) else value
    for each in cast("Sequence[Any]", inside) if isinstance(value, Mapping | list | tuple) else ():
        yield from _tensors_of(each)


def proved(
    module: nn.Module, described: Description, load: Load, config: TransformerConfig, forward: Forward | None = None
) -> Checkpoint:
    """The checkpoint that computes what a module does, by its passes, or by its description if they do not show it.

    Args:
        load: reads the module's parameters by a description, or others if they are given.
        config: the vocabularies of the description.
        forward: in place of the module's own.

    Raises:
        CheckpointError: it computes something else than is described, where the message names the options that mend it,
            or than Headlight can show, where it names the first part; or see `UserModule`.
    """
    name, user = type(module).__name__, UserModule(module, config, forward)
    try:
        found, parameters = user.structure()
    except CheckpointError:
        if "nhead" not in described:
            raise
        found, parameters, known = {}, None, described
    else:
        known = {**NAMES, **{option: value for option, value in described.items() if option in OF_VOCABULARY}, **found}
    found.pop("layer_norm_eps", None)  # of many that make no difference
    if mend := {option: value for option, value in found.items() if described.get(option, value) != value}:
        raise CheckpointError(
            f"{name} does not compute what its description says: with {json_text(mend)[1:-1]} it does"
        )
    checkpoint = load(known, parameters)
    user.project = checkpoint.model.project
    difference = user.compare(checkpoint.model)
    facts = checkpoint.training["imported"]
    facts |= {"compared": f"{difference:.1g}", "causal mask": user.is_causal, "padding": user.hides_padding}
    if not user.is_causal:
        warnings.warn(
            f"{name} has no causal mask: its decoder's self-attention attends to later tokens, those that it is to "
            f"predict. It is shown as it is; searches do not know later tokens",
            stacklevel=6,
        )
    if not user.hides_padding:
        warnings.warn(
            f"{name} attends to padding: in a batch with longer sentences its results are others than for a sentence "
            f"alone. It is shown as for a sentence alone",
            stacklevel=6,
        )
    return checkpoint
