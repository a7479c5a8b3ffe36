"""OPUS-MT and other Marian models in Hugging Face's layout.

Files: config.json with model_type "marian", model.safetensors or pytorch_model.bin, the tokenizer's files (see
`core.marian_tokenizer`), generation_config.json. The reference for every number is `MarianMTModel` of transformers.
"""

from collections.abc import Mapping
from typing import Any, cast

import torch
from torch import Tensor

from core.checkpoint import Checkpoint, CheckpointError, fill_model, meta_model
from core.config import ARCHITECTURE, TransformerConfig
from core.formats.parameter_names import bart_name, check_names
from core.formats.settings import Settings
from core.formats.source_files import SourceFiles
from core.formats.weights import FLOATS, Weights, open_weights
from core.marian_tokenizer import OPTIONAL, REQUIRED, MarianTokenizer
from core.model import Transformer, sinusoidal_encoding

NAME = "Marian (OPUS-MT) in Hugging Face's layout"
WEIGHTS = ("model.safetensors", "pytorch_model.bin")  # the first of them that there is
ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "swish": "swish", "silu": "swish"}
BIAS = "final_logits_bias"
SOURCE, TARGET, OUTPUT = "model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight", "lm_head.weight"
SHARED = "model.shared.weight"
POSITIONS = ("model.encoder.embed_positions.weight", "model.decoder.embed_positions.weight")
POSITION_TOLERANCE = 2e-3  # of half precision
EXCLUDED_LOGIT = -10_000.0  # of ids whose probability is zero, see `_output_bias`
# Options of the search that Headlight does not have, with the value that turns them off.
SEARCH_OPTIONS: dict[str, Any] = {
    "no_repeat_ngram_size": 0,
    "encoder_no_repeat_ngram_size": 0,
    "repetition_penalty": 1.0,
    "encoder_repetition_penalty": 1.0,
    "min_length": 0,
    "num_beam_groups": 1,
    "diversity_penalty": 0.0,
    "do_sample": False,
    "suppress_tokens": None,
    "begin_suppress_tokens": None,
    "sequence_bias": None,
}


def recognises(files: SourceFiles) -> bool:
    """Whether there is a config.json of a Marian model."""
    return "config.json" in files.names and Settings.read(files, "config.json").values.get("model_type") == "marian"


def load(files: SourceFiles) -> Checkpoint:
    """Read a model.

    Raises:
        CheckpointError: a file is missing, damaged or does not fit the others, or an option is unknown.
    """
    settings, search = Settings.read(files, "config.json"), Settings.read(files, "generation_config.json")
    if not search.values:
        search = settings  # older files have both in one
    name = next((name for name in WEIGHTS if name in files.names), None)
    if name is None:
        raise CheckpointError(f"{files.label} has no weights: expected {' or '.join(WEIGHTS)}")
    with open_weights(files.path(name), name) as weights:
        config = _config(settings, search, weights)
        model = meta_model(config)
        sources = _parameter_sources(model, config, weights)
        _check_weights(weights, model, sources, config)
        tensors = {ours: weights.read(theirs) for ours, theirs in sources.items()}
        if config.output_bias:
            tensors["output_bias"] = _output_bias(weights, search, config)
    tokenizer = _tokenizer(files, config)
    stored = sorted({FLOATS[weights.dtypes[theirs]] for theirs in sources.values()})
    return Checkpoint(
        fill_model(name, model, tensors), tokenizer, {"imported": _facts(files, config, search, stored, tokenizer)}
    )


