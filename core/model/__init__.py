"""The Transformer of "Attention Is All You Need" (Vaswani et al. 2017), in the order of its section 3.

References such as (3.2.1) are to its sections; read `transformer` (3), `layers` (3.1, 3.3, 5.4), `attention`
(3.2), `embedding` (3.4, 3.5). `relative_positions` has those of T5.

    Shapes:  B batch   S source length   T target length   Q queries   K keys
             H heads   D d_model         E width of a head  V vocabulary   P pixels of an image patch

A mask is boolean and True means "may attend". Callers pass token ids; the model makes the masks. Comments say what the
paper does; `TransformerConfig` has the variants of other projects, each of which replaces one part.
"""

from core.model.attention import AttentionWeights, KeysValues, Mask, MultiHeadAttention, is_hooked
from core.model.embedding import (
    FIRST_POSITIONS,
    PAD_PIXEL,
    Embedding,
    LearnedPositions,
    SinusoidalPositions,
    positions,
    sinusoidal_encoding,
)
from core.model.layers import (
    DecodedPositions,
    Decoder,
    DecoderLayer,
    Dropout,
    Encoder,
    EncoderLayer,
    FeedForward,
    Norm,
    layer_norm,
)
from core.model.relative_positions import RelativePositions, position_distances
from core.model.transformer import MAX_LENGTH_DIFFERENCE, Transformer

__all__ = [
    "FIRST_POSITIONS",
    "MAX_LENGTH_DIFFERENCE",
    "PAD_PIXEL",
    "AttentionWeights",
    "DecodedPositions",
    "Decoder",
    "DecoderLayer",
    "Dropout",
    "Embedding",
    "Encoder",
    "EncoderLayer",
    "FeedForward",
    "KeysValues",
    "LearnedPositions",
    "Mask",
    "MultiHeadAttention",
    "Norm",
    "RelativePositions",
    "SinusoidalPositions",
    "Transformer",
    "is_hooked",
    "layer_norm",
    "position_distances",
    "positions",
    "sinusoidal_encoding",
]
