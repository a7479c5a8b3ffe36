"""Gates that scale or turn off heads while a model runs."""

from collections import defaultdict
from collections.abc import Generator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor

from core.analysis.heads.head import attention_layers
from core.model import MultiHeadAttention, Transformer
from core.trace import KINDS, Edit, Head, Kind, attention_place, edit
from core.translator import Translator

Gates = Mapping["Head", float | Tensor]


@contextmanager
def head_gates(model: Transformer, gates: Gates) -> Generator[None]:
    """Multiply the outputs of heads by gates inside the block.

    Concat(g_1 head_1, ..., g_h head_h) W_O, the gates of Voita et al. 2019 ("Analyzing Multi-Head Self-Attention"). A
    head's output is linear in its attention weights, so the weights are scaled: attention captured inside the block has
    rows that sum to the gate. Layers without a gate are not hooked.

    Args:
        model: used by one thread only; see `gated` for the model of a translator.
        gates: factor of each head: 0 turns it off, 1 leaves it unchanged. A tensor [B] has one for each sentence.

    Raises:
        ValueError: the model has no such head, or a gate is not finite.
    """
    layers = attention_layers(model)
    by_layer: defaultdict[tuple[Kind, int], dict[int, Tensor]] = defaultdict(dict)
    for (kind, layer, head), gate in gates.items():
        module = layers.get((kind, layer))
        if module is None or not 0 <= head < module.num_heads:
            raise ValueError(f"there is no head {head} in layer {layer} of {kind}: {_valid_range(layers, kind)}")
        factor = torch.as_tensor(gate, dtype=torch.float32, device=model.device).reshape(-1)
        if not factor.isfinite().all():
            raise ValueError(f"the gate of {Head(kind, layer, head)} is {gate}, expected a finite number")
        by_layer[kind, layer][head] = factor
    functions = {
        attention_place(*key, "weights"): _scaling(factors, layers[key].num_heads) for key, factors in by_layer.items()
    }
    with edit(model, functions):
        yield


@contextmanager
def gated(translator: Translator, gates: Gates) -> Generator[Translator]:
    """Hold a translator's model for this thread with its heads gated.

    `with gated(translator, {Head("cross", 5, 2): 0.0}): translator.translate("A dog runs.")`

    Raises:
        ValueError: as `head_gates`.
    """
    with translator.inspect() as model, head_gates(model, gates):
        yield translator


def _scaling(factors: dict[int, Tensor], num_heads: int) -> Edit:
    """Function that multiplies attention weights [B, H, Q, K] by the factors."""
    one = torch.ones_like(max(factors.values(), key=len))
    # [B or 1, H, 1, 1]
    scale = torch.stack([factors.get(head, one).expand_as(one) for head in range(num_heads)], dim=1)[:, :, None, None]
    return lambda weights: weights * scale.to(weights.dtype)


def _valid_range(layers: Mapping[tuple[Kind, int], MultiHeadAttention], kind: Kind) -> str:
    """The layers and heads that exist, for an error message."""
    numbers = [layer for of, layer in layers if of == kind]
    if not numbers:
        return f"the kinds are {', '.join(KINDS)}"
    return f"layers go from 0 to {max(numbers)}, heads from 0 to {layers[kind, 0].num_heads - 1}"