def _config(settings: Settings, search: Settings, weights: Weights) -> TransformerConfig:
    settings.refuse(
        {
            "normalize_before": False,
            "add_final_layer_norm": False,
            "normalize_embedding": False,
            "static_position_embeddings": True,
            "is_encoder_decoder": True,
        }
    )
    activation = settings.text("activation_function", "gelu")
    if activation not in ACTIVATIONS:
        raise CheckpointError(
            f"config.json: activation_function is {activation!r:.60}, expected one of {', '.join(ACTIVATIONS)}"
        )
    vocab_size, d_ff = settings.integer("vocab_size"), settings.integer("encoder_ffn_dim", 4096)
    heads, pad_id = settings.integer("encoder_attention_heads", 16), settings.integer("pad_token_id")
    tied = _tied(settings, weights)
    two = tied in ("target", "none")
    excluded = _excluded(search)
    try:
        return TransformerConfig(
            vocab_size=vocab_size,
            target_vocab_size=settings.integer("decoder_vocab_size", vocab_size) if two else None,
            d_model=settings.integer("d_model", 1024),
            d_ff=d_ff,
            decoder_d_ff=_if_other(settings.integer("decoder_ffn_dim", 4096), d_ff),
            num_heads=heads,
            num_decoder_heads=_if_other(settings.integer("decoder_attention_heads", 16), heads),
            num_encoder_layers=settings.integer("encoder_layers", 12),
            num_decoder_layers=settings.integer("decoder_layers", 12),
            activation=cast("Any", ACTIVATIONS[activation]),
            position_order="halves",
            scale_embedding=settings.switch("scale_embedding", False),
            tied=cast("Any", tied),
            output_bias=BIAS in weights.shapes or search.switch("renormalize_logits", False),
            pad_id=pad_id,
            bos_id=search.integer("decoder_start_token_id", settings.integer("decoder_start_token_id", pad_id)),
            eos_id=_one_id(search, "eos_token_id", _one_id(settings, "eos_token_id", 0)),
            forced_first_id=_one_id(search, "forced_bos_token_id", None),
            never_ids=tuple(token_id for token_id in excluded if token_id != pad_id),
            penalty_formula="length",
            early_stopping=search.values.get("early_stopping") is True,
        )
    except ValueError as error:
        raise error if isinstance(error, CheckpointError) else CheckpointError(f"config.json: {error}") from error


def _if_other(value: int, default: int) -> int | None:
    return None if value == default else value


def _one_id(settings: Settings, name: str, default: int | None) -> Any:
    """A token id, also as a list of one."""
    value = settings.values.get(name)
    if isinstance(value, list) and len(cast("list[Any]", value)) == 1:
        value = cast("list[Any]", value)[0]
    if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
        raise CheckpointError(f"{settings.file_name}: {name} is {value!r:.60}, expected one token id")
    return default if value is None else value


def _excluded(search: Settings) -> list[int]:
    """Ids of `bad_words_ids`, which are sequences of one id in every known model."""
    found = search.values.get("bad_words_ids") or []
    rows = cast("list[Any]", found) if isinstance(found, list) else [found]
    ids = [cast("list[Any]", row)[0] for row in rows if isinstance(row, list) and len(cast("list[Any]", row)) == 1]
    if len(ids) < len(rows) or any(isinstance(token_id, bool) or not isinstance(token_id, int) for token_id in ids):
        raise CheckpointError(
            f"{search.file_name}: bad_words_ids is {found!r:.60}, and Headlight can exclude only single tokens: "
            f"expected a list of lists of one token id"
        )
    return ids


def _tied(settings: Settings, weights: Weights) -> str:
    """`TransformerConfig.tied`, from the options and from what the file holds."""
    shared = settings.switch("share_encoder_decoder_embeddings", True)
    if settings.switch("tie_word_embeddings", True):
        return "all" if shared else "target"
    return "inputs" if SHARED in weights.shapes and TARGET not in weights.shapes else "none"


def _parameter_sources(model: Transformer, config: TransformerConfig, weights: Weights) -> dict[str, str]:
    """Name in the file of every parameter, the bias of the logits excepted."""
    matrices = {
        "embedding.tokens.weight": (SHARED, SOURCE, *((TARGET, OUTPUT) if config.tied == "all" else ())),
        "target_embedding.tokens.weight": (TARGET, OUTPUT) if config.tied == "target" else (TARGET,),
        "output_projection.weight": (OUTPUT,),
    }
    sources: dict[str, str] = {}
    for name, _ in model.named_parameters():
        if name in matrices:  # whichever of several equal ones the file has; the first if it has none
            sources[name] = next((theirs for theirs in matrices[name] if theirs in weights.shapes), matrices[name][0])
        elif name != "output_bias":
            sources[name] = f"model.{bart_name(name)}"
    return sources


