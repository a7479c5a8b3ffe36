"""Recorded runs of two sources with one target prefix, for patching."""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from core.capture import KINDS, Kind
from core.config import TransformerConfig
from core.model import Mask, MultiHeadAttention, Transformer
from core.restricted import Neighbourhood
from core.translator import Translator

Side = Literal["encoder", "decoder"]
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

_MODULES: dict[Component, tuple[Side, str]] = {  # in a layer; "" is the layer itself
    "encoder_self": ("encoder", "self_attention"),
    "encoder_feed_forward": ("encoder", "feed_forward"),
    "encoder_state": ("encoder", ""),
    "decoder_self": ("decoder", "self_attention"),
    "cross": ("decoder", "cross_attention"),
    "decoder_feed_forward": ("decoder", "feed_forward"),
    "decoder_state": ("decoder", ""),
}
COMPONENTS: tuple[Component, ...] = tuple(_MODULES)
MIN_DIFFERENCE = 0.01  # nats between the metrics of both runs; a share of less says nothing


@dataclass(frozen=True)
class Patch:
    """An output that is taken from the other run.

    Attributes:
        component: what a sub-layer adds to the residual connection, or the state after a layer.
        layer: counted from 0.
        position: counted from 0; None for all.
        head: of an attention component, counted from 0; None for the whole output.
    """

    component: Component
    layer: int
    position: int | None = None
    head: int | None = None


@dataclass(frozen=True)
class PairRuns:
    """The runs of a clean and of a corrupted source with one target prefix; the clean one is row 0.

    Attributes:
        texts: both sources.
        source_ids: [2, S]
        fed: [1, T] tokens fed to the decoder; the last one predicts the token.
        token, against: ids of A and B.
        outputs: [2, S or T, D] output of each component of each layer.
        heads: [2, S or T, H * d_v] outputs of the heads of each attention layer, before the output matrix.
        entered: [2, S or T, D] input of the first layer of each side.
        masks: [1, 1, ...] boolean masks of encoder self-attention, decoder self-attention and cross-attention.
        memory: [2, S, D] output of the encoder.
        logits: [2, V] of the next token.
    """

    translator: Translator
    texts: tuple[str, str]
    source_ids: Tensor
    fed: Tensor
    token: int
    against: int
    metric: Metric
    outputs: dict[tuple[Component, int], Tensor]
    heads: dict[tuple[Kind, int], Tensor]
    entered: dict[Side, Tensor]
    masks: tuple[Tensor, Tensor, Tensor]
    memory: Tensor
    logits: Tensor

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
        clean, corrupted = (self.translator.source_pieces(ids) for ids in self.source_ids.tolist())
        return clean, corrupted

    @property
    def fed_tokens(self) -> tuple[str, ...]:
        """T tokens fed to the decoder."""
        return self.translator.pieces(self.fed[0].tolist())

    def measured(self, logits: Tensor) -> Tensor:
        """Metric of logits [W, V]: the logit of A minus that of B, or the log-probability of A: [W].

        The difference of two logits is that of their log-probabilities, too: both have the same normaliser.
        """
        if self.metric == "difference":
            return logits[:, self.token] - logits[:, self.against]
        return logits.log_softmax(-1)[:, self.token]

    def entering(self, side: Side, layer: int) -> Tensor:
        """[2, S or T, D] input of a layer."""
        before: Component = "encoder_state" if side == "encoder" else "decoder_state"
        return self.outputs[before, layer - 1] if layer else self.entered[side]

    def attended(self, side: Side, layer: int) -> Tensor:
        """[2, S or T, D] output of a layer's self-attention."""
        return self.outputs["encoder_self" if side == "encoder" else "decoder_self", layer]

    def of_heads(self, component: Component, layer: int) -> Tensor:
        """[2, S or T, H, d_v] outputs of the heads of a layer, before the output matrix."""
        assert component in KINDS
        return self.heads[component, layer].unflatten(-1, (self.num_heads(component), -1))

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


def side_of(component: Component) -> Side:
    """Side of the model that a component belongs to."""
    return _MODULES[component][0]


def component_modules(model: Transformer, component: Component) -> list[nn.Module]:
    """Modules of a component, one for each layer."""
    side, name = _MODULES[component]
    stack = model.encoder if side == "encoder" else model.decoder
    return [layer.get_submodule(name) for layer in stack.layers]


@contextmanager
def removed_hooks() -> Generator[list[RemovableHandle]]:
    """A list for handles of hooks, which are removed at the end of the block."""
    handles: list[RemovableHandle] = []
    try:
        yield handles
    finally:
        for handle in handles:
            handle.remove()


