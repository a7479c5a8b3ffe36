"""The tokens that heads of the decoder promote when they attend to a token.

At attention weight 1, a head adds f(x_j) = (x_j W_V + b_V) W_O for a key j. Read through the norms that follow and
through the output matrix it scores every token of the vocabulary, in the same order in every row (see the analysis
`lexicon`). A head **copies** with the weight it has on tokens that are themselves among the five that
it promotes most there: the copy score of Wang et al. 2022 ("Interpretability in the Wild", appendix), weighted by the
attention. It **translates** with the weight on tokens for which the predicted token is among these five.

    copies_i = sum_j a_ij [y(j) in top_5(f(x_j))]        translates_i = sum_j a_ij [predicted_i in top_5(f(x_j))]

y(j) is the token at key j. Special tokens are left out as keys, and rows that predict one. Only direct paths to the
logits count, so heads of low layers, which feed other heads, score low whatever they do.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from core.analysis.attribution.forward_trace import transformed
from core.analysis.corpus.recording import feed_forward_networks
from core.analysis.heads.head import attention_layers
from core.analysis.linear_norm import centred
from core.capture import AttentionMap
from core.model import Norm, Transformer
from core.text.byte_pieces import is_special
from core.trace import Kind

MOST_PROMOTED = 5
SUBLAYERS = ("self_attention", "cross_attention", "feed_forward")  # of a decoder layer, in order


@torch.inference_mode()
def promoted_tokens(model: Transformer, kind: Kind, layer: int, values: Tensor) -> Tensor:
    """Ids of tokens that a decoder layer's heads promote most for each key, best first: [B, H, K, MOST_PROMOTED].

    `values` are those of `key_outputs`, [B, H, K, d_v].
    """
    vectors = transformed(attention_layers(model)[kind, layer], values)  # [B, H, K, D]
    sublayer = "cross_attention" if kind == "cross" else "self_attention"
    # one sentence at a time: [H, K, V] takes 3 MB for 12 tokens and 8,000 pieces
    best = [_logits(model, layer, sublayer, each).topk(_most(model, MOST_PROMOTED)).indices for each in vectors]
    return torch.stack(best).cpu()


@torch.inference_mode()
def promoted_by_neuron(model: Transformer, layer: int, neuron: int, count: int = MOST_PROMOTED) -> list[int]:
    """Ids of the tokens that a neuron of the decoder promotes most, best first.

    When active, it adds a multiple of its column of W_2 to the state (Geva et al. 2022, "Transformer Feed-Forward
    Layers Build Predictions by Promoting Concepts in the Vocabulary Space").
    """
    network = feed_forward_networks(model)["decoder", layer]
    logits = _logits(model, layer, "feed_forward", network.outer.weight[:, neuron])
    return logits.topk(_most(model, count)).indices.tolist()


def _most(model: Transformer, count: int) -> int:
    return min(count, model.unembedding.size(0))


def _logits(model: Transformer, layer: int, sublayer: str, vectors: Tensor) -> Tensor:
    """Logits of vectors that a decoder sub-layer adds, up to a factor for each row: [..., D] -> [..., V]."""
    norms = [
        model.get_submodule(f"decoder.layers.{number}.{name}_norm")
        for number in range(len(model.decoder.layers) if model.config.norm == "post" else 0)
        for step, name in enumerate(SUBLAYERS)
        if (number, step) >= (layer, SUBLAYERS.index(sublayer))
    ]
    for norm in (*norms, model.decoder.output_norm):
        if isinstance(norm, Norm):
            vectors = norm.weight * centred(norm, vectors)
    return vectors @ model.unembedding.T


def promotes(
    attention: AttentionMap, promoted: Tensor, key_ids: Sequence[int] | None, predicted_ids: Sequence[int]
) -> dict[str, Tensor]:
    """Keys for which a head promotes a token: the key's own (`copies`), or the predicted one (`translates`).

    Args:
        attention: of a decoder layer.
        promoted: [H, K, n] from `promoted_tokens`.
        key_ids: K ids; None if they are of another vocabulary than the predicted ones.
        predicted_ids: Q ids.

    Returns:
        Boolean [H, Q, K] by name; `translates` for cross-attention only.
    """
    ordinary = torch.tensor([not is_special(token) for token in attention.key_tokens])
    masks: dict[str, Tensor] = {}
    if key_ids is not None:
        own = (promoted == torch.tensor(key_ids)[:, None]).any(-1) & ordinary  # [H, K]
        masks["copies"] = own[:, None].expand(-1, len(predicted_ids), -1)
    if attention.kind == "cross":
        predicted = torch.tensor(predicted_ids)[:, None, None]  # [Q, 1, 1]
        masks["translates"] = (promoted[:, None] == predicted).any(-1) & ordinary
    return masks


def ordinary_rows(attention: AttentionMap) -> list[int]:
    """Rows that predict no special token."""
    return [row for row, token in enumerate(attention.row_tokens) if not is_special(token)]