def _check_weights(weights: Weights, model: Transformer, sources: Mapping[str, str], config: TransformerConfig) -> None:
    """Compare names and shapes, tied matrices with each other, and stored positions with the formula.

    Raises:
        CheckpointError: something differs.
    """
    expected = {theirs: tuple(model.get_parameter(ours).shape) for ours, theirs in sources.items()}
    if BIAS in weights.shapes:
        expected[BIAS] = (1, config.target_size)
    copies = {
        "all": (SHARED, SOURCE, TARGET, OUTPUT),
        "target": (TARGET, OUTPUT),
        "inputs": (SHARED, SOURCE, TARGET),
        "none": (),
    }[config.tied]
    present = [name for name in copies if name in weights.shapes]
    expected.update({name: weights.shapes[present[0]] for name in present[1:] if name not in expected})
    check_names(weights, expected, (*POSITIONS, *([SHARED] if config.tied in ("target", "none") else [])))
    for name in present[1:]:
        if not torch.equal(weights.read(present[0]), weights.read(name)):
            raise CheckpointError(
                f"{weights.file_name}: {present[0]} and {name} differ, but config.json says that they are one: set "
                f"tie_word_embeddings or share_encoder_decoder_embeddings to false if they are not"
            )
    for name in POSITIONS:
        if name in weights.shapes:
            _check_positions(weights, name, config.d_model)


def _check_positions(weights: Weights, name: str, d_model: int) -> None:
    shape = weights.shapes[name]
    if len(shape) != 2 or shape[1] != d_model:
        raise CheckpointError(f"{weights.file_name}: {name} has shape {list(shape)}, expected [positions, {d_model}]")
    table = sinusoidal_encoding(shape[0], d_model, order="halves")
    if float((weights.read(name) - table).abs().max()) > POSITION_TOLERANCE:
        raise CheckpointError(
            f"{weights.file_name}: {name} is not the table of sines and cosines of Hugging Face's Marian models: "
            f"Headlight imports no others"
        )


def _output_bias(weights: Weights, search: Settings, config: TransformerConfig) -> Tensor:
    """Bias of the logits: [V].

    With `renormalize_logits`, probabilities are those of the tokens that may be generated: excluded tokens get a logit
    that leaves them none.
    """
    bias = weights.read(BIAS)[0] if BIAS in weights.shapes else torch.zeros(config.target_size)
    if search.switch("renormalize_logits", False):
        bias[_excluded(search)] = EXCLUDED_LOGIT
    return bias


def _tokenizer(files: SourceFiles, config: TransformerConfig) -> MarianTokenizer:
    found = {name: files.read(name) for name in (*REQUIRED, *OPTIONAL) if name in files.names}
    try:
        tokenizer = MarianTokenizer(found, config.vocab_size, config.target_size, config.bos_id)
    except ValueError as error:
        raise error if isinstance(error, CheckpointError) else CheckpointError(f"{files.label}: {error}") from error
    for side in (tokenizer, tokenizer.target):
        for name in ("pad_id", "eos_id"):
            if getattr(side, name) != getattr(config, name):
                raise CheckpointError(
                    f"{files.label}: the vocabulary has {name} {getattr(side, name)}, config.json "
                    f"{getattr(config, name)}: they are of different models"
                )
    return tokenizer


def _facts(
    files: SourceFiles, config: TransformerConfig, search: Settings, stored: list[str], tokenizer: MarianTokenizer
) -> dict[str, Any]:
    """What is known of the model besides its configuration."""
    options = {name: search.values.get(name) for name in ("num_beams", "length_penalty", "max_length")}
    return {
        "format": NAME,
        "source": files.label,
        "stored as": stored,
        "search": {name: value for name, value in options.items() if isinstance(value, int | float)},
        "options not applied": [
            *(name for name, off in SEARCH_OPTIONS.items() if search.values.get(name, off) not in (off, None)),
            *(["early_stopping"] if search.values.get("early_stopping", False) not in (True, False, None) else []),
        ],
        "architecture": {name: getattr(config, name) for name in ARCHITECTURE},
        "target languages": list(tokenizer.language_codes),
    }
