"""Runs of two sources with one target prefix, for patching."""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from core.model import Transformer
from core.model.config import TransformerConfig
from core.trace import KINDS, Kind, Stack
from core.translator import Translator

Component = Literal[
    "encoder_self",
    "encoder_feed_forward",
    "encoder_state",
    "decoder_self",
    "cross",
    "decoder_feed_forward",
    "decoder_state",
]
Metric = Literal["difference", "log_prob"]
METRICS: tuple[Metric, ...] = ("difference", "log_prob")

_MODULES: dict[Component, tuple[Stack, str]] = {  # in a layer; "" is the layer itself
    "encoder_self": ("encoder", "self_attention"),
    "encoder_feed_forward": ("encoder", "feed_forward"),
    "encoder_state": ("encoder", ""),
    "decoder_self": ("decoder", "self_attention"),
    "cross": ("decoder", "cross_attention"),
    "decoder_feed_forward": ("decoder", "feed_forward"),
    "decoder_state": ("decoder", ""),
}
COMPONENTS: tuple[Component, ...] = tuple(_MODULES)


@dataclass(frozen=True)
class Patch:
    """An output that is taken from the other run."""

    component: Component  # the vector that a sub-layer adds to the residual connection, or the state after a layer
    layer: int  # counted from 0
    position: int | None = None  # counted from 0; None for all
    head: int | None = None  # of an attention component, counted from 0; None for the whole output


@dataclass(frozen=True)
class PairRuns:
    """The runs of a clean (row 0) and of a corrupted source with one target prefix."""

    translator: Translator
    texts: tuple[str, str]  # both sources
    source_ids: Tensor  # [2, S]
    fed: Tensor  # [1, T] tokens fed to the decoder; the last one predicts the token
    token: int  # id of A
    against: int  # of B
    metric: Metric
    outputs: dict[tuple[Component, int], Tensor]  # [2, S or T, D] output of each component of each layer
    heads: dict[tuple[Kind, int], Tensor]  # [2, S or T, H, d_v] outputs of each layer's heads, before the output matrix
    entered: dict[Stack, Tensor]  # [2, S or T, D] input of the first layer of each side
    masks: dict[tuple[Kind, int], Tensor]  # [1, 1 or H, ...] of each layer, as `MultiHeadAttention.forward` takes them
    memory: Tensor  # [2, S, D] output of the encoder
    logits: Tensor  # [2, V] of the next token

    @property
    def clean(self) -> float:
        """Metric of the clean run."""
        return float(self.measured(self.logits)[0])

    @property
    def corrupted(self) -> float:
        """Metric of the corrupted run."""
        return float(self.measured(self.logits)[1])

    @property
    def config(self) -> TransformerConfig:
        return self.translator.model.config

    @property
    def source_tokens(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """S tokens of the clean and of the corrupted source."""
        clean, corrupted = (self.translator.codec.source_pieces(ids) for ids in self.source_ids.tolist())
        return clean, corrupted

    @property
    def fed_tokens(self) -> tuple[str, ...]:
        """T tokens fed to the decoder."""
        return self.translator.codec.fed_pieces(self.fed[0].tolist())

    def measured(self, logits: Tensor) -> Tensor:
        """Metric of logits, the logit of A minus that of B, or the log-probability of A: [W, V] -> [W].

        The difference of two logits is that of their log-probabilities, too, as both have the same normaliser.
        """
        if self.metric == "difference":
            return logits[:, self.token] - logits[:, self.against]
        return logits.log_softmax(-1)[:, self.token]

    def entering(self, side: Stack, layer: int) -> Tensor:
        """[2, S or T, D] input of a layer."""
        before: Component = "encoder_state" if side == "encoder" else "decoder_state"
        return self.outputs[before, layer - 1] if layer else self.entered[side]

    def attended(self, side: Stack, layer: int) -> Tensor:
        """[2, S or T, D] output of a layer's self-attention."""
        return self.outputs["encoder_self" if side == "encoder" else "decoder_self", layer]

    def of_heads(self, component: Component, layer: int) -> Tensor:
        """[2, S or T, H, d_v] outputs of the heads of a layer, before the output matrix."""
        assert component in KINDS
        return self.heads[component, layer]

    def num_layers(self, component: Component) -> int:
        """Number of layers on the component's side."""
        config = self.config
        return config.num_encoder_layers if side_of(component) == "encoder" else config.num_decoder_layers

    def num_positions(self, component: Component) -> int:
        """S in the encoder, T in the decoder."""
        return self.source_ids.size(1) if side_of(component) == "encoder" else self.fed.size(1)

    def num_heads(self, component: Component) -> int:
        """Number of heads in each layer of an attention component."""
        heads = self.config.encoder_heads if component == "encoder_self" else self.config.decoder_heads
        return heads.num_heads

    def matters(self, patch: Patch) -> bool:
        """Whether a patch alone can change the next token: both runs differ there, and the next token depends on it."""
        is_read = patch.position in (None, self.fed.size(1) - 1)
        is_last = side_of(patch.component) == "decoder" and patch.layer == self.num_layers(patch.component) - 1
        return self.differs(patch) and (is_read or not is_last)

    def differs(self, patch: Patch) -> bool:
        """Whether the two runs differ in the output of a patch."""
        positions = slice(None) if patch.position is None else slice(patch.position, patch.position + 1)
        if patch.head is None:
            both = self.outputs[patch.component, patch.layer][:, positions]
        else:
            both = self.of_heads(patch.component, patch.layer)[:, positions, patch.head]
        return not torch.equal(both[0], both[1])

    def check(self, patch: Patch) -> None:
        """Check that a patch exists in these runs.

        Raises:
            ValueError: it does not.
        """
        limits = [("layer", patch.layer, self.num_layers(patch.component))]
        if patch.position is not None:
            limits.append(("position", patch.position, self.num_positions(patch.component)))
        if patch.head is not None:
            if patch.component not in KINDS:
                raise ValueError(f"{patch.component} has no heads: patch a head of {', '.join(KINDS)}, or no head")
            limits.append(("head", patch.head, self.num_heads(patch.component)))
        for name, value, count in limits:
            if not 0 <= value < count:
                raise ValueError(f"{patch.component} has no {name} {value}: expected 0 to {count - 1}")


def side_of(component: Component) -> Stack:
    """Stack that a component belongs to."""
    return _MODULES[component][0]


def component_place(component: Component, layer: int, value: str = "output") -> str:
    """Name of a value of a component, see `core.trace`; of a state, that after the layer."""
    stack, sublayer = _MODULES[component]
    return f"{stack}.{layer}.{sublayer}.{value}" if sublayer else f"{stack}.{layer}.feed_forward.residual_after"


def component_modules(model: Transformer, component: Component) -> list[nn.Module]:
    """Modules of a component, one for each layer."""
    side, name = _MODULES[component]
    stack = model.encoder if side == "encoder" else model.decoder
    return [layer.get_submodule(name) for layer in stack.layers]