@torch.inference_mode()
def record_runs(
    translator: Translator,
    clean: str,
    corrupted: str,
    target: str | Sequence[int],
    position: int,
    token: int | None = None,
    against: int | None = None,
    metric: Metric = "difference",
) -> PairRuns:
    """Run a clean and a corrupted source with one target prefix, and record the outputs of all components.

    Args:
        clean, corrupted: sources of equal length in tokens.
        target: as for `Translator.explain`.
        position: of the predicted token, from 0; the tokens before it are the prefix.
        token: id of A; None for the predicted token.
        against: id of B; None for the corrupted run's most probable token other than A.

    Raises:
        ValueError: as `Translator.explain`; the sources have different lengths, are the same, or hardly differ in the
            metric; there is no such position or token; A is B.
    """
    clean_ids, fed, predicted = translator.token_ids(clean, target)
    corrupted_ids = translator.token_ids(corrupted, "")[0]
    check_sources(translator, clean_ids, corrupted_ids)
    check_position(position, predicted)
    token = predicted[position] if token is None else token
    runs = recorded_passes(
        translator, (clean, corrupted), (clean_ids, corrupted_ids), fed[: position + 1], token, against, metric
    )
    if abs(runs.clean - runs.corrupted) < MIN_DIFFERENCE:
        name = "difference of the logits" if metric == "difference" else "log-probability"
        raise ValueError(
            f"the {name} is {runs.clean:.3f} with the clean sentence and {runs.corrupted:.3f} with the corrupted one, "
            f"so there is nothing to recover: choose another predicted token or another corrupted sentence"
        )
    return runs


@torch.inference_mode()
def recorded_passes(
    translator: Translator,
    texts: tuple[str, str],
    sources: tuple[Sequence[int], Sequence[int]],
    fed: Sequence[int],
    token: int,
    against: int | None,
    metric: Metric,
) -> PairRuns:
    """Run two sources of equal length with one prefix, and record the outputs of all components.

    Args:
        texts, sources: both sources, and their token ids.
        fed: tokens fed to the decoder.
        token, against: as for `record_runs`.

    Raises:
        ValueError: there is no such token, or A is B.
    """
    calls: dict[tuple[Component, int], tuple[tuple[Any, ...], Tensor]] = {}
    concatenated: dict[tuple[Kind, int], tuple[tuple[Any, ...], Tensor]] = {}
    with translator.inspect() as model, removed_hooks() as handles:
        for component in COMPONENTS:
            for layer, module in enumerate(component_modules(model, component)):
                handles.append(module.register_forward_hook(_keep_call(calls, (component, layer))))
                if component in KINDS and isinstance(module, MultiHeadAttention):
                    handles.append(module.out_proj.register_forward_hook(_keep_call(concatenated, (component, layer))))
        source_ids, fed_ids = translator.batch(list(sources)), translator.batch([fed])
        logits = model(source_ids, fed_ids.expand(2, -1))[:, -1].float()
    encoder_input, encoder_mask = calls["encoder_state", 0][0]
    decoder_input, memory, decoder_mask, memory_mask, *_ = calls["decoder_state", 0][0]
    if against is None:
        against = _best_other(translator, logits[1], token)
    for name, token_id in (("token", token), ("against", against)):
        if not 0 <= token_id < logits.size(1):
            raise ValueError(f"{name} is {token_id}, expected the id of a target token, 0 to {logits.size(1) - 1}")
    if token == against:
        raise ValueError(f"both tokens are {translator.pieces([token])[0]}: give another one to compare with")
    return PairRuns(
        translator=translator,
        texts=texts,
        source_ids=source_ids,
        fed=fed_ids,
        token=token,
        against=against,
        metric=metric,
        outputs={key: output for key, (_, output) in calls.items()},
        heads={key: arguments[0] for key, (arguments, _) in concatenated.items()},
        entered={"encoder": encoder_input, "decoder": decoder_input},
        masks=(_of_one(encoder_mask, source_ids), _of_one(decoder_mask, fed_ids), memory_mask[:1]),
        memory=memory,
        logits=logits,
    )


def check_position(position: int, predicted: Sequence[int]) -> None:
    """Check that there is a predicted token at a position.

    Raises:
        ValueError: there is none.
    """
    if not 0 <= position < len(predicted):
        raise ValueError(
            f"position {position} is not one of the {len(predicted)} predicted tokens: give 0 to {len(predicted) - 1}"
        )


def check_sources(translator: Translator, clean: Sequence[int], corrupted: Sequence[int]) -> None:
    """Check that two sources can be patched.

    Raises:
        ValueError: they have different lengths, or are the same.
    """
    if len(clean) != len(corrupted):
        written = [" ".join(translator.source_pieces(ids)) for ids in (clean, corrupted)]
        raise ValueError(
            f"the clean sentence has {len(clean)} tokens ({written[0]}), the corrupted one {len(corrupted)} "
            f"({written[1]}): patching needs equally many, so replace a word by one of as many tokens"
        )
    if clean == corrupted:
        raise ValueError("both sentences have the same tokens: change a word of the corrupted one")


def _best_other(translator: Translator, logits: Tensor, token: int) -> int:
    """Most probable token that a search may generate, other than `token`."""
    never = [*translator.search_options().excluded, token]
    return int(logits.index_fill(0, torch.tensor(never, device=logits.device), -torch.inf).argmax())


def _of_one(mask: Mask, ids: Tensor) -> Tensor:
    """Mask of one sentence without padding: boolean, broadcasts to [W, H, Q, K]."""
    return (mask.as_mask(ids.size(1)) if isinstance(mask, Neighbourhood) else mask)[:1]


def _keep_call(
    calls: dict[Any, tuple[tuple[Any, ...], Tensor]], key: Any
) -> Callable[[nn.Module, tuple[Any, ...], Tensor], None]:
    """Forward hook that records the arguments and the output of a module."""

    def hook(_module: nn.Module, arguments: tuple[Any, ...], output: Tensor) -> None:
        calls[key] = arguments, output

    return hook
