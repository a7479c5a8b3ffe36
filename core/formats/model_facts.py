"""Facts about a model as text: origin, size, variant of the architecture."""

import math
from collections.abc import Sequence
from statistics import fmean
from typing import Any, cast

from core.formats.checkpoint import lacks_causal_mask
from core.inference.cpu_inference import computation
from core.model import Transformer
from core.model.config import TransformerConfig
from core.model.preset_configs import PRESETS
from core.text.marian_tokenizer import MarianTokenizer
from core.text.phrases import Number, Phrase, listed, marked
from core.text.tokenizer import Tokenizer

TIED = {
    "all": Phrase("both embeddings and the output projection are one matrix"),
    "target": Phrase("the target's embedding and the output projection are one matrix"),
    "inputs": Phrase("both embeddings are one matrix"),
    "none": Phrase("three different matrices"),
}
NORMS = {"post": Phrase("after each residual connection"), "pre": Phrase("on the input of each sub-layer")}
ORDERS = {"interleaved": Phrase("sines and cosines alternate"), "halves": Phrase("all sines before all cosines")}
PENALTIES = {"paper": "((5 + length) / 6)^alpha", "length": "length^alpha"}
TASKS = {  # of `core.formats.bart`, and of the presets `reverse`
    "summarises": Phrase("summarises: writes a shorter text"),
    "denoises": Phrase("fills in: restores a text with <mask> in place of words, or with words in disorder"),
    "translates": Phrase("translates"),
    "reverses": Phrase("writes letters in reverse order"),
}
# Where the paper states a fact about its base model. The length penalty is given by a reference; an epsilon, biases of
# attention, and a rule that ends a search are not given.
PAPER_SECTIONS = {
    "parameters": marked("Table 3"),
    "layers": "3.1, 3.2.2",
    "widths": "3.1, 3.2.2, 3.3",
    "vocabulary": "5.1",
    "matrices": "3.4",
    "embeddings": "3.4",
    "positions": "3.5",
    "norms": "3.1",
    "activation": "3.3",
    "biases": "3.3",
    "attention": "3.2.3",
    "dropout in training": "5.4",
    "length penalty": "6.1 [38]",
}
LISTED = 4  # token ids of a list
SURE = 0.5  # share of the log-probability of a guess above which a model is sure; a rule of thumb
OWN_FORMAT = "Headlight"


def model_facts(model: Transformer, tokenizer: Tokenizer, training: dict[str, Any]) -> dict[str, str]:
    """Describe a model, with what untrusted facts have of an import, by the names of facts, in the order of display."""
    imported = _object(training.get("imported"))
    search = ", ".join(f"{name} {value}" for name, value in _object(imported.get("search")).items())
    prefixes = [f'"{prefix}"' for prefix in _texts(imported.get("source prefixes"))]
    options = ", ".join(_texts(imported.get("options not applied"))) or Phrase("none")
    languages = list(filter(None, tokenizer.languages))
    facts = {
        marked("format"): origin_of(training),
        **({marked("task"): TASKS[task_of(training)]} if task_of(training) in TASKS else {}),
        marked("parameters"): Number(sum(parameter.numel() for parameter in model.parameters()), ","),
        marked("stored as"): ", ".join(_texts(imported.get("stored as"))) or str(training.get("stored_as", "")),
        marked("languages"): listed(languages, "{first} to {rest}") if languages else "",
        marked("target languages"): ", ".join(tokenizer.language_codes) or Phrase("one"),
        **architecture_facts(model.config),
        marked("attention"): _attention(model.config, lacks_causal_mask(training)),
        **token_facts(model.config),
        **_forced_language(tokenizer),
        **_punctuation(tokenizer),
        marked("source prefix"): listed(prefixes, "{first}, or {rest}") if prefixes else "",
        marked("computation"): computation(model),
        marked("search of the source"): search or (Phrase("not given") if imported else ""),
        marked("options not applied"): options if imported else "",
    }
    return {name: value for name, value in facts.items() if value}


def architecture_facts(config: TransformerConfig) -> dict[str, str]:
    """Describe the fields that the paper has values for, as `model_facts` does."""
    biases = {
        Phrase("attention"): config.attention_bias,
        Phrase("feed-forward"): config.feed_forward_bias,
        Phrase("logits"): config.output_bias,
    }
    return {
        marked("layers"): Phrase(
            "{encoder} + {decoder}, {heads} heads",
            encoder=str(config.num_encoder_layers),
            decoder=str(config.num_decoder_layers),
            heads=config.head_counts,
        ),
        marked("widths"): _widths(config),
        marked("vocabulary"): _vocabulary(config),
        marked("matrices"): TIED[config.tied],
        marked("embeddings"): Phrase("multiplied by sqrt(d_model)" if config.scale_embedding else "not scaled"),
        marked("positions"): _positions(config),
        marked("norms"): _norms(config),
        marked("epsilon of the norms"): Number(config.norm_eps, "g"),
        marked("activation"): _activation(config),
        marked("biases"): listed([name for name, has_bias in biases.items() if has_bias] or [Phrase("none")]),
        marked("attention"): _attention(config),
        marked("dropout in training"): Number(config.dropout, "g"),
        marked("length penalty"): PENALTIES[config.penalty_formula],
        marked("end of a search"): Phrase(
            "as soon as beam-size hypotheses have finished"
            if config.early_stopping
            else "when no live hypothesis scores above the finished ones"
        ),
    }


def paper_facts() -> dict[str, str]:
    """What the paper states about its base model, as `model_facts` writes it; `PAPER_SECTIONS` says where."""
    base = {**architecture_facts(PRESETS["base"]), "parameters": "65 M", "biases": Phrase("feed-forward")}
    return {name: base[name] for name in PAPER_SECTIONS}


