"""Values that fields of `TransformerConfig` may have."""

from typing import Any, Literal

from core.files.budget import MAX_SIZES, shown

Positions = Literal["sinusoidal", "learned", "relative"]
NormPlace = Literal["post", "pre"]
NormKind = Literal["layer", "rms"]
Activation = Literal["relu", "gelu", "gelu_tanh", "swish"]
PositionOrder = Literal["interleaved", "halves"]
PositionExponent = Literal["i/n", "i/(n-1)"]
Tied = Literal["all", "target", "inputs", "none"]
PenaltyFormula = Literal["paper", "length"]

CHOICES: dict[str, Any] = {
    "positions": Positions,
    "norm": NormPlace,
    "norm_kind": NormKind,
    "activation": Activation,
    "position_order": PositionOrder,
    "position_exponent": PositionExponent,
    "tied": Tied,
    "penalty_formula": PenaltyFormula,
}
SWITCHES = (
    "final_norm",
    "attention_bias",
    "feed_forward_bias",
    "gated_feed_forward",
    "output_bias",
    "scale_embedding",
    "embedding_norm",
    "early_stopping",
    "source_end",
)
# Fields that change the computation of layers, embeddings and output projection; the defaults are the paper's.
ARCHITECTURE = (
    "norm",
    "norm_kind",
    "final_norm",
    "norm_eps",
    "activation",
    "gated_feed_forward",
    "attention_bias",
    "feed_forward_bias",
    "output_bias",
    "embedding_norm",
    "decoder_d_ff",
    "target_vocab_size",
    "tied",
    "patch_size",
    "mask_id",
)
ID_LISTS = ("source_prefix", "source_suffix", "never_ids")
OPTIONAL_SIZES = ("patch_size", "target_vocab_size", "decoder_d_ff", "num_decoder_heads", "d_k", "d_v", "neighbourhood")


def require_size(name: str, value: object) -> None:
    """Check the value of a size field.

    Raises:
        ValueError: the value is not an integer from 1 to the field's maximum.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{name} ({shown(value)}) must be a positive integer")
    if value > MAX_SIZES[name]:
        raise ValueError(f"{name} ({shown(value)}) must be at most {MAX_SIZES[name]}")


def require_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    """Check the value of a field with a few possible values.

    Raises:
        ValueError: it is not one of them.
    """
    if not isinstance(value, str) or value not in choices:
        *first, last = map(repr, choices)
        raise ValueError(f"{name} ({shown(value)}) must be {', '.join(first)} or {last}")


def require_id(name: str, value: object, count: int, last: str = "") -> None:
    """Check an id, from 0 to count - 1, whose upper end has a name.

    Raises:
        ValueError: the value is not such an id.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < count:
        end = f"{last} ({count - 1})" if last else f"{count - 1}"
        raise ValueError(f"{name} ({shown(value)}) must be an integer from 0 to {end}")
