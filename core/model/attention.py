"""Scaled dot-product attention (3.2.1) and its heads (3.2.2)."""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from core.model.config import HeadShape
from core.model.restricted_attention import Neighbourhood, restricted_attention

KeysValues = tuple[Tensor, Tensor]
Mask = Tensor | Neighbourhood  # keys that queries may attend to, see `MultiHeadAttention.forward`


class MultiHeadAttention(nn.Module):
    """h heads of scaled dot-product attention: Concat(head_1 .. head_h) W_O (3.2.2)."""

    def __init__(self, d_model: int, heads: HeadShape, bias: bool = True) -> None:
        super().__init__()
        self.num_heads = heads.num_heads
        self.q_proj = nn.Linear(d_model, heads.num_heads * heads.d_k, bias)
        self.k_proj = nn.Linear(d_model, heads.num_heads * heads.d_k, bias)
        self.v_proj = nn.Linear(d_model, heads.num_heads * heads.d_v, bias)
        self.out_proj = nn.Linear(heads.num_heads * heads.d_v, d_model, bias)
        self.weights = AttentionWeights()

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        mask: Mask,
        remember: Callable[[Callable[[], KeysValues]], KeysValues] | None = None,
    ) -> Tensor:
        """Attend from every position of `x` to the positions of `memory`.

        Args:
            x: [B, Q, D] input of the queries.
            memory: [B, K, D] input of keys and values: `x` itself in self-attention.
            mask: boolean, broadcasts to [B, H, Q, K]; True may be attended to, and every row has a True. Or numbers
                that are added to the scores, minus infinity for False (`RelativePositions`). Or neighbourhoods (4).
            remember: a cache: takes a function that computes keys and values of `memory`, returns those to use.

        Returns:
            [B, Q, D]
        """
        queries, keys_values = self.project_qkv(x, memory)  # [B, H, Q, E]
        keys, values = remember(keys_values) if remember else keys_values()  # [B, H, K, E]
        heads = scaled_dot_product_attention(queries, keys, values, mask, self.weights)  # [B, H, Q, E]
        return self.out_proj(heads.transpose(1, 2).flatten(2))

    def project_qkv(self, x: Tensor, memory: Tensor) -> tuple[Tensor, Callable[[], KeysValues]]:
        """Queries, and a function that computes the keys and values on demand.

        [B, Q, D], [B, K, D] -> [B, H, Q, d_k], () -> (keys, values).
        """
        return self._split(self.q_proj(x)), lambda: self.keys_values(memory)

    def keys_values(self, memory: Tensor) -> KeysValues:
        """[B, K, D] -> keys [B, H, K, d_k] and values [B, H, K, d_v]."""
        return self._split(self.k_proj(memory)), self._split(self.v_proj(memory))

    def _split(self, x: Tensor) -> Tensor:
        """[B, L, H * E] -> [B, H, L, E]."""
        return x.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)


class AttentionWeights(nn.Module):
    """Softmax of the scores over keys (3.2.1), a module so that a forward hook can read or replace the weights."""

    def forward(self, scores: Tensor) -> Tensor:
        """[B, H, Q, K] -> [B, H, Q, K]; rows sum to 1."""
        return scores.softmax(dim=-1)


def is_hooked(weights: AttentionWeights) -> bool:
    """Whether a hook reads or replaces the attention weights."""
    return bool(weights._forward_hooks)  # pyright: ignore[reportPrivateUsage]


def scaled_dot_product_attention(
    queries: Tensor, keys: Tensor, values: Tensor, mask: Mask, weights: AttentionWeights
) -> Tensor:
    """softmax(Q K^T / sqrt(d_k)) V (3.2.1).

    Unless `weights` is hooked, PyTorch's fused kernel computes the same without storing the Q x K matrix.

    Args:
        queries: [B, H, Q, d_k]
        keys: [B, H, K, d_k]
        values: [B, H, K, d_v]
        mask: boolean, broadcasts to [B, H, Q, K]; True may be attended to. Or numbers that are added to the scores. Or
            neighbourhoods (4).
        weights: the softmax, hooked or not.

    Returns:
        [B, H, Q, d_v]
    """
    if isinstance(mask, Neighbourhood):
        if not is_hooked(weights):
            return restricted_attention(queries / math.sqrt(queries.size(-1)), keys, values, mask, weights)
        mask = mask.as_mask(keys.size(2))
    # On CPUs a training step of `multi30k` with the fused kernel takes twice as long in bfloat16, as its backward is
    # slow, and about as long in float32, with AVX-512 as with AVX2 (benchmarks/README.md): training there takes the
    # explicit path.
    trains_on_cpu = queries.device.type == "cpu" and torch.is_grad_enabled() and queries.requires_grad
    if not is_hooked(weights) and not trains_on_cpu:
        return F.scaled_dot_product_attention(queries, keys, values, attn_mask=mask)
    scores = (queries / math.sqrt(queries.size(-1))) @ keys.transpose(-2, -1)  # [B, H, Q, K]
    return weights(masked_scores(scores, mask)) @ values


def masked_scores(scores: Tensor, mask: Tensor) -> Tensor:
    """Scores with minus infinity where a boolean mask is False, or with the numbers of any other mask added.

    Args:
        scores: [..., Q, K]
        mask: broadcasts to them, see `MultiHeadAttention.forward`.
    """
    return scores.masked_fill(~mask, -math.inf) if mask.dtype == torch.bool else scores + mask
