"""A module that somebody else has written, beside the model that was read of it by a description.

Both run on the same ids. How the module is called is found by trying: of the ways that run, the one is right in which a
sentence does not depend on others of its batch, its last logit depends on its last token and no other does, and padding
changes nothing. Where log-probabilities differ by more than rounding, what the parts compute says how far they agree;
options of the description are tried until all do.
"""

import inspect
import math
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import product
from typing import Any, NamedTuple, cast, get_args

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from core.files.strict_json import json_text
from core.formats.checkpoint import Checkpoint, CheckpointError
from core.model import Transformer
from core.model.config import Activation, TransformerConfig
from core.trace import edit, later_tokens_visible, places, record

Forward = Callable[..., Any]  # ids [B, S] and [B, T] to logits
Description = Mapping[str, Any]
# A way to call a forward: what it does with targets (0: nothing; 1: it puts the start before them and leaves out the
# last one; 2: it leaves out the last one), what True means in its masks ("torch", as in `torch.nn.Transformer`,
# "visible", "hidden", "added" for numbers that are added to scores, or "" for none), their axes unless torch's, whether
# they are of 0 and 1, whether ids are [S, B] and results [T, B, V]
Call = tuple[int, str, int, bool, bool]
Load = Callable[[Description], Checkpoint]
SHAPE = 3, 7, 5  # B, S and T of the batch that is compared
LONG = 2, 48, 40  # of another one, if the module takes so many tokens
PADDING = 2  # tokens that a sentence with padding has at its end
ROUNDING = 2.0**-20  # of a sub-layer in float32, relative
OF_TARGET = re.compile(r"(?!mem)(.*(tgt|trg|target|dec|look|causal|future)|y)", re.IGNORECASE)
VALUES = ("input", "output", "norm_output", "residual_after")  # of a part, in the order of the computation


class Agreement(NamedTuple):
    """How far a model agrees with a module."""

    agrees: bool
    depth: int  # number of its values, up to the last that is equal
    difference: float  # of log-probabilities, negative
    last: str  # name of the module's part with this last value
    first: str  # place of the value after it


