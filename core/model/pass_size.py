"""Numbers that a pass or a search of a model computes and keeps, from which limits and budgets follow."""

from core.model.config import TransformerConfig


def numbers_per_pair(config: TransformerConfig) -> int:
    """Attention weights of all heads for one pair of tokens."""
    return config.num_encoder_layers * config.num_heads + 2 * config.num_decoder_layers * config.decoder_heads.num_heads


def numbers_per_token(config: TransformerConfig) -> int:
    """Numbers that a pass computes for one token, roughly.

    Besides `numbers_per_pair`: logits and probabilities, the output of each head of a layer, and the states of all
    layers: inputs and outputs of the sub-layers, queries, keys, values, and feed-forward networks.
    """
    (encoder, *_), (decoder, *_) = of_layers = config.encoder_heads, config.decoder_heads
    states = sum(
        layers * (8 * config.d_model + 2 * d_ff + 2 * heads.num_heads * (heads.d_k + heads.d_v))
        for layers, d_ff, heads in zip(
            (config.num_encoder_layers, config.num_decoder_layers),
            (config.d_ff, config.decoder_d_ff or config.d_ff),
            of_layers,
            strict=True,
        )
    )
    return 2 * config.target_size + max(encoder, decoder) * config.d_model + states


def numbers_per_hypothesis(config: TransformerConfig, positions: int) -> int:
    """Numbers that a search keeps for a hypothesis of some length, roughly.

    Logits (of all positions in mask-predict), probabilities, a layer's feed-forward network, all keys and values.
    """
    if not config.autoregressive:
        return positions * config.target_size
    _, d_k, d_v = heads = config.decoder_heads
    widest = 2 * (config.decoder_d_ff or config.d_ff)
    return 2 * config.target_size + widest + positions * config.num_decoder_layers * heads.num_heads * (d_k + d_v)
