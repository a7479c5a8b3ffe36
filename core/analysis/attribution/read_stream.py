"""The residual stream that a projection reads, as a sum of what was written into it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn

from core.analysis.heads.head import constant_outputs
from core.analysis.linear_norm import centred, norm_bias, squared_scale
from core.model import FeedForward, MultiHeadAttention, Norm, Transformer
from core.trace import KINDS, SUBLAYERS, Stack, attention_place

Part = Literal["token", "position", "distance", "constant", "feed_forward", "encoder_self", "decoder_self", "cross"]
Summand = tuple[Part, int | None, int | None]  # part, layer and head of a term


class StreamStep(NamedTuple):
    """A sub-layer that writes into a stream, or a norm that the stream passes."""

    module: MultiHeadAttention | FeedForward | Norm
    place: str  # of the heads before W_O, of the network's output, or of the norm's input
    constant: Tensor  # [D] of a sub-layer, see `constant_outputs`; of a norm its bias
    part: Part = "constant"  # of a sub-layer; without meaning for a norm, as its layer
    layer: int | None = None


@dataclass(frozen=True)
class ReadStream:
    """A stream from the embedding to the projection that reads it."""

    stack: Stack
    steps: tuple[StreamStep, ...]  # in the order in which they act
    has_positions: bool  # whether positions are added to the embeddings

    @property
    def places(self) -> list[str]:
        return [f"{self.stack}.input", *(step.place for step in self.steps)]

    def terms(self, values: Mapping[str, Tensor], read: Tensor, rows: slice = slice(None)) -> dict[Summand, Tensor]:
        """Products of a direction with each part of the state that is read.

        The direction is taken back through the norms, by the transpose of each.

        Args:
            values: of the places, without the batch axis, and `encoder.tokens` or `decoder.tokens`, scaled embeddings.
            read: [L, D] direction of each row.
            rows: the L rows.

        Returns:
            [L] by part.
        """
        written: dict[Summand, Tensor] = {}  # the last one first
        constant = read.new_zeros(len(read))
        for module, place, own, part, layer in reversed(self.steps):
            constant = constant + read @ own
            if isinstance(module, MultiHeadAttention):
                by_head = (read @ exact(module.out_proj.weight)).unflatten(1, (module.num_heads, -1))  # [L, H, d_v]
                of_heads = torch.einsum("lhv,hlv->hl", by_head, values[place][:, rows])
                written |= {(part, layer, head): of_heads[head] for head in reversed(range(module.num_heads))}
            elif isinstance(module, FeedForward):
                written[part, layer, None] = ((values[place][rows] - own) * read).sum(1)
            else:
                scale = squared_scale(module, values[place][rows]).rsqrt()
                read = centred(module, exact(module.weight) * read) * scale  # subtracting a mean is its own transpose
        tokens, entered = values[f"{self.stack}.tokens"][rows], values[f"{self.stack}.input"][rows]
        found: dict[Summand, Tensor] = {("token", None, None): (tokens * read).sum(1)}
        if self.has_positions:
            found["position", None, None] = ((entered - tokens) * read).sum(1)
        return {**found, **dict(reversed(written.items())), ("constant", None, None): constant}


def read_stream(model: Transformer, stack: Stack, reader: tuple[int, str] | None) -> ReadStream:
    """The stream that a sub-layer reads, given by its layer and its name; None: the output of the stack."""
    whole = model.encoder if stack == "encoder" else model.decoder
    steps: list[StreamStep] = []
    constants = {place: exact(each) for place, each in constant_outputs(model, stack).items()}

    def add(norm: nn.Module, place: str) -> None:
        if isinstance(norm, Norm):
            steps.append(StreamStep(norm, place, exact(norm_bias(norm))))

    add(whole.input_norm, f"{stack}.input")
    place = ""
    for layer, name in ((layer, name) for layer in range(len(whole.layers)) for name in SUBLAYERS[stack]):
        block, place = whole.layers[layer], f"{stack}.{layer}.{name}"
        norm, module = block.get_submodule(f"{name}_norm"), block.get_submodule(name)
        if (layer, name) == reader:
            if model.config.norm == "pre":
                add(norm, f"{place}.norm_input")
            break
        if isinstance(module, MultiHeadAttention):
            kind: Part = next(each for each in KINDS if attention_place(each, layer, "heads") == f"{place}.heads")
            steps.append(StreamStep(module, f"{place}.heads", constants[place], kind, layer))
        elif isinstance(module, FeedForward):
            steps.append(StreamStep(module, f"{place}.output", constants[place], "feed_forward", layer))
        if model.config.norm == "post":
            add(norm, f"{place}.norm_input")
    else:
        add(whole.output_norm, f"{place}.residual_after")
    return ReadStream(stack, tuple(steps), not model.config.relative)


def exact(values: Tensor) -> Tensor:
    """A copy in float64, on the CPU as MPS lacks it."""
    return values.detach().cpu().double()
