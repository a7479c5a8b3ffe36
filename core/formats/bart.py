"""BART, mBART, mBART-50 and Pegasus in Hugging Face's layout.

Files: config.json with model_type "bart", "mbart" or "pegasus", model.safetensors or pytorch_model.bin, the tokenizer's
files (see `core.formats.bart_tokenizers`), generation_config.json. The references are `BartForConditionalGeneration`,
`MBartForConditionalGeneration` and `PegasusForConditionalGeneration` of transformers (Lewis, Liu, Zhang et al. 2020).

Positions of BART and mBART are learned, in a table a side, whose first two rows are never used. So each side has an
embedding of its own here, although its matrix is the same.
"""

from dataclasses import replace
from typing import Any

import torch

from core.formats import huggingface
from core.formats.bart_tokenizers import ModelTokenizer, read_tokenizer
from core.formats.checkpoint import Checkpoint, CheckpointError
from core.formats.parameter_names import check_copies, read_parameters, stack_names
from core.formats.settings import Settings
from core.formats.source_files import SourceFiles
from core.formats.untrusted_parameters import fill_model, meta_model
from core.formats.weights import Weights
from core.model.config import TransformerConfig

NAME = "BART, mBART or Pegasus in Hugging Face's layout"
OFFSET = 2  # unused rows at the start of a table of learned positions
BIAS, OUTPUT, PREFIX = "final_logits_bias", "lm_head.weight", "model."
# What the reference computes, whatever these options say, which older versions read.
FIXED: dict[str, dict[str, object]] = {
    kind: {
        "normalize_before": kind != "bart",
        "add_final_layer_norm": kind != "bart",
        "normalize_embedding": kind != "pegasus",
        "static_position_embeddings": kind == "pegasus",
    }
    for kind in ("bart", "mbart", "pegasus")
}
SUMMARISES, DENOISES, TRANSLATES = "summarises", "denoises", "translates"  # tasks of a model, one of its facts


recognises = huggingface.of_types(*FIXED)


def load(files: SourceFiles) -> Checkpoint:
    """Read a model; see `ImportFormat`."""
    settings, search = huggingface.read_settings(files)
    kind = settings.text("model_type")
    tokens = read_tokenizer(files, settings, search)
    with huggingface.open_model_weights(files) as stored:
        prefix = "" if f"{PREFIX}shared.weight" not in stored.shapes and "shared.weight" in stored.shapes else PREFIX
        tables = [f"{prefix}{stack}.embed_positions.weight" for stack in ("encoder", "decoder")]
        weights = stored if kind == "pegasus" else _without_unused_rows(stored, tables)
        has_bias = BIAS in weights.shapes and bool(weights.get(BIAS).any())
        config = _config(settings, search, tokens, kind, weights, tables, has_bias)
        huggingface.check_tokenizer(files, tokens.tokenizer, config)
        model = meta_model(config)
        shared = [f"{prefix}{each}.weight" for each in ("shared", "encoder.embed_tokens", "decoder.embed_tokens")]
        copies = [name for name in (*shared, OUTPUT) if name in weights.shapes] or shared[:1]
        sources = stack_names(model, prefix) | {"embedding.tokens.weight": copies[0]}
        if config.positions == "learned":
            sources["embedding.positions.table.weight"] = tables[0]
        if config.tied == "target":
            sources |= {
                "target_embedding.tokens.weight": copies[0],
                "target_embedding.positions.table.weight": tables[1],
            }
        versions = [f"{prefix}{stack}.version" for stack in ("encoder", "decoder")]
        bias = weights.read(BIAS).flatten() if has_bias else torch.zeros(config.target_size)
        if len(bias) != config.target_size:
            raise CheckpointError(
                f"{weights.file_name}: {BIAS} has shape {list(weights.shapes[BIAS])}, expected [1, "
                f"{config.target_size}]"
            )
        parameters = [name for name, _ in model.named_parameters() if name != "output_bias"]
        sources = {name: sources[name] for name in parameters}
        tensors = read_parameters(weights, model, sources, copies, (*versions, *tables, BIAS))
        check_copies(weights, copies, "tie_word_embeddings")
        if has_bias:
            tensors["output_bias"] = bias
        if config.positions != "learned":
            huggingface.check_positions(weights, config, "Pegasus", tables)
        facts = huggingface.facts(NAME, files, config, search, weights.types(sources.values()), tokens.tokenizer)
    facts["task"] = _task(kind, settings, search)
    return Checkpoint(fill_model(weights.file_name, model, tensors), tokens.tokenizer, {"imported": facts})