def outputs_answer(log_probs: Sequence[float], vocabulary: int) -> Phrase:
    """Whether a model is sure of some outputs, by the log-probability per token of each, in nats, beside a guess."""
    mean, guess = fmean(log_probs), -math.log(vocabulary)
    sure = marked("The model is sure of what it writes: {mean} nats per token, where a guess has {guess}.")
    unsure = marked("The model is hardly better than a guess: {mean} nats per token, where a guess has {guess}.")
    return Phrase(sure if mean > SURE * guess else unsure, mean=Number(mean, ".2f"), guess=Number(guess, ".2f"))


def token_facts(config: TransformerConfig) -> dict[str, str]:
    """Describe fields about sources and token ids, as `model_facts` does."""
    ids = [
        Phrase("padding {id}", id=str(config.pad_id)),
        Phrase("start {id}", id=str(config.bos_id)),
        Phrase("end {id}", id=str(config.eos_id)),
    ]
    if config.mask_id is not None:
        ids.append(Phrase("mask {id}", id=str(config.mask_id)))
    return {
        marked("source"): _source(config),
        marked("token ids"): listed(ids),
        marked("first token"): Phrase("free")
        if config.forced_first_id is None
        else Phrase("always {id}", id=str(config.forced_first_id)),
        marked("never generated"): listed(
            [
                Phrase("padding, start"),
                *map(str, config.never_ids[:LISTED]),
                *(["..."] if config.never_ids[LISTED:] else []),
            ]
        ),
    }


def _source(config: TransformerConfig) -> str:
    if config.patch_size is not None:
        return Phrase(
            "patches of {size} x {size} pixels, {rows} in a column",
            size=str(config.patch_size),
            rows=str(config.patch_rows),
        )
    end = ["</s>"] * config.source_end
    return listed([*map(str, config.source_prefix), Phrase("tokens"), *end, *map(str, config.source_suffix)])


def _vocabulary(config: TransformerConfig) -> str:
    if not config.target_vocab_size:
        return Phrase("{count} tokens", count=Number(config.vocab_size, ","))
    return Phrase(
        "{count} tokens of sources, {targets} of targets",
        count=Number(config.vocab_size, ","),
        targets=Number(config.target_size, ","),
    )


def _norms(config: TransformerConfig) -> str:
    parts = ["RMSNorm"] if config.norm_kind == "rms" else []
    parts.append(NORMS[config.norm])
    if config.final_norm:
        parts.append(Phrase("and after the last layer"))
    if config.embedding_norm:
        parts.append(Phrase("and on the embeddings"))
    return listed(parts)


def _activation(config: TransformerConfig) -> str:
    parts = [config.activation.removesuffix("_tanh")]
    if config.activation.endswith("_tanh"):
        parts.append(Phrase("approximated by tanh"))
    if config.gated_feed_forward:
        parts.append(Phrase("multiplied by another projection"))
    return listed(parts)


def _attention(config: TransformerConfig, lacks_mask: bool = False) -> str:
    parts = [
        Phrase("all positions")
        if config.neighbourhood is None
        else Phrase("{count} nearest positions", count=str(config.neighbourhood))
    ]
    if lacks_mask or not config.autoregressive:
        parts.append(Phrase("in the decoder also later ones"))
    return listed(parts)


def _forced_language(tokenizer: Tokenizer) -> dict[str, str]:
    """The first token of translations, if it is a language token."""
    first = tokenizer.first_target_id("")
    if first is None:
        return {}
    token = tokenizer.target.piece(first)
    return {"first token": Phrase("the language: {token}, or the one that a text names", token=token)}


def _punctuation(tokenizer: Tokenizer) -> dict[str, str]:
    """Whether punctuation is normalised, of a tokenizer that can do it."""
    if not isinstance(tokenizer, MarianTokenizer):
        return {}
    if tokenizer.normalises:
        return {marked("punctuation"): Phrase("normalised, as `normalize` of transformers' MarianTokenizer does")}
    return {marked("punctuation"): Phrase("unchanged, as in transformers unless `normalize` is called")}


def task_of(training: dict[str, Any]) -> str:
    """What a model does, one of `TASKS`; "" if its origin does not say it."""
    if str(training.get("preset")).startswith("reverse"):
        return "reverses"
    return str(_object(training.get("imported")).get("task", ""))


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
    widths = [
        Phrase("{name} {first}", name=name, first=Number(first, ","))
        if first == second
        else Phrase("{name} {first} and {rest}", name=name, first=Number(first, ","), rest=Number(second, ","))
        for name, (first, second) in sides.items()
    ]
    return listed([Phrase("{name} {first}", name="d_model", first=Number(config.d_model, ",")), *widths])


def _positions(config: TransformerConfig) -> str:
    if config.positions == "learned":
        return Phrase("learned, at most {count}", count=Number(config.max_positions, ","))
    if config.relative:
        shared = marked("relative, in self-attention: {classes} classes of distances up to {distance}")
        own = marked(
            "relative, in self-attention, others in each layer: {classes} classes of distances up to {distance}"
        )
        return Phrase(
            shared if config.positions == "relative" else own,
            classes=str(config.relative_buckets),
            distance=Number(config.relative_max_distance, ","),
        )
    parts = [
        Phrase("sinusoidal"),
        ORDERS[config.position_order],
        Phrase("exponent {exponent}", exponent=config.position_exponent),
    ]
    if config.position_offset:
        parts.append(Phrase("from {position} on", position=str(config.position_offset)))
    return listed(parts)


def _object(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _texts(value: object) -> list[str]:
    return [str(each) for each in cast("list[object]", value)] if isinstance(value, list) else []