class UserModule:
    """A module as a function of token ids, for a model `like` it in its vocabularies and special tokens.

    Raises:
        CheckpointError: it cannot be run on ids of source and target, or mixes the sentences of a batch.
    """

    def __init__(self, module: nn.Module, like: Transformer, forward: Forward | None) -> None:
        self._module, self._like, self._batch = module, like, batch_of(like.config)
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
        self._values = self._seen()

    @torch.no_grad()
    def agreement(self, model: Transformer) -> Agreement:
        """Compare a model with the module on batches without padding."""
        names = [name for name in places(model) if name.endswith(VALUES) and not name.split(".")[-2].isdecimal()]
        with edit(model, {} if self.is_causal else later_tokens_visible(model)), record(model, names) as ours:
            log_probs = model(*self._batch).float().log_softmax(-1)
        theirs = self._log_probs(*self._batch)
        difference = float((log_probs - theirs).abs().max())
        depth, last = 0, ""
        for number, name in enumerate(names, 1):
            if name.startswith("decoder") and not names[depth - 1].startswith(("encoder.output", "decoder")):
                break  # its encoder differs
            value, margin = ours[name], margin_of(ours[name], model.config)
            alike = ((part, each) for part, each in self._values if each.shape == value.shape)
            if found := next((part for part, each in alike if float((each - value).abs().max()) <= margin), ""):
                depth, last = number, found
        agrees = difference <= margin_of(theirs, model.config)
        with suppress(Exception), edit(model, {} if self.is_causal else later_tokens_visible(model)):
            theirs = self._log_probs(*(batch := batch_of(model.config, LONG)))  # it may not take so many
            longer = float((model(*batch).float().log_softmax(-1) - theirs).abs().max())
            if agrees and longer > margin_of(theirs, model.config):
                return Agreement(False, depth, -longer, "", f"position {SHAPE[2]} on")
        return Agreement(agrees, depth, -difference, last, [*names, "logits"][depth])

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

    def _seen(self) -> list[tuple[str, Tensor]]:
        """What modules take and give, [B, L, D], with their names in the order of the computation."""
        seen: list[tuple[str, Tensor]] = []

        def see(name: str, _module: nn.Module, arguments: tuple[Any, ...], output: object) -> None:
            for part, value in ((f"input of {name}", arguments), (name, output)):
                tensors = [each.detach().float().cpu() for each in _tensors_of(value) if each.dim() == 3]
                by_row = [each if len(each) == SHAPE[0] else each.transpose(0, 1) for each in tensors]
                seen.extend((part, each) for each in by_row if each.size(-1) == self._like.config.d_model)

        handles = [each.register_forward_hook(partial(see, name)) for name, each in self._module.named_modules()]
        try:
            self._log_probs(*self._batch)
        finally:
            for handle in handles:
                handle.remove()
        return seen

    def _run(self, source: Tensor, target: Tensor) -> Tensor:
        config, (shift, *_, is_first) = self._like.config, self._call
        device = next((each.device for each in self._module.parameters()), target.device)
        source, target = source.to(device), target.to(device)
        given = target if not shift else torch.cat((target[:, 2 - shift :], target[:, -1:]), 1)
        ids = (source.T, given.T) if is_first else (source, given)
        arguments = self._arguments(source, given)
        if len(self._sides) == 2:
            arguments, ids = {**arguments, **dict(zip(self._sides, ids, strict=True))}, ()
        tensors = list(_tensors_of(self._forward(*ids, **arguments)))
        outputs = [each.transpose(0, 1) if is_first else each for each in tensors if each.dim() == 3]
        outputs = [each for each in outputs if each.size(-1) in (config.target_size, config.d_model)]
        if not outputs or outputs[0].shape[:2] != target.shape:
            raise ValueError(f"it returns {[list(each.shape) for each in tensors]}, not [B, T, {config.target_size}]")
        output = outputs[0].float().cpu()
        if output.size(-1) != config.target_size:
            output = self._like.project(output)  # by the output layer, which stands outside of it
        elif float(output.min()) >= 0 and torch.allclose(output.sum(-1), torch.ones(()), atol=1e-3):
            output = output.log()
        if not output.isfinite().all():
            raise ValueError("its logits are not finite")
        return output.log_softmax(-1)

    def _calls(self) -> Iterator[Call]:
        """Ways to call the forward, the more common ones first."""
        kinds = [(kind, *each) for each in product((4, 3, 2), (False, True)) for kind in ("visible", "hidden")]
        kinds += [("added", axes, False) for axes in (4, 3, 2)]
        masks = [*[("torch", 0, False), *kinds] * bool(self._masks), ("", 0, False)]
        for shift, (kind, axes, numbers), is_first in product((0, 1, 2), masks, (False, True)):
            if self._is_own or not (shift or is_first):
                yield shift, kind, axes, numbers, is_first

    def _arguments(self, source: Tensor, target: Tensor) -> dict[str, Tensor]:
        """Masks and lengths by the names of parameters."""
        config, (_, masks, axes, numbers, _) = self._like.config, self._call
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
        """Whether sentences are independent, the last logit depends on the last token and others do not, and whether
        padding is hidden.
        """
        config, (source, target) = self._like.config, self._batch
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
    module: nn.Module, described: Description, load: Load, forward: Forward | None = None, is_whole: bool = True
) -> Checkpoint:
    """The checkpoint of a description, which computes what the module does.

    Args:
        load: reads the module's parameters by a description.
        forward: in place of the module's own.
        is_whole: nothing is to be added to the description; otherwise options that mend it are.

    Raises:
        CheckpointError: it computes something else, where the message names the first part that differs and the options
            that mend it; or see `UserModule`.
    """
    checkpoint, name = load(described), type(module).__name__
    user = UserModule(module, checkpoint.model, forward)
    given = user.agreement(checkpoint.model)
    if not given.agrees:
        mend = _mended(user, described, load, checkpoint)
        if mend and not is_whole:
            return proved(module, {**described, **mend}, load, forward)
        raise CheckpointError(
            f"{name} computes something else than its description: log-probabilities differ by "
            f"{-given.difference:.2g}, from {given.first}{f', after its {given.last:.80}' if given.last else ''}. "
            f"{f'With {json_text(mend)[1:-1]} they agree' if mend else 'No option that was tried mends it'}"
        )
    facts = checkpoint.training["imported"]
    facts |= {"compared": f"{-given.difference:.1g}", "causal mask": user.is_causal, "padding": user.hides_padding}
    if not user.is_causal:
        warnings.warn(
            f"{name} has no causal mask: its decoder's self-attention attends to later tokens, those that it is to "
            f"predict. It is shown as it is; searches do not know later tokens",
            stacklevel=4,
        )
    if not user.hides_padding:
        warnings.warn(f"{name} attends to padding: it is shown as for a sentence alone, without padding", stacklevel=4)
    return checkpoint


def _mended(user: UserModule, described: Description, load: Load, read: Checkpoint) -> dict[str, Any]:
    """Options with which the description agrees, found group by group, by how far each makes it agree; {} if none."""

    def agreement(changes: Description) -> Agreement:
        try:
            return user.agreement(load({**described, **changes}).model)
        except CheckpointError:
            return Agreement(False, -1, 0.0, "", "")

    width = read.config.encoder_heads.d_k * read.config.num_heads
    heads = [number for number in range(1, width + 1) if width % number == 0]
    positions = (None, "interleaved", "halves"), ("i/n", "i/(n-1)"), (0, 1, 2)
    groups: list[tuple[str, Sequence[Sequence[Any]]]] = [  # options that depend on each other, with their values
        ("scale_embedding", [(True, False)]),
        ("scale_embedding positions position_exponent position_offset", [(True, False), *positions]),
        ("norm_first nhead", [(False, True), heads]),
        ("activation", [get_args(Activation)]),
        ("layer_norm layer_norm_eps", [("standard", "sample_std"), (1e-5, 1e-6, 1e-8, 1e-12)]),
    ]
    changes = dict[str, Any]()
    best = agreement(changes)
    for names, values in groups * 2:
        tried = [{**changes, **dict(zip(names.split(), each, strict=True))} for each in product(*values)]
        best, changes = max([(best, changes), *((agreement(each), each) for each in tried)], key=lambda each: each[0])
        if best.agrees:
            break
    for name in list(changes):  # those without which it agrees as well
        without = {each: value for each, value in changes.items() if each != name}
        changes = without if agreement(without).agrees else changes
    return changes if best.agrees else {}