def _without_unused_rows(stored: Weights, tables: list[str]) -> Weights:
    """Parameters whose tables of positions begin with the row of the first token."""
    shapes = dict(stored.shapes)
    for name in tables:
        shape = shapes.get(name, ())
        if len(shape) != 2 or shape[0] <= OFFSET:
            raise CheckpointError(
                f"{stored.file_name}: {name} has shape {list(shape)}, expected [positions + {OFFSET}, d_model]"
            )
        shapes[name] = (shape[0] - OFFSET, shape[1])
    return replace(
        stored, shapes=shapes, get=lambda name: stored.get(name)[OFFSET:] if name in tables else stored.get(name)
    )


def _config(
    settings: Settings,
    search: Settings,
    tokens: ModelTokenizer,
    kind: str,
    weights: Weights,
    tables: list[str],
    has_bias: bool,
) -> TransformerConfig:
    settings.refuse({**FIXED[kind], "is_encoder_decoder": True, "tie_word_embeddings": True})
    search.refuse({"renormalize_logits": False})
    is_learned = kind != "pegasus"
    pad_id = settings.integer("pad_token_id", 1 if is_learned else 0)
    fields: dict[str, Any] = {
        **huggingface.shape_fields(settings, "gelu"),
        **huggingface.search_fields(settings, search, pad_id, tokens.start_id, eos_id=2 if is_learned else 1),
    }
    if is_learned:
        fields |= {
            "positions": "learned",
            "position_order": "interleaved",
            "max_positions": min(weights.shapes[name][0] for name in tables),
            "tied": "all" if weights.equal(*tables) else "target",
        }
        if weights.shapes[tables[0]] != weights.shapes[tables[1]]:
            raise CheckpointError(
                f"{weights.file_name}: the tables of positions have shapes "
                f"{' and '.join(str(list(weights.shapes[name])) for name in tables)}, expected the same"
            )
    if tokens.forces_language:
        fields["forced_first_id"] = None  # the tokenizer knows it
    return huggingface.build_config(
        vocab_size=settings.integer("vocab_size"),
        norm="post" if kind == "bart" else "pre",
        final_norm=kind != "bart",
        embedding_norm=is_learned,
        scale_embedding=settings.switch("scale_embedding", False),
        output_bias=has_bias,
        source_prefix=tokens.source_prefix,
        source_suffix=tokens.source_suffix,
        **fields,
    )


def _task(kind: str, settings: Settings, search: Settings) -> str:
    """What a model does: BART and mBART learn to restore damaged texts, until they are trained for something else.

    A BART that summarises has a length or a penalty in its options of the search; one that does not, has not.
    """
    if kind == "pegasus":
        return SUMMARISES
    if kind == "mbart":
        chosen = (each.values.get(name) for each in (settings, search) for name in _CHOOSING)
        return TRANSLATES if any(value not in (None, 2) for value in chosen) else DENOISES
    options = search.values.get("min_length"), search.values.get("length_penalty")
    return SUMMARISES if options[0] not in (None, 0) or options[1] not in (None, 1, 1.0) else DENOISES


_CHOOSING = ("decoder_start_token_id", "forced_bos_token_id")  # options that say the language of the target
