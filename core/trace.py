"""Places in a model where a value can be seen or set, each with one name.

    with record(model, ["decoder.5.cross_attention.weights"]) as values:
        model(source_ids, target_ids)
    values["decoder.5.cross_attention.weights"]  # [B, H, T, S]

    with edit(model, {"decoder.5.cross_attention.3.output": torch.zeros_like}):  # without head 3
        model(source_ids, target_ids)

A name is the path to a part of the model, then the value. Layers and heads are counted from 0, on the screen from 1:
`cross L6 H4` is `decoder.5.cross_attention.3`. Shapes are as in `core.model`; L is S in the encoder, T in the decoder.

    logits                          [B, T, V]       of a call of the whole model
    embedding.tokens                [B, L, D]       rows of the embedding matrix, before scale and positions; of a model
    target_embedding.tokens                         with one embedding for both, `embedding` has source, then target
    encoder.input, decoder.input    [B, L, D]       embeddings with positions
    encoder.output, decoder.output  [B, L, D]       after the final norm, if any; of the encoder, the memory

Of a sub-layer, `encoder.2.self_attention`, `decoder.5.cross_attention` or `decoder.0.feed_forward`:

    .residual_before                [B, L, D]       state that enters its residual connection
    .norm_input, .norm_output       [B, L, D]       of its norm: after the sum (post-norm), or before the sub-layer
    .input                          [B, L, D]       what it reads, in attention for the queries
    .output                         [B, L, D]       what it adds, before dropout
    .residual_after                 [B, L, D]       state that leaves it: the next one's `residual_before`

Of attention:

    .memory                         [B, K, D]       what keys and values are computed from
    .mask                           broadcasts to   keys that may be attended to, or numbers that are added to the
                                    [B, H, Q, K]    scores, as relative positions (`MultiHeadAttention.forward`)
    .queries                        [B, H, Q, d_k]  also of one head: .3.queries [B, Q, d_k], and so on
    .keys, .values                  [B, H, K, E]
    .scores                         [B, H, Q, K]    after the mask
    .weights                        [B, H, Q, K]
    .heads                          [B, H, Q, d_v]  outputs of the heads, before W_O; of one head: .3.output

Of a feed-forward network:

    .inner                          [B, L, d_ff]    before the activation
    .multiplier                     [B, L, d_ff]    of a gated network
    .hidden                         [B, L, d_ff]    activations, which the second matrix reads
"""

import re
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from core.model import AttentionWeights, FeedForward, MultiHeadAttention, Transformer
from core.model.restricted_attention import Neighbourhood
from core.text.phrases import Phrase, marked

Stack = Literal["encoder", "decoder"]
STACKS: tuple[Stack, ...] = ("encoder", "decoder")
Kind = Literal["encoder_self", "decoder_self", "cross"]
KINDS: tuple[Kind, ...] = ("encoder_self", "decoder_self", "cross")
KIND_NAMES: dict[Kind, str] = {
    "encoder_self": marked("Encoder"),
    "decoder_self": marked("Decoder"),
    "cross": marked("Cross"),
}
STACK_NAMES: dict[Stack, str] = {"encoder": KIND_NAMES["encoder_self"], "decoder": KIND_NAMES["decoder_self"]}
SUBLAYERS: dict[Stack, tuple[str, ...]] = {  # in their order
    "encoder": ("self_attention", "feed_forward"),
    "decoder": ("self_attention", "cross_attention", "feed_forward"),
}
Edit = Callable[[Tensor], Tensor | None]

_OF_ONE_HEAD = {each: each for each in ("queries", "keys", "values", "scores", "weights")} | {"output": "heads"}

# --- Names ----------------------------------------------------------------------------------------------------------

_NAMES: dict[Kind, tuple[str, Stack, str]] = {  # on the screen; stack and sub-layer of a place
    "encoder_self": ("encoder", "encoder", "self_attention"),
    "decoder_self": ("decoder", "decoder", "self_attention"),
    "cross": ("cross", "decoder", "cross_attention"),
}
HEAD_PATTERN = r"(?:encoder|decoder|cross) L[1-9]\d{0,3} H[1-9]\d{0,3}"  # a head on the screen


