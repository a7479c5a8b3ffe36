"""Figure 1 of the paper, for a model and a sentence, as data for `figure1.js`."""

import math
from itertools import groupby
from typing import Any

import torch

from core.capture import AttentionMap
from core.drawing.drawing_data import MAX_CELL, encoded_weights, label_spans, reduced, shown_weights, spoken
from core.drawing.paper_parts import paper_code
from core.model.config import HeadShape, TransformerConfig
from core.model.pass_size import numbers_per_pair
from core.results import Explanation
from core.text.byte_pieces import token_role
from core.text.tokenizer import SPACE_MARK

OPTIONS = 5  # next tokens that are shown
MOST_MAPS = 1536  # heads of all layers that are drawn, in 10 MB at most; T5-large has 1152


def figure1_data(explanation: Explanation, config: TransformerConfig) -> dict[str, Any]:
    """Return the model and all its attention weights in this sentence, see `Figure1Data` in types.d.ts.

    Raises:
        ValueError: the explanation lacks a kind of attention, or its probabilities, or is of another model.
    """
    missing = [kind for kind in ("encoder_self", "decoder_self", "cross") if not explanation.maps.get(kind)]
    if missing or not explanation.log_probs:
        lacking = ", ".join(missing) or "probabilities"
        raise ValueError(f"Figure 1 shows a whole model, but the explanation has no {lacking}: explain it with a model")
    heads = {kind: [layer.num_heads for layer in layers] for kind, layers in explanation.maps.items()}
    decoder = [config.decoder_heads.num_heads] * config.num_decoder_layers
    encoder = [config.encoder_heads.num_heads] * config.num_encoder_layers
    if heads != {"encoder_self": encoder, "decoder_self": decoder, "cross": decoder}:
        raise ValueError(
            f"the explanation has these heads in its layers: {heads}, and the model {encoder} in the encoder and "
            f"{decoder} in the decoder: explain it with this model"
        )
    return {
        "model": model_facts(config),
        "code": paper_code(),
        "source": _words(explanation.source_tokens),
        "fed": _words(explanation.fed_tokens),
        "predicted": _words(explanation.predicted_tokens),
        "options": [_options(explanation, position) for position in range(len(explanation.predicted_tokens))],
        "maps": {
            kind: {
                "rows": min(len(layers[0].query_tokens), MAX_CELL),
                "columns": min(len(layers[0].key_tokens), MAX_CELL),
                "visible": visible_blocks(layers[0]),
                "layers": [encoded_map(layer, drawn_heads(config, layer.num_heads)) for layer in layers],
            }
            for kind, layers in explanation.maps.items()
        },
    }


def drawn_heads(config: TransformerConfig, heads: int) -> int:
    """Return how many heads of a layer are drawn, the first ones: all, unless the model has more than `MOST_MAPS`."""
    layers = config.num_encoder_layers + 2 * config.num_decoder_layers
    return heads if numbers_per_pair(config) <= MOST_MAPS else min(heads, max(1, MOST_MAPS // layers))


def model_facts(config: TransformerConfig) -> dict[str, Any]:
    """Return what the drawing says about a model, see `Figure1Model` in types.d.ts."""

    def stack(layers: int, heads: HeadShape, d_ff: int) -> dict[str, int]:
        count, d_k, d_v = heads
        drawn = drawn_heads(config, count)
        return {"layers": layers, "heads": count, "drawn": drawn, "dK": d_k, "dV": d_v, "dFf": d_ff}

    return {
        "encoder": stack(config.num_encoder_layers, config.encoder_heads, config.d_ff),
        "decoder": stack(config.num_decoder_layers, config.decoder_heads, config.decoder_d_ff or config.d_ff),
        "dModel": config.d_model,
        "vocabulary": [config.vocab_size, config.target_size],
        "tied": config.tied,
        "norm": config.norm,
        "rms": config.norm_kind == "rms",
        "finalNorm": config.final_norm,
        "embeddingNorm": config.embedding_norm,
        "positions": "relative" if config.relative else config.positions,
        "activation": config.activation,
        "gated": config.gated_feed_forward,
    }


def encoded_map(attention: AttentionMap, heads: int | None = None) -> list[str]:
    """Encode the weights of the first heads of a layer, by default of all, by `encoded_weights`.

    They are [rows, columns]. Sides are reduced to `MAX_CELL` places, each with the largest weight that falls into it.
    """
    weights = reduced(reduced(shown_weights(attention)[:heads].numpy(), 1), 2)
    return [encoded_weights(head) for head in torch.from_numpy(weights)]


def visible_blocks(attention: AttentionMap) -> list[list[int]]:
    """Return neighbouring rows that may attend to the same keys: first row, the one after the last, and so the keys."""
    mask = attention.visible.int()
    ends = zip(mask.argmax(1).tolist(), (mask.size(1) - mask.flip(1).argmax(1)).tolist(), strict=True)
    blocks = ((list(rows), keys) for keys, rows in groupby(enumerate(ends), key=lambda row: row[1]))
    return [[rows[0][0], rows[-1][0] + 1, *keys] for rows, keys in blocks]


def _words(tokens: tuple[str, ...]) -> list[dict[str, Any]]:
    """Return the tokens as running text: `glued` ones follow the one before without a space."""
    return [
        {
            "spans": label_spans(token),
            "name": spoken(token),
            "glued": position > 0 and not token.startswith(SPACE_MARK) and token_role(token) == "text",
        }
        for position, token in enumerate(tokens)
    ]


def _options(explanation: Explanation, position: int) -> list[dict[str, Any]]:
    """Return the most probable tokens that a search may write, best first, and the predicted one in any case."""
    predicted, log_prob = explanation.predicted_tokens[position], explanation.log_probs[position]
    others = explanation.alternatives[position]
    best = [(token, value) for token, value in others if token_role(token) in ("text", "end")][:OPTIONS]
    if all(token != predicted for token, _ in best):
        best = [*best[: OPTIONS - 1], (predicted, log_prob)]
    return [
        {
            "token": str(token),
            "spans": label_spans(token),
            "probability": round(math.exp(value), 4),
            "predicted": token == predicted,
        }
        for token, value in best
    ]
