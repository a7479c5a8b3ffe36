"""Model configuration, and the variations of the paper's section 6.2."""

from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

Positions = Literal["sinusoidal", "learned"]

# Largest value of each size: well beyond any trained Transformer, and small enough that products of two or three of
# them, such as the number of elements of a matrix, fit 64-bit integers.
MAX_SIZES: dict[str, int] = {
    "vocab_size": 2**24,
    "d_model": 2**16,
    "d_ff": 2**20,
    "num_heads": 2**12,
    "num_decoder_heads": 2**12,
    "d_k": 2**16,
    "d_v": 2**16,
    "num_encoder_layers": 256,  # layers take time to construct, even without memory for weights
    "num_decoder_layers": 256,
    "neighbourhood": 2**24,
    "max_positions": 2**24,
}
OPTIONAL_SIZES = ("num_decoder_heads", "d_k", "d_v", "neighbourhood")


class HeadShape(NamedTuple):
    """Number and width of the heads of an attention layer (3.2.2)."""

    num_heads: int
    d_k: int  # width of a head's queries and keys
    d_v: int  # width of a head's values


@dataclass(frozen=True, kw_only=True)
class TransformerConfig:
    """Configuration that determines a model's parameters and outputs.

    Training, caching and capture are not part of it: they concern the use of a model.

    Raises:
        ValueError: a value is out of range, or two values contradict each other.
    """

    vocab_size: int
    d_model: int = 512
    d_ff: int = 2048
    num_heads: int = 8  # of the encoder, and of the decoder by default
    num_decoder_heads: int | None = None  # self-attention and cross-attention of the decoder; None: num_heads
    d_k: int | None = None  # width of a head's queries and keys; None: d_model / the heads of its layer
    d_v: int | None = None  # width of a head's values; None: d_model / the heads of its layer
    num_encoder_layers: int = 6
    num_decoder_layers: int = 6
    dropout: float = 0.1
    positions: Positions = "sinusoidal"
    neighbourhood: int | None = None  # r, positions that self-attention is restricted to (4); None: all
    max_positions: int = 1024  # rows of the learned table; sinusoidal positions are unlimited
    pad_id: int = 0
    bos_id: int = 1
    eos_id: int = 2

    def __post_init__(self) -> None:
        for name in MAX_SIZES:
            if name not in OPTIONAL_SIZES or getattr(self, name) is not None:
                require_size(name, getattr(self, name))
        for name in ("num_heads", "num_decoder_heads"):
            number = getattr(self, name)
            if number and (self.d_k is None or self.d_v is None) and self.d_model % number:
                raise ValueError(
                    f"d_model ({self.d_model}) must be divisible by {name} ({number}), or give both d_k and d_v"
                )
        if isinstance(self.dropout, bool) or not isinstance(self.dropout, int | float) or not 0 <= self.dropout < 1:
            raise ValueError(f"dropout ({self.dropout!r}) must be a number from 0 up to, but not including, 1")
        if self.positions not in ("sinusoidal", "learned"):
            raise ValueError(f"positions ({self.positions!r}) must be 'sinusoidal' or 'learned'")
        if self.positions == "sinusoidal" and self.d_model % 2:
            raise ValueError(
                f"d_model ({self.d_model}) must be even: sinusoidal positions come in pairs of sine and cosine"
            )
        for name in ("pad_id", "bos_id", "eos_id"):
            token_id = getattr(self, name)
            if isinstance(token_id, bool) or not isinstance(token_id, int) or not 0 <= token_id < self.vocab_size:
                raise ValueError(
                    f"{name} ({token_id!r}) must be an integer from 0 to vocab_size - 1 ({self.vocab_size - 1})"
                )
        if len({self.pad_id, self.bos_id, self.eos_id}) < 3:
            raise ValueError(f"pad_id ({self.pad_id}), bos_id ({self.bos_id}) and eos_id ({self.eos_id}) must differ")

    @property
    def encoder_heads(self) -> HeadShape:
        """Heads of each attention layer of the encoder, with defaults filled in."""
        return self._heads(self.num_heads)

    @property
    def decoder_heads(self) -> HeadShape:
        """Heads of each attention layer of the decoder, cross-attention included."""
        return self._heads(self.num_decoder_heads or self.num_heads)

    @property
    def head_counts(self) -> str:
        """Display text: `8`, or `8 + 4` if encoder and decoder differ."""
        encoder, decoder = self.encoder_heads.num_heads, self.decoder_heads.num_heads
        return str(encoder) if encoder == decoder else f"{encoder} + {decoder}"

    def _heads(self, number: int) -> HeadShape:
        return HeadShape(number, self.d_k or self.d_model // number, self.d_v or self.d_model // number)


def require_size(name: str, value: object) -> None:
    """Check the value of a size field.

    Raises:
        ValueError: the value is not an integer from 1 to the field's maximum.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{name} ({value!r}) must be a positive integer")
    if value > MAX_SIZES[name]:
        raise ValueError(f"{name} ({value}) must be at most {MAX_SIZES[name]}")


_BASE = TransformerConfig(vocab_size=37_000)

# A preset's vocabulary is the paper's; give your own with `dataclasses.replace(PRESETS["base"], vocab_size=8000)`. The
# rows of Table 3 carry its letters. Rows D-label-smoothing-* have the shape of the base model and differ in training.
PRESETS: dict[str, TransformerConfig] = {
    "base": _BASE,
    "big": replace(_BASE, d_model=1024, d_ff=4096, num_heads=16, dropout=0.3),
    "A-h1": replace(_BASE, num_heads=1, d_k=512, d_v=512),
    "A-h4": replace(_BASE, num_heads=4, d_k=128, d_v=128),
    "A-h16": replace(_BASE, num_heads=16, d_k=32, d_v=32),
    "A-h32": replace(_BASE, num_heads=32, d_k=16, d_v=16),
    "B-dk16": replace(_BASE, d_k=16),
    "B-dk32": replace(_BASE, d_k=32),
    "C-N2": replace(_BASE, num_encoder_layers=2, num_decoder_layers=2),
    "C-N4": replace(_BASE, num_encoder_layers=4, num_decoder_layers=4),
    "C-N8": replace(_BASE, num_encoder_layers=8, num_decoder_layers=8),
    "C-d256": replace(_BASE, d_model=256, d_k=32, d_v=32),
    "C-d1024": replace(_BASE, d_model=1024, d_k=128, d_v=128),
    "C-ff1024": replace(_BASE, d_ff=1024),
    "C-ff4096": replace(_BASE, d_ff=4096),
    "D-dropout0.0": replace(_BASE, dropout=0.0),
    "D-dropout0.2": replace(_BASE, dropout=0.2),
    "D-label-smoothing0.0": _BASE,
    "D-label-smoothing0.2": _BASE,
    "E-learned": replace(_BASE, positions="learned"),
    # The shipped English-German model: the paper's depth and heads at half its width, so that it trains on a CPU.
    "en-de": replace(_BASE, vocab_size=8_000, d_model=256, d_ff=1024),
    # The same with self-attention restricted to 16 positions, proposed as future work in section 4.
    "en-de-r16": replace(_BASE, vocab_size=8_000, d_model=256, d_ff=1024, neighbourhood=16),
    # For a small corpus of image captions on a CPU: size and dropout of the small model of Wu et al. 2021, roughly.
    "multi30k": replace(
        _BASE,
        vocab_size=8_000,
        d_model=128,
        d_ff=256,
        num_heads=4,
        num_encoder_layers=4,
        num_decoder_layers=4,
        dropout=0.3,
    ),
    # Constituency parsing (6.3): 4 layers, d_model 1024, the rest as base; the dropout is that of
    # `transformer_parsing_base` in the authors' Tensor2Tensor, as the paper only says that it was tuned. With 32,000
    # pieces for semi-supervised training.
    "parsing": replace(_BASE, vocab_size=16_000, d_model=1024, num_encoder_layers=4, num_decoder_layers=4, dropout=0.2),
    # Parsing from a few thousand trees, on a CPU.
    "parsing-small": replace(
        _BASE,
        vocab_size=4_000,
        d_model=192,
        d_ff=768,
        num_heads=4,
        num_encoder_layers=3,
        num_decoder_layers=3,
        dropout=0.3,
    ),
    # For tests: all parts, tiny sizes.
    "tiny": replace(
        _BASE,
        vocab_size=64,
        d_model=32,
        d_ff=64,
        num_heads=4,
        num_encoder_layers=2,
        num_decoder_layers=2,
        max_positions=64,
    ),
}