class Head(NamedTuple):
    """Attention head, counted from 0; equal to the tuple (kind, layer, head)."""

    kind: Kind
    layer: int
    head: int

    def __str__(self) -> str:
        """Name on the screen, counted from 1: `cross L5 H3`."""
        return f"{_NAMES[self.kind][0]} {self.short}"

    @property
    def short(self) -> str:
        """Name on the screen beside that of its kind: `L5 H3`."""
        return f"L{self.layer + 1} H{self.head + 1}"

    @property
    def title(self) -> Phrase:
        """Name for readers of any language: `Cross L5 H3`."""
        return Phrase("{kind} {head}", kind=Phrase(KIND_NAMES[self.kind]), head=self.short)

    def place(self, value: str) -> str:
        """Name of a value of the head: `decoder.4.cross_attention.2.weights`."""
        return attention_place(self.kind, self.layer, f"{self.head}.{value}")


def parse_head(text: str, kind: Kind | None = None) -> Head:
    """Parse the name of a head, on the screen (`cross L5 H3`) or as a place (`decoder.4.cross_attention.2`).

    Args:
        kind: of a name that does not have one: `L5 H3` or `L5H3`.

    Raises:
        ValueError: it is none of these.
    """
    for each, (name, stack, sublayer) in _NAMES.items():
        name_of_kind = f"(?:{name} )?" if each == kind else f"{name} "
        if numbers := re.fullmatch(rf"{name_of_kind}L([1-9]\d{{0,3}}) ?H([1-9]\d{{0,3}})", text):
            return Head(each, int(numbers[1]) - 1, int(numbers[2]) - 1)
        if numbers := re.fullmatch(rf"{stack}\.(\d{{1,4}})\.{sublayer}\.(\d{{1,4}})", text):
            return Head(each, int(numbers[1]), int(numbers[2]))
    raise ValueError(
        f"{text!r} is not a head: expected a kind, a layer and a head, counted from 1, such as 'cross L5 H3', or "
        f"counted from 0 as in 'decoder.4.cross_attention.2'"
    )


def stack_of(kind: Kind) -> Stack:
    """The stack that has a kind of attention."""
    return _NAMES[kind][1]


def attention_place(kind: Kind, layer: int, value: str) -> str:
    """Name of a value of an attention layer: `decoder.5.cross_attention.weights`."""
    _, stack, sublayer = _NAMES[kind]
    return f"{stack}.{layer}.{sublayer}.{value}"


def places(model: Transformer, pattern: str = "*") -> list[str]:
    """Names of places in about the order of their computation: all, or those of `decoder.*.cross_attention.weights`."""
    names: list[str] = []
    for name, seam in _seams(model).items():
        names.append(name)
        sublayer, _, value = name.rpartition(".")
        one = next((one for one, of_all in _OF_ONE_HEAD.items() if seam.num_heads and of_all == value), None)
        names += [f"{sublayer}.{head}.{one}" for head in range(seam.num_heads) if one]
    return [name for name in names if fnmatchcase(name, pattern)]


# --- Seeing and setting ---------------------------------------------------------------------------------------------


@contextmanager
def explicit_attention(model: nn.Module) -> Generator[None]:
    """Let the model's own softmax (`AttentionWeights`) compute inside the block, in all layers of attention.

    Elsewhere a fused kernel takes its place. Whoever sees, sets or analyses values comes through here: `edit`, `record`
    and `Translator.inspect`. So a change of `core.model` changes every number of a pass, hooked or not. The model
    itself must not be compiled, see `record`.
    """
    with ExitStack() as hooks:
        for module in model.modules():
            if isinstance(module, AttentionWeights):  # one that is hooked is called
                hooks.enter_context(module.register_forward_hook(lambda *_: None))
        yield


