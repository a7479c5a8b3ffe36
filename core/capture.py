"""Attention weights of every head, by module path, and as maps with the tokens of both axes."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any, SupportsIndex, overload

import torch
from torch import Tensor

from core.files.process_memory import PROCESS
from core.files.tabular import Tabular
from core.model import Transformer
from core.model.config import TransformerConfig
from core.model.restricted_attention import causal_neighbourhood, centred_neighbourhood
from core.trace import KINDS, Edit, Kind, attention_place, edit, stack_of

Replace = Callable[[str, Tensor], Tensor | None]
_PATHS = {kind: f"{stack_of(kind)}.layers.{{}}.{'cross' if kind == 'cross' else 'self'}_attention" for kind in KINDS}


@dataclass(frozen=True)
class AttentionMap(Tabular):
    """Attention of the heads of one layer, with the tokens of both axes."""

    kind: Kind  # which of the three uses of attention (3.2.3)
    layer: int  # counted from 0
    weights: Tensor  # [H, Q, K] float32; rows sum to 1 over the visible keys
    query_tokens: tuple[str, ...]  # Q query tokens; in the decoder the tokens fed to it
    key_tokens: tuple[str, ...]  # K key tokens
    predicted_tokens: tuple[str, ...] | None = None  # Q tokens predicted at the same positions; None in the encoder
    # [Q, K] boolean, True where the query may attend to the key (see `attention_mask`); None for full attention: all
    # keys, and in decoder self-attention those up to the query's own position
    mask: Tensor | None = None
    # [H, Q] weight of each row on the keys that `select` left out; None if it left out none
    hidden: Tensor | None = None

    def __post_init__(self) -> None:
        if PROCESS.limit is not None:
            PROCESS.hold(self, self.weights.nbytes)
        expected = (len(self.query_tokens), len(self.key_tokens))
        if self.weights.dim() != 3 or tuple(self.weights.shape[1:]) != expected:
            raise ValueError(
                f"weights have shape {list(self.weights.shape)}, expected [heads, {expected[0]}, {expected[1]}] for "
                f"these tokens"
            )
        if self.predicted_tokens is not None and len(self.predicted_tokens) != len(self.query_tokens):
            raise ValueError(f"{len(self.predicted_tokens)} predicted tokens for {len(self.query_tokens)} query tokens")
        if self.mask is not None and (self.mask.dtype != torch.bool or tuple(self.mask.shape) != expected):
            given = f"{self.mask.dtype} {list(self.mask.shape)}"
            raise ValueError(f"the mask is {given}, expected torch.bool {list(expected)}, as the weights of one head")
        if self.hidden is not None and self.hidden.shape != self.weights.shape[:2]:
            raise ValueError(
                f"the hidden weights have shape {list(self.hidden.shape)}, expected one a row of each head: "
                f"{list(self.weights.shape[:2])}"
            )

    def __repr__(self) -> str:
        heads, queries, keys = self.weights.shape
        return f"<AttentionMap {self.kind}, layer {self.layer}: {heads} heads, {queries} queries, {keys} keys>"

    def table(self, heads: Sequence[int] | None = None, label: Callable[[str], str] = str) -> dict[str, list[Any]]:
        """A row for each weight of some heads, by default of all; layers, heads and positions are counted from 0.

        In the decoder `query` is the token that was fed.

        Args:
            label: what is written of a token.
        """
        heads = range(self.num_heads) if heads is None else heads
        places = [*product(heads, range(len(self.query_tokens)), range(len(self.key_tokens)))]
        queries, keys, predicted = (
            [*map(label, tokens or ())] for tokens in (self.query_tokens, self.key_tokens, self.predicted_tokens)
        )
        return {
            "kind": [self.kind] * len(places),
            "layer": [self.layer] * len(places),
            "head": [head for head, _, _ in places],
            "query_position": [query for _, query, _ in places],
            "query": [queries[query] for _, query, _ in places],
            **({"predicted": [predicted[query] for _, query, _ in places]} if predicted else {}),
            "key_position": [key for _, _, key in places],
            "key": [keys[key] for _, _, key in places],
            "weight": self.weights[[*heads]].flatten().tolist(),
        }

    @property
    def visible(self) -> Tensor:
        """[Q, K] boolean mask of the keys each query may attend to."""
        return full_mask(self.kind, *self.weights.shape[1:]) if self.mask is None else self.mask

    @property
    def row_tokens(self) -> tuple[str, ...]:
        """Tokens that name the rows: predicted tokens in the decoder, else query tokens."""
        return self.predicted_tokens or self.query_tokens

    def select(self, rows: Sequence[int], keys: Sequence[int]) -> "AttentionMap":
        """A map of these rows and keys only; weights are not renormalised.

        The weight on the other keys is in `hidden`.
        """
        of_rows = self.weights[:, rows]
        hidden = None if self.hidden is None else self.hidden[:, rows]
        if others := sorted(set(range(self.weights.size(2))).difference(keys)):
            hidden = of_rows[:, :, others].sum(2) + (0 if hidden is None else hidden)
        return replace(
            self,
            weights=of_rows[:, :, keys],
            query_tokens=tuple(self.query_tokens[row] for row in rows),
            key_tokens=tuple(self.key_tokens[key] for key in keys),
            predicted_tokens=self.predicted_tokens and tuple(self.predicted_tokens[row] for row in rows),
            mask=self.visible[rows][:, keys],
            hidden=hidden,
        )

    @cached_property
    def num_heads(self) -> int:
        return self.weights.size(0)


class LayerMaps(tuple[AttentionMap, ...]):
    """The maps of one kind, one a layer, counted from 0."""

    @overload
    def __getitem__(self, index: SupportsIndex) -> AttentionMap: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[AttentionMap, ...]: ...
    def __getitem__(self, index: SupportsIndex | slice) -> AttentionMap | tuple[AttentionMap, ...]:
        try:
            return super().__getitem__(index)
        except (IndexError, TypeError) as error:
            last = f"0 to {len(self) - 1}, counted from 0" if self else "none"
            raise IndexError(f"there is no layer {index!r:.60}: the layers here are {last}") from error


class KindMaps(dict[Kind, tuple[AttentionMap, ...]]):
    """The maps of all layers, `LayerMaps`, by the kind of attention."""

    def __init__(self, maps: Mapping[Kind, Sequence[AttentionMap]]) -> None:
        super().__init__((kind, LayerMaps(layers)) for kind, layers in maps.items())

    def __missing__(self, kind: object) -> tuple[AttentionMap, ...]:
        raise KeyError(f"there is no kind of attention {kind!r:.60}: the kinds here are {', '.join(self)}")


def full_mask(kind: Kind, queries: int, keys: int) -> Tensor:
    """Mask of full attention (3.2.3): boolean [Q, K], on the CPU."""
    everything = torch.ones(queries, keys, dtype=torch.bool)
    return everything.tril() if kind == "decoder_self" else everything


def attention_mask(kind: Kind, length: int, neighbourhood: int | None, autoregressive: bool = True) -> Tensor | None:
    """`AttentionMap.mask` of a sentence for a given `TransformerConfig.neighbourhood`, [length, length] boolean.

    None for full attention, see `AttentionMap`, as in cross-attention, and for a model without causal mask.
    """
    if kind == "decoder_self" and not autoregressive:
        return torch.ones(length, length, dtype=torch.bool)
    if neighbourhood is None or kind == "cross":
        return None
    nearest = centred_neighbourhood if kind == "encoder_self" else causal_neighbourhood
    return nearest(torch.ones(1, length, dtype=torch.bool), neighbourhood).as_mask(length)[0, 0]


def visible_mask(kind: Kind, weights: Tensor, neighbourhood: int | None, autoregressive: bool = True) -> Tensor | None:
    """`attention_mask` of weights [H, Q, K]; of a decoder that has put weight on later tokens, they are visible."""
    is_open = kind == "decoder_self" and bool(weights.triu(1).any())
    return attention_mask(kind, weights.size(-1), neighbourhood, autoregressive and not is_open)


def attention_path(kind: Kind, layer: int) -> str:
    """Module path of a layer, such as `decoder.layers.5.cross_attention`."""
    return _PATHS[kind].format(layer)


@contextmanager
def capture_attention(model: Transformer, replace: Replace | None = None) -> Iterator[dict[str, Tensor]]:
    """Record the attention weights of all layers in forward passes inside the block.

    Outside the block the model is unchanged. Only one thread may capture on a model at a time: `Translator` has a lock.

    Args:
        model: not compiled: hooks added after `torch.compile` are ignored.
        replace: called with a path and the weights [B, H, Q, K]; its result, unless None, is used and recorded instead.

    Yields:
        Module path -> weights [B, H, Q, K] of the last forward pass, detached:
        `maps["decoder.layers.5.cross_attention"]`.

    Raises:
        RuntimeError: on leaving the block, if the weights of some layer were never computed.
    """
    maps: dict[str, Tensor] = {}
    counts = {"encoder": len(model.encoder.layers), "decoder": len(model.decoder.layers)}
    layers: list[tuple[Kind, int]] = [(kind, layer) for kind in KINDS for layer in range(counts[stack_of(kind)])]
    paths = [attention_path(*each) for each in layers]
    names = [attention_place(*each, "weights") for each in layers]

    def watch(path: str) -> Edit:
        def function(weights: Tensor) -> Tensor | None:
            replaced = replace(path, weights) if replace else None
            maps[path] = (weights if replaced is None else replaced).detach()
            return replaced

        return function

    with edit(model, {name: watch(path) for name, path in zip(names, paths, strict=True)}):
        yield maps
    unseen = sorted({*paths} - maps.keys())
    if unseen:
        raise RuntimeError(
            f"no attention was captured in {len(unseen)} of {len(paths)} layers ({', '.join(unseen[:3])}"
            f"{', ...' if len(unseen) > 3 else ''}): run the whole model inside the block, and not through "
            f"torch.compile"
        )


def attention_maps(
    captured: Mapping[str, Tensor],
    config: TransformerConfig,
    source_tokens: tuple[str, ...],
    fed_tokens: tuple[str, ...],
    predicted_tokens: tuple[str, ...],
    row: int = 0,
) -> dict[Kind, tuple[AttentionMap, ...]]:
    """Attention maps of one sentence, a row of the batch without padding, from the output of `capture_attention`."""

    def layers(
        kind: Kind, count: int, queries: tuple[str, ...], keys: tuple[str, ...], predicted: tuple[str, ...] | None
    ) -> tuple[AttentionMap, ...]:
        weights = (
            captured[attention_path(kind, layer)][row, :, : len(queries), : len(keys)].float().cpu()
            for layer in range(count)
        )
        masks = config.neighbourhood, config.autoregressive
        return tuple(
            AttentionMap(kind, layer, each, queries, keys, predicted, visible_mask(kind, each, *masks))
            for layer, each in enumerate(weights)
        )

    return {
        "encoder_self": layers("encoder_self", config.num_encoder_layers, source_tokens, source_tokens, None),
        "decoder_self": layers("decoder_self", config.num_decoder_layers, fed_tokens, fed_tokens, predicted_tokens),
        "cross": layers("cross", config.num_decoder_layers, fed_tokens, source_tokens, predicted_tokens),
    }
