"""Checks of `TransformerConfig`: the values of its fields, and those that contradict each other."""

from dataclasses import fields
from typing import Any, Literal, get_args, get_origin

from core.files.budget import MAX_HEADS, MAX_IDS, MAX_PICTURE_HEIGHT, MAX_POSITION_OFFSET, MAX_SIZES, shown


def check_config(config: Any) -> None:
    """Check all fields of a `TransformerConfig`, whose module imports this one.

    Raises:
        ValueError: a value is out of range, or two values contradict each other.
    """
    for field in fields(config):
        _check_kind(field.name, field.type, getattr(config, field.name))
    for name in ("num_heads", "num_decoder_heads"):
        number = getattr(config, name)
        if number and (config.d_k is None or config.d_v is None) and config.d_model % number:
            raise ValueError(
                f"d_model ({config.d_model}) must be divisible by {name} ({number}), or give both d_k and d_v"
            )
    for stack, layers, heads in (
        ("encoder", config.num_encoder_layers, config.num_heads),
        ("decoder", config.num_decoder_layers, config.num_decoder_heads or config.num_heads),
    ):
        if layers * heads > MAX_HEADS:
            raise ValueError(
                f"the {stack} has {layers} layers of {heads} heads, {layers * heads} in all: at most "
                f"{MAX_HEADS} are read"
            )
    if isinstance(config.dropout, bool) or not isinstance(config.dropout, int | float) or not 0 <= config.dropout < 1:
        raise ValueError(f"dropout ({config.dropout!r}) must be a number from 0 up to, but not including, 1")
    if not isinstance(config.norm_eps, float) or not 0 < config.norm_eps <= 1:
        raise ValueError(f"norm_eps ({config.norm_eps!r}) must be a number above 0 and at most 1")
    _check_positions(config)
    _check_ids(config)
    _check_patches(config)
    _check_mask(config)


def _check_kind(name: str, kind: Any, value: object) -> None:
    """Check a value against the annotation of its field, if that is a bool, a few strings or a size."""
    if kind is bool and not isinstance(value, bool):
        raise ValueError(f"{name} ({value!r}) must be True or False")
    if get_origin(kind) is Literal:
        _require_choice(name, value, get_args(kind))
    if name in MAX_SIZES and (value is not None or type(None) not in get_args(kind)):
        require_size(name, value)


def _check_positions(config: Any) -> None:
    if config.positions == "sinusoidal" and config.d_model % 2:
        raise ValueError(
            f"d_model ({config.d_model}) must be even: sinusoidal positions come in pairs of sine and cosine"
        )
    _require_id("position_offset", config.position_offset, MAX_POSITION_OFFSET)
    if config.positions == "learned" and config.position_offset:
        raise ValueError(
            f"position_offset ({config.position_offset}) must be 0 for learned positions: leave out the first rows "
            f"of their table instead"
        )
    if config.relative:
        _check_relative_positions(config)


def _check_relative_positions(config: Any) -> None:
    if config.relative_buckets % 4:
        raise ValueError(
            f"relative_buckets ({config.relative_buckets}) must be divisible by 4: half of them are for each "
            f"direction, and half of these for single distances"
        )
    if config.relative_max_distance <= config.relative_buckets // 2:
        raise ValueError(
            f"relative_max_distance ({config.relative_max_distance}) must be above relative_buckets / 2 "
            f"({config.relative_buckets // 2}): that many distances have a class of their own"
        )
    for name, known in (("neighbourhood", None), ("position_offset", 0)):
        if getattr(config, name) != known:
            raise ValueError(
                f"{name} ({getattr(config, name)}) must be {known} with relative positions: models with both are "
                f"unknown"
            )