@contextmanager
def record(model: Transformer, places: Iterable[str]) -> Generator[dict[str, Tensor]]:
    """Record values of forward passes inside the block.

    Two threads must not record or edit on one model at the same time; `Translator.inspect` prevents that with a lock.

    With gradients enabled, the model goes on from the recorded tensors themselves, which require a gradient:
    `torch.autograd.grad(loss, values[place])` is the derivative by this place alone, not by others to which the model
    passes the same state. Nothing is detached.

    Args:
        model: not compiled: hooks added after `torch.compile` are ignored.
        places: see the module; `places` lists them.

    Yields:
        Place -> value of the last pass, after the edits of blocks around this one.

    Raises:
        ValueError: the model has no such place.
        RuntimeError: on leaving the block, if a value was never computed.
    """
    values: dict[str, Tensor] = {}

    def keep(place: str) -> Edit:
        def function(value: Tensor) -> Tensor | None:
            if not torch.is_grad_enabled() or not value.is_floating_point() or value.is_inference():
                values[place] = value
                return None
            values[place] = taken = value.view_as(value)
            return taken if taken.requires_grad else taken.requires_grad_()

        return function

    wanted = dict.fromkeys([places] if isinstance(places, str) else places)
    with edit(model, {place: keep(place) for place in wanted}):
        yield values
    if unseen := [place for place in wanted if place not in values]:
        more = ", ..." if len(unseen) > 3 else ""
        raise RuntimeError(
            f"nothing was recorded at {len(unseen)} of {len(wanted)} places ({', '.join(unseen[:3])}{more}): run the "
            f"parts of the model that compute them inside the block, and not through torch.compile"
        )


@contextmanager
def edit(model: Transformer, functions: Mapping[str, Edit]) -> Generator[None]:
    """Change values of forward passes inside the block; the model goes on from what the functions return.

    All attention is explicit, whatever is changed (`explicit_attention`). Functions of one place act in the order of
    their blocks, and of the mapping. The conditions are those of `record`, but a value that no pass computes is left
    alone without an error.

    Args:
        functions: called with the value of a place; None as a result leaves it unchanged. The result has the shape of
            the value, but for the batch.

    Raises:
        ValueError: the model has no such place; in the pass, if a result has another shape.
    """
    seams = _seams(model)
    with ExitStack() as hooks:
        hooks.enter_context(explicit_attention(model))
        for place, function in functions.items():
            hooks.enter_context(_hooked(place, *_found(seams, place), function))
        yield


def later_tokens_visible(model: Transformer) -> dict[str, Edit]:
    """Edits that take the causal mask from whole passes; a search, whose queries are not its keys, keeps it."""
    return dict.fromkeys(
        places(model, "decoder.*.self_attention.mask"),
        lambda mask: mask.any(-2, keepdim=True).expand_as(mask) if mask.size(-2) == mask.size(-1) else None,
    )


class LayerCall(NamedTuple):
    """A call of a module: its first argument, detached if it is a tensor, and its output, with gradients."""

    argument: Any
    output: Tensor


@contextmanager
def record_calls(module: nn.Module) -> Generator[list[LayerCall]]:
    """Record the calls of a module of a model, in their order: a layer with one name may be called more than once."""
    calls: list[LayerCall] = []

    def keep(_module: nn.Module, arguments: tuple[Any, ...], output: Tensor) -> None:
        argument = arguments[0]
        calls.append(LayerCall(argument.detach() if isinstance(argument, Tensor) else argument, output))

    handle = module.register_forward_hook(keep)
    try:
        yield calls
    finally:
        handle.remove()


# --- Hooks ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Seam:
    """Where a value passes between modules."""

    module: nn.Module  # whose argument or output it is
    argument: int | None = None  # its number; None for the output
    num_heads: int = 0  # 0 for a value that is not of heads
    side_by_side: bool = False  # whether the heads are, [B, L, H * E]


