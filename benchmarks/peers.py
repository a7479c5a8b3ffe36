"""Conversion of a Headlight model to Hugging Face and CTranslate2: the same weights, the same function.

Neither library supports restricted attention, or heads of a width other than d_model / h; learned positions are not
converted.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from core.config import TransformerConfig
from core.model import FeedForward, MultiHeadAttention, Transformer


def require_convertible(config: TransformerConfig) -> None:
    """Check that a model can be converted.

    Raises:
        ValueError: the other libraries do not support its configuration.
    """
    heads = (config.num_heads, config.d_model // config.num_heads, config.d_model // config.num_heads)
    if (
        config.positions != "sinusoidal"
        or config.neighbourhood
        or {config.encoder_heads, config.decoder_heads} != {heads}
    ):
        raise ValueError(
            f"only sinusoidal positions, full attention and heads of d_model / num_heads can be converted, this model "
            f"has {config}: benchmark another checkpoint"
        )


def marian(model: Transformer) -> Any:
    """Convert a model to Hugging Face's `MarianMTModel`, in evaluation mode."""
    config = model.config
    require_convertible(config)
    from transformers import MarianConfig, MarianMTModel

    converted: Any = MarianMTModel(
        MarianConfig(
            vocab_size=config.vocab_size,
            d_model=config.d_model,
            encoder_layers=config.num_encoder_layers,
            decoder_layers=config.num_decoder_layers,
            encoder_attention_heads=config.num_heads,
            decoder_attention_heads=config.num_heads,
            encoder_ffn_dim=config.d_ff,
            decoder_ffn_dim=config.d_ff,
            activation_function="relu",
            scale_embedding=True,
            pad_token_id=config.pad_id,
            bos_token_id=config.bos_id,
            eos_token_id=config.eos_id,
            decoder_start_token_id=config.bos_id,
            forced_eos_token_id=None,
        )
    )
    stacks: Any = (model.encoder, converted.model.encoder), (model.decoder, converted.model.decoder)
    with torch.no_grad():
        converted.model.shared.weight.copy_(model.embedding.tokens.weight)
        for ours, theirs in stacks:
            positions = theirs.embed_positions.weight
            positions.copy_(model.embedding.positions(0, positions.size(0)))
            for layer, other in zip(ours.layers, theirs.layers, strict=True):
                _copy(layer.self_attention, other.self_attn)
                _copy(layer.self_attention_norm, other.self_attn_layer_norm)
                _copy(layer.feed_forward.inner, other.fc1)
                _copy(layer.feed_forward.outer, other.fc2)
                _copy(layer.feed_forward_norm, other.final_layer_norm)
                if hasattr(other, "encoder_attn"):
                    _copy(layer.cross_attention, other.encoder_attn)
                    _copy(layer.cross_attention_norm, other.encoder_attn_layer_norm)
    return converted.eval().requires_grad_(False)


def _copy(ours: nn.Module, theirs: nn.Module) -> None:
    """Copy parameters of the same names, in an attention, a linear layer or a norm."""
    theirs.load_state_dict(ours.state_dict())


def save_ctranslate2(model: Transformer, folder: Path) -> None:
    """Write a model in CTranslate2's format, with the tokens of `ctranslate2_tokens`."""
    config = model.config
    require_convertible(config)
    from ctranslate2.specs import TransformerSpec

    num_layers = (config.num_encoder_layers, config.num_decoder_layers)
    spec: Any = TransformerSpec.from_config(num_layers, config.num_heads, pre_norm=False)
    embedding, positions = _array(model.embedding.tokens.weight), _array(model.embedding.positions(0, 2048))
    spec.encoder.embeddings[0].weight = spec.decoder.embeddings.weight = spec.decoder.projection.weight = embedding
    spec.encoder.position_encodings.encodings = spec.decoder.position_encodings.encodings = positions
    stacks: Any = (model.encoder, spec.encoder), (model.decoder, spec.decoder)
    for ours, theirs in stacks:
        for layer, other in zip(ours.layers, theirs.layer, strict=True):
            _set_self_attention(other.self_attention, layer.self_attention, layer.self_attention_norm)
            _set_feed_forward(other.ffn, layer.feed_forward, layer.feed_forward_norm)
            if hasattr(other, "attention"):
                _set_cross_attention(other.attention, layer.cross_attention, layer.cross_attention_norm)
    vocabulary = ctranslate2_tokens(range(config.vocab_size), config)
    spec.register_source_vocabulary(vocabulary)
    spec.register_target_vocabulary(vocabulary)
    names = ctranslate2_tokens((config.bos_id, config.eos_id, config.pad_id), config)
    spec.config.bos_token, spec.config.eos_token, spec.config.unk_token = names
    spec.config.decoder_start_token = names[0]
    spec.validate()
    spec.save(str(folder))


def ctranslate2_tokens(token_ids: Sequence[int], config: TransformerConfig) -> list[str]:
    """Name tokens by their ids. Padding is the unknown token, which CTranslate2 can disable."""
    special = {config.bos_id: "<s>", config.eos_id: "</s>", config.pad_id: "<unk>"}
    return [special.get(token_id, str(token_id)) for token_id in token_ids]


def _set_self_attention(spec: Any, attention: MultiHeadAttention, norm: nn.LayerNorm) -> None:
    _set_linear(spec.linear[0], attention.q_proj, attention.k_proj, attention.v_proj)
    _set_linear(spec.linear[1], attention.out_proj)
    _set_norm(spec.layer_norm, norm)


def _set_cross_attention(spec: Any, attention: MultiHeadAttention, norm: nn.LayerNorm) -> None:
    _set_linear(spec.linear[0], attention.q_proj)
    _set_linear(spec.linear[1], attention.k_proj, attention.v_proj)
    _set_linear(spec.linear[2], attention.out_proj)
    _set_norm(spec.layer_norm, norm)


def _set_feed_forward(spec: Any, feed_forward: FeedForward, norm: nn.LayerNorm) -> None:
    _set_linear(spec.linear_0, feed_forward.inner)
    _set_linear(spec.linear_1, feed_forward.outer)
    _set_norm(spec.layer_norm, norm)


def _set_linear(spec: Any, *projections: nn.Linear) -> None:
    """Stack several projections into one."""
    spec.weight = np.concatenate([_array(projection.weight) for projection in projections])
    spec.bias = np.concatenate([_array(projection.bias) for projection in projections])


def _set_norm(spec: Any, norm: nn.LayerNorm) -> None:
    spec.gamma, spec.beta = _array(norm.weight), _array(norm.bias)


def _array(tensor: Tensor) -> "np.ndarray[Any, Any]":
    return tensor.detach().float().numpy()