def _check_ids(config: Any) -> None:
    """Check the vocabularies and all token ids."""
    if config.target_vocab_size is not None and config.tied in ("all", "inputs"):
        raise ValueError(
            f"target_vocab_size ({config.target_vocab_size}) needs a target embedding of its own: tied "
            f"({config.tied!r}) must be 'target' or 'none'"
        )
    smaller = "vocab_size" if config.target_size >= config.vocab_size else "target_vocab_size"
    for name, side in (("pad_id", smaller), ("bos_id", config.target_side), ("eos_id", smaller)):
        _require_id(name, getattr(config, name), getattr(config, side), f"{side} - 1")
    if config.pad_id == config.eos_id:
        raise ValueError(
            f"pad_id ({config.pad_id}) and eos_id ({config.eos_id}) must differ: every source ends with the latter, "
            f"and padding is masked"
        )
    if config.forced_first_id is not None:
        _require_id("forced_first_id", config.forced_first_id, config.target_size, f"{config.target_side} - 1")
    for name in ("source_prefix", "source_suffix", "never_ids"):
        ids, side = getattr(config, name), config.target_side if name == "never_ids" else "vocab_size"
        if not isinstance(ids, list | tuple) or len(ids) > MAX_IDS:
            raise ValueError(f"{name} ({shown(ids)}) must be a tuple of at most {MAX_IDS} token ids")
        for token_id in ids:
            _require_id(name, token_id, getattr(config, side), f"{side} - 1")


def _check_patches(config: Any) -> None:
    """Check that the fields are compatible with a source of image patches."""
    if config.patch_size is None:
        if config.patch_rows != 1:
            raise ValueError(f"patch_rows ({config.patch_rows}) needs patch_size: without it the source is tokens")
        return
    if config.patch_size * config.patch_rows > MAX_PICTURE_HEIGHT:
        raise ValueError(
            f"patch_size * patch_rows ({config.patch_size} * {config.patch_rows}) must be at most "
            f"{MAX_PICTURE_HEIGHT}: that is the height of a picture in pixels"
        )
    if config.tied != "all":
        raise ValueError(
            f"tied ({config.tied!r}) must be 'all' with a patch_size ({config.patch_size}): the source has no "
            f"tokens, so there is one vocabulary, that of the target"
        )
    for name in ("source_prefix", "source_suffix"):
        if getattr(config, name):
            raise ValueError(
                f"{name} ({getattr(config, name)}) must be empty with a patch_size ({config.patch_size}): the source "
                f"has no tokens"
            )


def _check_mask(config: Any) -> None:
    """Check that the fields are compatible with a decoder without causal mask."""
    if config.mask_id is None:
        return
    _require_id("mask_id", config.mask_id, config.target_size, f"{config.target_side} - 1")
    for name in ("pad_id", "bos_id", "eos_id"):
        if config.mask_id == getattr(config, name):
            raise ValueError(f"mask_id ({config.mask_id}) and {name} must differ: give an id that no text contains")
    for name in ("neighbourhood", "patch_size", "forced_first_id"):
        if getattr(config, name) is not None:
            raise ValueError(
                f"{name} ({getattr(config, name)}) must be None with a mask_id ({config.mask_id}): models without "
                f"causal mask do not have it"
            )


def require_size(name: str, value: object) -> None:
    """Check the value of a size field.

    Raises:
        ValueError: the value is not an integer from 1 to the field's maximum.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{name} ({shown(value)}) must be a positive integer")
    if value > MAX_SIZES[name]:
        raise ValueError(f"{name} ({shown(value)}) must be at most {MAX_SIZES[name]}")


def _require_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    if not isinstance(value, str) or value not in choices:
        *first, last = map(repr, choices)
        raise ValueError(f"{name} ({shown(value)}) must be {', '.join(first)} or {last}")


def _require_id(name: str, value: object, count: int, last: str = "") -> None:
    """Check an id, from 0 to count - 1, whose upper end has a name."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < count:
        end = f"{last} ({count - 1})" if last else f"{count - 1}"
        raise ValueError(f"{name} ({shown(value)}) must be an integer from 0 to {end}")