def _seams(model: Transformer) -> dict[str, _Seam]:
    """The places of a model, but for those of one head."""
    seams = {"embedding.tokens": _Seam(model.embedding.tokens)}
    if model.target_embedding is not None:
        seams["target_embedding.tokens"] = _Seam(model.target_embedding.tokens)
    for stack in STACKS:
        whole = model.encoder if stack == "encoder" else model.decoder
        seams[f"{stack}.input"] = _Seam(whole, 0)
        for number, layer in enumerate(whole.layers):
            state = _Seam(layer, 0)
            for name in SUBLAYERS[stack]:
                sublayer, norm = layer.get_submodule(name), layer.get_submodule(f"{name}_norm")
                values = {"residual_before": state, "norm_input": _Seam(norm, 0), "norm_output": _Seam(norm)}
                is_last = name == SUBLAYERS[stack][-1]
                state = _Seam(layer if is_last else layer.get_submodule(f"{name}_residual"))
                values |= _inside(sublayer) | {"residual_after": state}
                seams |= {f"{stack}.{number}.{name}.{value}": seam for value, seam in values.items()}
        seams[f"{stack}.output"] = _Seam(whole)
    return seams | {"logits": _Seam(model)}


def _inside(sublayer: nn.Module) -> dict[str, _Seam]:
    """The values of attention or of a feed-forward network."""
    seams = {"input": _Seam(sublayer, 0)}
    if isinstance(sublayer, FeedForward):
        seams["inner"] = _Seam(sublayer.inner)
        if sublayer.multiplier is not None:
            seams["multiplier"] = _Seam(sublayer.multiplier)
        seams["hidden"] = _Seam(sublayer.outer, 0)
    elif isinstance(sublayer, MultiHeadAttention):
        count = sublayer.num_heads
        seams |= {"memory": _Seam(sublayer, 1), "mask": _Seam(sublayer, 2)}
        seams |= {
            "queries": _Seam(sublayer.q_proj, None, count, side_by_side=True),
            "keys": _Seam(sublayer.k_proj, None, count, side_by_side=True),
            "values": _Seam(sublayer.v_proj, None, count, side_by_side=True),
            "scores": _Seam(sublayer.weights, 0, count),
            "weights": _Seam(sublayer.weights, None, count),
            "heads": _Seam(sublayer.out_proj, 0, count, side_by_side=True),
        }
    return seams | {"output": _Seam(sublayer)}


def _found(seams: Mapping[str, _Seam], place: str) -> tuple[_Seam, int | None]:
    """The seam of a place, and the head, if it is of one."""
    if place in seams:
        return seams[place], None
    sublayer, head, value = ("", "", *place.rsplit(".", 2))[-3:]
    seam = seams.get(f"{sublayer}.{_OF_ONE_HEAD.get(value)}")
    if seam and re.fullmatch(r"0|[1-9]\d{0,3}", head) and int(head) < seam.num_heads:
        return seam, int(head)
    nearest = ", ".join(get_close_matches(place, seams, 3, 0))
    raise ValueError(f"this model has no place {place!r}: the nearest names are {nearest}, and `places` lists all")


def _hooked(place: str, seam: _Seam, head: int | None, function: Edit) -> RemovableHandle:
    """Hook a module so that a function sees a value and may change it."""

    def changed(value: Tensor) -> Tensor | None:
        heads = value.unflatten(-1, (seam.num_heads, -1)).transpose(1, 2) if seam.side_by_side else value
        own = heads if head is None else heads[:, head]
        result = function(own)
        if result is None:
            return None
        if result.shape[1:] != own.shape[1:] and not place.endswith(".mask"):
            raise ValueError(f"the function of {place} returned {list(result.shape)}, expected {list(own.shape)}")
        if head is not None:
            whole = heads.expand(len(result), *heads.shape[1:]).clone()
            whole[:, head] = result
            result = whole
        return result.transpose(1, 2).flatten(2) if seam.side_by_side else result

    def before(_module: nn.Module, arguments: tuple[Any, ...]) -> tuple[Any, ...] | None:
        number = seam.argument or 0
        value: Tensor | Neighbourhood = arguments[number]
        result = changed(value.as_mask(arguments[1].size(1)) if isinstance(value, Neighbourhood) else value)
        return None if result is None else (*arguments[:number], result, *arguments[number + 1 :])

    def after(_module: nn.Module, _arguments: tuple[Any, ...], output: Tensor) -> Tensor | None:
        return changed(output)

    if seam.argument is None:
        return seam.module.register_forward_hook(after)
    return seam.module.register_forward_pre_hook(before)
