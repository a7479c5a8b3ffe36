"""Options (of shape and search) and weights as all formats of Hugging Face store them."""

import math
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, cast

import torch
from torch import Tensor

from core.formats.checkpoint import CheckpointError
from core.formats.refused_formats import refuse_foreign_weights
from core.formats.settings import Settings
from core.formats.source_files import SourceFiles
from core.formats.untrusted_parameters import errors_of
from core.formats.weight_files import open_weights
from core.formats.weights import Weights, in_memory
from core.model import sinusoidal_encoding
from core.model.config import TransformerConfig
from core.text.tokenizer import Tokenizer

# Fields that change the computation of layers, embeddings and output projection; the defaults are the paper's.
ARCHITECTURE = (
    *("norm", "norm_kind", "final_norm", "norm_eps", "activation", "gated_feed_forward", "attention_bias"),
    *("feed_forward_bias", "output_bias", "embedding_norm", "decoder_d_ff", "target_vocab_size", "tied", "patch_size"),
    "mask_id",
)
WEIGHTS = ("model.safetensors", "pytorch_model.bin")  # in order of preference
ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "gelu_new": "gelu_tanh", "swish": "swish", "silu": "swish"}
POSITIONS = tuple(
    f"model.{stack}.embed_positions.{name}" for stack in ("encoder", "decoder") for name in ("weight", "weights")
)
POSITION_TOLERANCE = 2e-3  # of half precision
BLOCK_ROWS = 512  # of a table that are compared at once
EXCLUDED_LOGIT = -10_000.0  # of ids whose probability is zero, see `excluded_bias`
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
    "forced_eos_token_id": None,  # the last token at max_length, a length that the search here does not have
}


def of_types(*model_types: str) -> Callable[[SourceFiles], bool]:
    """A test for a config.json of one of these types of models."""
    return lambda files: Settings.read(files, "config.json").values.get("model_type") in model_types


def read_settings(files: SourceFiles) -> tuple[Settings, Settings]:
    """Options of the model and of the search; older files have both in config.json."""
    settings, search = Settings.read(files, "config.json"), Settings.read(files, "generation_config.json")
    return settings, search if search.values else settings


@contextmanager
def open_model_weights(files: SourceFiles) -> Generator[Weights]:
    """Open the file of weights, or all its parts, see `open_weights`; or those of a model in memory."""
    if files.tensors is not None:
        yield in_memory(files.label, files.tensors)
        return
    name = next((name for name in WEIGHTS if name in files.names), None)
    index = next((f"{each}.index.json" for each in WEIGHTS if f"{each}.index.json" in files.names), None)
    with ExitStack() as stack:
        if name is not None:
            yield stack.enter_context(open_weights(files.path(name), name))
        elif index is not None:
            yield _joined(files, index, stack)
        else:
            refuse_foreign_weights(files)
            raise CheckpointError(
                f"{files.label} has no weights: expected {' or '.join(WEIGHTS)}, or *.index.json and its parts"
            )


def _joined(files: SourceFiles, index: str, stack: ExitStack) -> Weights:
    """Weights of a model in several files, whose index names the file of every tensor."""
    places = Settings.read(files, index).section("weight_map").values
    parts = sorted({str(part) for part in places.values()})
    if not parts or any(part not in files.names for part in parts):
        missing = [f"{part!r:.60}" for part in parts if part not in files.names]
        raise CheckpointError(
            f"{files.label}: {index} names {len(parts)} parts, of which {', '.join(missing[:4]) or 'all'} are missing: "
            f"give all files of the model"
        )
    opened = {part: stack.enter_context(open_weights(files.path(part), part)) for part in parts}
    part_of = {name: part for part, weights in opened.items() for name in weights.shapes}
    wrong = sorted(name for name in part_of.keys() | places.keys() if part_of.get(name) != places.get(name))
    if wrong or len(part_of) < sum(len(weights.shapes) for weights in opened.values()):
        raise CheckpointError(
            f"{files.label}: {index} and the parts differ in where {wrong[0] if wrong else 'a tensor'!r:.80} is: they "
            f"are of different models, or a part is damaged"
        )
    return Weights(
        index,
        {name: opened[part].shapes[name] for name, part in part_of.items()},
        {name: opened[part].dtypes[name] for name, part in part_of.items()},
        lambda name: opened[part_of[name]].get(name),
    )


def shape_fields(settings: Settings, activation: str) -> dict[str, Any]:
    """Fields of `TransformerConfig` that BART and its descendants name alike; `activation` is the default."""
    return {
        "d_model": settings.integer("d_model", 1024),
        "d_ff": settings.integer("encoder_ffn_dim", 4096),
        "decoder_d_ff": settings.integer("decoder_ffn_dim", 4096),
        "num_heads": settings.integer("encoder_attention_heads", 16),
        "num_decoder_heads": settings.integer("decoder_attention_heads", 16),
        "num_encoder_layers": settings.integer("encoder_layers", 12),
        "num_decoder_layers": settings.integer("decoder_layers", 12),
        "activation": ACTIVATIONS[settings.choice("activation_function", ACTIVATIONS, activation)],
        "position_order": "halves",
    }


