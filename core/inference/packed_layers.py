"""Layers of the model on packed matrix products."""

from collections.abc import Callable

from torch import Tensor, nn

from core.inference.compiled_model import joined
from core.model import KeysValues, Mask, MultiHeadAttention, is_hooked
from core.native import library as native

LinearWeights = Callable[[], tuple[Tensor, Tensor | None]]  # () -> [outputs, inputs] and [outputs]
MOST_FEW_ROWS = 16  # up to here, the measurement of few rows applies


class LazyProduct(nn.Module):
    """A product that is packed at its first use; before that, `product` is None.

    With compiled steps and encoder, a search uses no product of PyTorch: a copy of the weights would be waste.
    """

    def __init__(self, pack: Callable[[], nn.Module]) -> None:
        super().__init__()
        self._pack = pack
        self.product: nn.Module | None = None

    def forward(self, x: Tensor) -> Tensor:
        if self.product is None:
            self.product = self._pack()
        return self.product(x)


class PackedAttention(MultiHeadAttention):
    """Attention that uses the compiled kernel in steps of decoding, if there is one and no hook."""

    def __init__(self, attention: MultiHeadAttention) -> None:
        nn.Module.__init__(self)
        self.num_heads = attention.num_heads
        self.q_proj, self.k_proj, self.v_proj = attention.q_proj, attention.k_proj, attention.v_proj
        self.out_proj = attention.out_proj
        self.weights = attention.weights

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        mask: Mask,
        remember: Callable[[Callable[[], KeysValues]], KeysValues] | None = None,
    ) -> Tensor:
        compiled = native.library()
        if not compiled or not remember or is_hooked(self.weights) or not isinstance(mask, Tensor):
            return super().forward(x, memory, mask, remember)
        queries, keys_values = self.project_qkv(x, memory)
        return self.out_proj(native.attention(compiled, queries, *remember(keys_values), mask))


class PackedSelfAttention(PackedAttention):
    """Self-attention with one product for queries, keys and values, as one large matrix is read faster than three."""

    def __init__(self, attention: MultiHeadAttention, packed: Callable[[LinearWeights], nn.Module]) -> None:
        nn.Module.__init__(self)
        projections = (attention.q_proj, attention.k_proj, attention.v_proj)
        self.num_heads = attention.num_heads
        self.widths = [projection.out_features for projection in projections]
        self.qkv_proj = packed(lambda: joined(*projections))
        self.out_proj = attention.out_proj
        self.weights = attention.weights

    def project_qkv(self, x: Tensor, memory: Tensor) -> tuple[Tensor, Callable[[], KeysValues]]:
        queries, keys, values = (self._split(part) for part in self.qkv_proj(x).split(self.widths, dim=-1))
        return queries, lambda: (keys, values)


class RowsLinear(nn.Module):
    """One product for few rows, another for many."""

    def __init__(self, few: nn.Module, many: nn.Module) -> None:
        super().__init__()
        self.few, self.many = few, many

    def forward(self, x: Tensor) -> Tensor:
        return (self.few if x.numel() <= MOST_FEW_ROWS * x.size(-1) else self.many)(x)
