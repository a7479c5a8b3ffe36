"""Decomposition of first-layer attention scores into content and position.

The input of the first layer is the sum of a token embedding and a positional encoding, so its scores are exact sums of
content and position terms. In some other projects' models a LayerNorm comes between (`norm` "pre", or
`embedding_norm`). With the standard deviation of each token's sum held fixed it is linear and acts on content and
position separately; its own bias joins those of the projections.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from core.analysis.agreement import require_agreement
from core.analysis.attribution.forward_trace import added_bias
from core.analysis.declaration import Columns
from core.analysis.heads.head import attention_layers
from core.analysis.linear_norm import centred, norm_bias, squared_scale
from core.analysis.relative_scores import relative_scores
from core.analysis.tokens.words import readable_all
from core.capture import attention_path
from core.model import Norm, Transformer
from core.trace import attention_place, record, stack_of
from core.translator import Translator

ScorePart = Literal["content_content", "content_position", "position_content", "position_position", "relative", "bias"]
SelfAttentionKind = Literal["encoder_self", "decoder_self"]
PARTS: tuple[ScorePart, ...] = ("content_content", "content_position", "position_content", "position_position", "bias")
RELATIVE_PARTS: tuple[ScorePart, ...] = ("content_content", "relative", "bias")  # of a model with relative positions


@dataclass(frozen=True)
class ScoreParts:
    """Scores of the first self-attention layer as a sum of parts.

    The layer's input is a token's embedding c plus the encoding of its position p, so a query is c W_Q + p W_Q + b_Q
    and a key c W_K + p W_K + b_K; scores are q . k / sqrt(d_k). The bias of the keys is left out: q . b_K is the same
    for all keys of a row, so the softmax cancels it, and its gradient is zero up to rounding. Of the remaining six
    terms, the four without a bias are a part each, named after the query first; the two with b_Q form one part.
    """

    kind: SelfAttentionKind
    tokens: tuple[str, ...]
    parts: dict[ScorePart, Tensor]  # [H, Q, K] each: `PARTS`, or `RELATIVE_PARTS`
    scores: Tensor  # [H, Q, K] as computed by the model, minus q . b_K
    allowed: Tensor  # [Q, K] whether the query may attend to the key

    @property
    def total(self) -> Tensor:
        """Sum of the parts: [H, Q, K]."""
        return torch.stack(list(self.parts.values())).sum(0)

    @property
    def error(self) -> float:
        """Largest deviation of the sum from the model's own unmasked scores."""
        return float((self.total - self.scores)[:, self.allowed].abs().max())

    def shares(self, head: int) -> dict[ScorePart, float]:
        """Share of each part in the variance of a head's scores within rows.

        cov(part, score) / var(score), with each row centred first, as the softmax depends only on differences within a
        row. The shares sum to 1; one is negative if the part counteracts the others. All are 0 if no row has two keys.
        """
        whole = self._centred(self.total[head])
        variance = (whole * whole).sum()
        return {
            name: float((self._centred(part[head]) * whole).sum() / variance) if variance > 0 else 0.0
            for name, part in self.parts.items()
        }

    def table(self, head: int) -> Columns:
        """A row for each query and visible key: the parts of the score, their sum, and the model's score."""
        queries, keys = self.allowed.nonzero(as_tuple=True)
        names, scores = readable_all(self.tokens), {**self.parts, "sum": self.total, "score": self.scores}
        return {
            "query_position": queries.tolist(),
            "query": [names[position] for position in queries.tolist()],
            "key_position": keys.tolist(),
            "key": [names[position] for position in keys.tolist()],
            **{name: values[head, queries, keys].tolist() for name, values in scores.items()},
        }

    def _centred(self, matrix: Tensor) -> Tensor:
        matrix = matrix.masked_fill(~self.allowed, 0)
        mean = matrix.sum(-1, keepdim=True) / self.allowed.sum(-1, keepdim=True)
        return (matrix - mean).masked_fill(~self.allowed, 0)


