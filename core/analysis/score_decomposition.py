"""What a head of the first layer asks for: words or places? Its scores, split into the parts that they are the sum
of.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from core.analysis.heads.head import attention_layers
from core.translator import Translator

Part = Literal["content_content", "content_position", "position_content", "position_position", "bias"]
SelfAttentionKind = Literal["encoder_self", "decoder_self"]
PARTS: tuple[Part, ...] = ("content_content", "content_position", "position_content", "position_position", "bias")


@dataclass(frozen=True)
class ScoreParts:
    """The scores of the first self-attention layer before the mask and the softmax, q . k / sqrt(d_k), and their parts.

    What goes into the layer is a token's embedding c plus the encoding of its position p, so a query is c W_Q + p W_Q +
    b_Q, and a key c W_K + p W_K + b_K. The keys' bias is left out: q . b_K is the same for all keys of a row, so the
    softmax does not see it, and training has no gradient for it but rounding errors. The product falls into six terms:
    the four without a bias are a part each, named after the query first; the two with b_Q are one together.

    Attributes:
        parts: [H, Q, K] each.
        scores: [H, Q, K] as the model itself computed them, less q . b_K.
        allowed: [Q, K] whether the query may attend to the key.
    """

    kind: SelfAttentionKind
    tokens: tuple[str, ...]
    parts: dict[Part, Tensor]
    scores: Tensor
    allowed: Tensor

    @property
    def total(self) -> Tensor:
        """The sum of the parts: [H, Q, K]."""
        return torch.stack(list(self.parts.values())).sum(0)

    @property
    def error(self) -> float:
        """The largest deviation of the sum from the model's own scores, where it has any."""
        return float((self.total - self.scores)[:, self.allowed].abs().max())

    def shares(self, head: int) -> dict[Part, float]:
        """How much of what a head chooses by comes from each part: cov(part, score) / var(score) within rows. They sum
        to 1.

        The softmax sees only how the scores of a row differ, so each row is centred first. A part that works against
        the others has a share below 0. All are 0 where no row has two keys to choose from.
        """
        whole = self._centred(self.total[head])
        variance = (whole * whole).sum()
        return {
            name: float((self._centred(part[head]) * whole).sum() / variance) if variance > 0 else 0.0
            for name, part in self.parts.items()
        }

    def _centred(self, matrix: Tensor) -> Tensor:
        matrix = matrix.masked_fill(~self.allowed, 0)
        mean = matrix.sum(-1, keepdim=True) / self.allowed.sum(-1, keepdim=True)
        return (matrix - mean).masked_fill(~self.allowed, 0)


@torch.inference_mode()
def score_parts(
    translator: Translator, source: str, target: str | Sequence[int], kind: SelfAttentionKind
) -> ScoreParts:
    """Split the scores of the first layer of the encoder, or of the decoder's self-attention.

    Args:
        source, target: as for `Translator.explain`.

    Raises:
        ValueError: as `Translator.explain`.
    """
    source_ids, fed, _ = translator.token_ids(source, target)
    token_ids = source_ids if kind == "encoder_self" else fed
    seen: list[Tensor] = []
    with translator.inspect() as model:
        attention = attention_layers(model)[kind, 0]
        handle = attention.weights.register_forward_pre_hook(lambda _module, arguments: seen.append(arguments[0][0]))
        # a hook takes the path that has scores
        watch = attention.weights.register_forward_hook(lambda _module, _arguments, _output: None)
        try:
            model(translator.batch([source_ids]), translator.batch([fed]))
        finally:
            handle.remove()
            watch.remove()
        content = model.embedding.tokens(torch.tensor(token_ids, device=model.device)) * model.embedding.scale
        position = model.embedding.positions(0, len(token_ids))
    scores = seen[0].float().cpu()

    def projected(layer: torch.nn.Linear) -> list[Tensor]:
        """Content [H, L, E], position [H, L, E] and bias [H, 1, E] behind a projection; in float64, which MPS lacks."""
        weight, bias = layer.weight.cpu().double(), layer.bias.cpu().double()
        sides = content.cpu().double() @ weight.T, position.cpu().double() @ weight.T, bias[None]
        return [side.unflatten(-1, (attention.num_heads, -1)).transpose(0, 1) for side in sides]

    query_content, query_position, query_bias = projected(attention.q_proj)
    key_content, key_position, key_bias = projected(attention.k_proj)

    def product(query: Tensor, key: Tensor) -> Tensor:
        """[H, Q or 1, E], [H, K or 1, E] -> their scores [H, Q or 1, K or 1]."""
        return query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))

    row_constant = product(query_content + query_position + query_bias, key_bias)  # [H, Q, 1]
    parts: dict[Part, Tensor] = {
        "content_content": product(query_content, key_content),
        "content_position": product(query_content, key_position),
        "position_content": product(query_position, key_content),
        "position_position": product(query_position, key_position),
        "bias": product(query_bias, key_content + key_position).expand_as(scores),
    }
    return ScoreParts(
        kind,
        translator.pieces(token_ids),
        {name: part.float().cpu() for name, part in parts.items()},
        scores - row_constant.float().cpu(),
        scores[0] > -math.inf,
    )