def search_fields(settings: Settings, search: Settings, pad_id: int, start_id: int, eos_id: int) -> dict[str, Any]:
    """Fields of `TransformerConfig` about special tokens and the search; `start_id` and `eos_id` are defaults."""
    return {
        "pad_id": pad_id,
        "bos_id": search.integer("decoder_start_token_id", settings.integer("decoder_start_token_id", start_id)),
        "eos_id": _one_id(search, "eos_token_id", _one_id(settings, "eos_token_id", eos_id)),
        "forced_first_id": _one_id(search, "forced_bos_token_id", None),
        "never_ids": tuple(token_id for token_id in excluded_ids(search) if token_id != pad_id),
        "penalty_formula": "length",
        "early_stopping": search.values.get("early_stopping") is True,
    }


def build_config(file_name: str = "config.json", **values: Any) -> TransformerConfig:
    """A configuration with values of a file; those of the decoder and the target are left out if they are no others.

    Raises:
        CheckpointError: they are out of range or contradict each other.
    """
    for other, first in (("decoder_d_ff", "d_ff"), ("num_decoder_heads", "num_heads")):
        if values.get(other) == values[first]:
            values[other] = None
    if values.get("tied", "all") in ("all", "inputs"):
        values["target_vocab_size"] = None
    with errors_of(file_name):
        return TransformerConfig(**values)


def excluded_ids(search: Settings) -> list[int]:
    """Ids of `bad_words_ids`, which are sequences of one id in every known model."""
    excluded = search.values.get("bad_words_ids") or []
    rows = cast("list[Any]", excluded) if isinstance(excluded, list) else [excluded]
    ids = [cast("list[Any]", row)[0] for row in rows if isinstance(row, list) and len(cast("list[Any]", row)) == 1]
    if len(ids) < len(rows) or any(isinstance(token_id, bool) or not isinstance(token_id, int) for token_id in ids):
        raise CheckpointError(
            f"{search.file_name}: bad_words_ids is {excluded!r:.60}, and Headlight can exclude only single tokens: "
            f"expected a list of lists of one token id"
        )
    return ids


def excluded_bias(bias: Tensor, search: Settings) -> Tensor:
    """Bias of the logits with `renormalize_logits`, [V], which leaves excluded tokens no probability."""
    if search.switch("renormalize_logits", False):
        bias[excluded_ids(search)] = EXCLUDED_LOGIT
    return bias


def check_positions(weights: Weights, config: TransformerConfig, kind: str, names: Sequence[str] = POSITIONS) -> None:
    """Compare stored tables of positions, [positions, D] with any axes of size 1, of a kind of models with the formula.

    Rows before `position_offset` are not compared: no token has these positions, and the row of padding is zero.

    Raises:
        CheckpointError: they differ.
    """
    for name in filter(weights.shapes.__contains__, names):
        shape = weights.shapes[name]
        rows = math.prod(shape[:-1])
        if len(shape) < 2 or shape[-1] != config.d_model or rows != max(shape[:-1]):
            raise CheckpointError(
                f"{weights.file_name}: {name} has shape {list(shape)}, expected [positions, {config.d_model}]"
            )
        stored = weights.read(name).view(rows, shape[-1])
        for first in range(config.position_offset, rows, BLOCK_ROWS):  # the formula takes several times their memory
            block = stored[first : first + BLOCK_ROWS]
            table = sinusoidal_encoding(
                *block.shape, first=first, order=config.position_order, exponent=config.position_exponent
            )
            if not torch.allclose(block, table, rtol=0, atol=POSITION_TOLERANCE):
                raise CheckpointError(
                    f"{weights.file_name}: {name} is not the table of sines and cosines of {kind} models: Headlight "
                    f"imports no others"
                )


def check_tokenizer(files: SourceFiles, tokenizer: Tokenizer, config: TransformerConfig) -> None:
    """Check that both vocabularies have the special tokens of the configuration."""
    for side in (tokenizer, tokenizer.target):
        for name in ("pad_id", "eos_id"):
            if getattr(side, name) != getattr(config, name):
                raise CheckpointError(
                    f"{files.label}: the vocabulary has {name} {getattr(side, name)}, config.json "
                    f"{getattr(config, name)}: they are of different models"
                )


def facts(
    format_name: str,
    files: SourceFiles,
    config: TransformerConfig,
    search: Settings,
    stored: Sequence[str],
    tokenizer: Tokenizer,
) -> dict[str, Any]:
    """Facts about a model besides its configuration; `stored` are the types of its parameters."""
    options = {name: search.values.get(name) for name in ("num_beams", "length_penalty", "max_length")}
    return {
        "format": format_name,
        "source": files.label,
        "stored as": sorted(set(stored)),
        "search": {name: value for name, value in options.items() if isinstance(value, int | float)},
        "options not applied": [
            *(name for name, off in SEARCH_OPTIONS.items() if search.values.get(name, off) not in (off, None)),
            *(["early_stopping"] if search.values.get("early_stopping", False) not in (True, False, None) else []),
        ],
        "architecture": {name: getattr(config, name) for name in ARCHITECTURE},
        "target languages": list(tokenizer.language_codes),
    }


def _one_id(settings: Settings, name: str, default: int | None) -> Any:
    """A token id, also as a list of one."""
    value = settings.values.get(name)
    if isinstance(value, list) and len(cast("list[Any]", value)) == 1:
        value = cast("list[Any]", value)[0]
    if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
        raise CheckpointError(f"{settings.file_name}: {name} is {value!r:.60}, expected one token id")
    return default if value is None else value