@torch.inference_mode()
def score_parts(
    translator: Translator, source: str, target: str | Sequence[int], kind: SelfAttentionKind
) -> ScoreParts:
    """Decompose the scores of the first self-attention layer of a stack for a pair, as for `Translator.explain`.

    Raises:
        ValueError: as `Translator.explain`; or the model normalises the sum twice, after which the terms of its biases
            depend on both tokens.
        DisagreementError: the parts do not sum to the scores.
    """
    source_ids, fed, _ = translator.token_ids(source, target)
    token_ids = source_ids if kind == "encoder_self" else fed
    with translator.inspect() as model:
        attention = attention_layers(model)[kind, 0]
        norms = _norms_of_input(model, kind)
        relative = relative_scores(model, kind, 0, len(token_ids))
        place = attention_place(kind, 0, "scores")
        with record(model, [place]) as values:
            model(translator.batch([source_ids]), translator.batch([fed]))
        scores = values[place][0].float().cpu()  # [H, Q, K]
        embedding = model.embedding if kind == "encoder_self" else model.fed_embedding
        content = embedding.tokens(torch.tensor(token_ids, device=model.device)) * embedding.scale
        position = embedding.positions(0, len(token_ids))
    content, position, constant = _normalised(norms, content.cpu().double(), position.cpu().double())

    def projected(layer: torch.nn.Linear) -> list[Tensor]:
        """Content [H, L, E], position [H, L, E], bias [H, 1, E] after a projection, in float64 (CPU: MPS lacks it)."""
        weight = layer.weight.cpu().double()
        bias = added_bias(layer).cpu().double() + weight @ constant.expand(weight.size(1))
        sides = content @ weight.T, position @ weight.T, bias[None]
        return [side.unflatten(-1, (attention.num_heads, -1)).transpose(0, 1) for side in sides]

    query_content, query_position, query_bias = projected(attention.q_proj)
    key_content, key_position, key_bias = projected(attention.k_proj)

    def product(query: Tensor, key: Tensor) -> Tensor:
        """[H, Q or 1, E], [H, K or 1, E] -> scores [H, Q or 1, K or 1]."""
        return query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))

    row_constant = product(query_content + query_position + query_bias, key_bias)  # [H, Q, 1]
    parts: dict[ScorePart, Tensor] = {
        "content_content": product(query_content, key_content),
        "content_position": product(query_content, key_position),
        "position_content": product(query_position, key_content),
        "position_position": product(query_position, key_position),
        "bias": product(query_bias, key_content + key_position).expand_as(scores),
    }
    if relative is not None:
        parts = {name: {**parts, "relative": relative}[name] for name in RELATIVE_PARTS}
    tokens = (
        translator.codec.source_pieces(token_ids) if kind == "encoder_self" else translator.codec.fed_pieces(token_ids)
    )
    allowed = scores[0] > -math.inf
    by_name: dict[ScorePart, Tensor] = {name: part.float().cpu() for name, part in parts.items()}
    found = ScoreParts(kind, tokens, by_name, scores - row_constant.float().cpu(), allowed)
    size = max(1.0, *(float(part.abs().max()) for part in by_name.values()))
    total, of_model = (each[:, allowed] for each in (found.total, found.scores))
    require_agreement("scores of the first layer, as the sum of their parts", total, of_model, 2, size)
    return found


def _normalised(norms: Sequence[Norm], content: Tensor, position: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Content and position after the norms of `_norms_of_input`, [L, D], and the norms' bias, [D], or [1] without."""
    constant = content.new_zeros(1)
    for norm in norms:
        gain, scale = norm.weight.cpu().double(), squared_scale(norm, content + position)
        content, position = (gain * centred(norm, side) * scale.rsqrt() for side in (content, position))
        constant = norm_bias(norm).cpu().double()
    return content, position, constant


def _norms_of_input(model: Transformer, kind: SelfAttentionKind) -> list[Norm]:
    """Norm between the embeddings and the first self-attention, if any."""
    stack = model.encoder if stack_of(kind) == "encoder" else model.decoder
    first = model.get_submodule(f"{attention_path(kind, 0)}_norm") if model.config.norm == "pre" else None
    norms = [norm for norm in (stack.input_norm, first) if isinstance(norm, Norm)]
    if len(norms) > 1:
        raise ValueError(
            "this model normalises its embeddings twice before the first attention (embedding_norm, and norm 'pre'): "
            "its scores are not a sum of content and position"
        )
    return norms
