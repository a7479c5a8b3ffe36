"""Facts about a model as text: origin, size, variant of the architecture."""

from typing import Any, cast

from core.config import TransformerConfig
from core.cpu_inference import computation
from core.model import Transformer
from core.tokenizer import Tokenizer

TIED = {
    "all": "both embeddings and the output projection are one matrix",
    "target": "the target's embedding and the output projection are one matrix",
    "inputs": "both embeddings are one matrix",
    "none": "three different matrices",
}
NORM_KINDS = {"layer": "", "rms": "RMSNorm, "}
NORMS = {"post": "after each residual connection", "pre": "on the input of each sub-layer"}
ORDERS = {"interleaved": "sines and cosines alternate", "halves": "all sines before all cosines"}
PENALTIES = {"paper": "((5 + length) / 6)^alpha", "length": "length^alpha"}
LISTED = 4  # token ids of a list
OWN_FORMAT = "Headlight"


def model_facts(model: Transformer, tokenizer: Tokenizer, training: dict[str, Any]) -> dict[str, str]:
    """Describe a model by the names of facts, in the order of display.

    Args:
        training: untrusted; `imported` has the facts of an import.
    """
    imported = _object(training.get("imported"))
    search = ", ".join(f"{name} {value}" for name, value in _object(imported.get("search")).items())
    facts = {
        "format": origin_of(training),
        "parameters": f"{sum(parameter.numel() for parameter in model.parameters()):,}",
        "stored as": ", ".join(_texts(imported.get("stored as"))) or str(training.get("stored_as", "")),
        "languages": " to ".join(filter(None, tokenizer.languages)),
        "target languages": ", ".join(tokenizer.language_codes) or "one",
        **architecture_facts(model.config),
        **token_facts(model.config),
        **_forced_language(tokenizer),
        "source prefix": ", or ".join(f'"{prefix}"' for prefix in _texts(imported.get("source prefixes"))),
        "computation": computation(model),
        "search of the source": search or ("not given" if imported else ""),
        "options not applied": (", ".join(_texts(imported.get("options not applied"))) or "none") if imported else "",
    }
    return {name: value for name, value in facts.items() if value}


def architecture_facts(config: TransformerConfig) -> dict[str, str]:
    """Describe fields that the paper has values for, as `model_facts` does."""
    biases = {
        "attention": config.attention_bias,
        "feed-forward": config.feed_forward_bias,
        "logits": config.output_bias,
    }
    return {
        "layers": f"{config.num_encoder_layers} + {config.num_decoder_layers}, {config.head_counts} heads",
        "widths": _widths(config),
        "vocabulary": f"{config.vocab_size:,} tokens"
        + (f" of sources, {config.target_size:,} of targets" if config.target_vocab_size else ""),
        "matrices": TIED[config.tied],
        "embeddings": "multiplied by sqrt(d_model)" if config.scale_embedding else "not scaled",
        "positions": _positions(config),
        "norms": NORM_KINDS[config.norm_kind]
        + NORMS[config.norm]
        + (", and after the last layer" if config.final_norm else "")
        + (", and on the embeddings" if config.embedding_norm else "")
        + f"; epsilon {config.norm_eps:g}",
        "activation": config.activation.replace("_tanh", ", approximated by tanh")
        + (", multiplied by another projection" if config.gated_feed_forward else ""),
        "biases": ", ".join(name for name, has_bias in biases.items() if has_bias) or "none",
        "attention": ("all positions" if config.neighbourhood is None else f"{config.neighbourhood} nearest positions")
        + ("" if config.autoregressive else ", in the decoder also later ones"),
        "dropout in training": f"{config.dropout:g}",
        "length penalty": PENALTIES[config.penalty_formula],
        "end of a search": "as soon as beam-size hypotheses have finished"
        if config.early_stopping
        else "when no live hypothesis scores above the finished ones",
    }


def token_facts(config: TransformerConfig) -> dict[str, str]:
    """Describe fields about sources and token ids, as `model_facts` does."""
    excluded = ", ".join(map(str, config.never_ids[:LISTED])) + (", ..." if config.never_ids[LISTED:] else "")
    parts = [
        *map(str, config.source_prefix),
        "tokens",
        *(["</s>"] * config.source_end),
        *map(str, config.source_suffix),
    ]
    return {
        "source": ", ".join(parts)
        if config.patch_size is None
        else f"patches of {config.patch_size} x {config.patch_size} pixels, {config.patch_rows} in a column",
        "token ids": f"padding {config.pad_id}, start {config.bos_id}, end {config.eos_id}"
        + ("" if config.mask_id is None else f", mask {config.mask_id}"),
        "first token": "free" if config.forced_first_id is None else f"always {config.forced_first_id}",
        "never generated": "padding, start" + (f", {excluded}" if excluded else ""),
    }


def _forced_language(tokenizer: Tokenizer) -> dict[str, str]:
    """The first token of translations, if it is that of their language."""
    first = tokenizer.first_target_id("")
    if first is None:
        return {}
    return {"first token": f"the language: {tokenizer.target.piece(first)}, or the one that a text names"}


def origin_of(training: dict[str, Any]) -> str:
    """Name of the format that a model was imported from, or `OWN_FORMAT`."""
    return str(_object(training.get("imported")).get("format", OWN_FORMAT))


def _widths(config: TransformerConfig) -> str:
    encoder, decoder = config.encoder_heads, config.decoder_heads
    sides = {
        "d_ff": (config.d_ff, config.decoder_d_ff or config.d_ff),
        "d_k": (encoder.d_k, decoder.d_k),
        "d_v": (encoder.d_v, decoder.d_v),
    }
    widths = [f"{name} {' and '.join(dict.fromkeys(f'{width:,}' for width in both))}" for name, both in sides.items()]
    return ", ".join([f"d_model {config.d_model:,}", *widths])


def _positions(config: TransformerConfig) -> str:
    if config.positions == "learned":
        return f"learned, at most {config.max_positions:,}"
    if config.positions == "relative":
        return (
            f"relative, in self-attention: {config.relative_buckets} classes of distances up to "
            f"{config.relative_max_distance:,}"
        )
    offset = f", from {config.position_offset} on" if config.position_offset else ""
    return f"{config.positions}, {ORDERS[config.position_order]}, exponent {config.position_exponent}{offset}"


def _object(found: object) -> dict[str, Any]:
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def _texts(found: object) -> list[str]:
    return [str(each) for each in cast("list[object]", found)] if isinstance(found, list) else []
