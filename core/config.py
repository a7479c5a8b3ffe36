"""Model configuration, and the variations of the paper's section 6.2."""

from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, cast, get_args

Positions = Literal["sinusoidal", "learned"]
NormPlace = Literal["post", "pre"]
Activation = Literal["relu", "gelu", "swish"]
PositionOrder = Literal["interleaved", "halves"]
PositionExponent = Literal["i/n", "i/(n-1)"]
Tied = Literal["all", "target", "inputs", "none"]
PenaltyFormula = Literal["paper", "length"]

CHOICES: dict[str, Any] = {
    "positions": Positions,
    "norm": NormPlace,
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
    "output_bias",
    "scale_embedding",
    "embedding_norm",
    "early_stopping",
    "source_end",
)
# Fields that change what the layers, embeddings and the output projection compute; the defaults are the paper's.
ARCHITECTURE = (
    "norm",
    "final_norm",
    "norm_eps",
    "activation",
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
MAX_IDS = 1024  # length of a list of token ids

# Largest value of each size: well beyond any trained Transformer, and small enough that products of two or three of
# them, such as the number of elements of a matrix, fit 64-bit integers.
MAX_SIZES: dict[str, int] = {
    "vocab_size": 2**24,
    "target_vocab_size": 2**24,
    "d_model": 2**16,
    "d_ff": 2**20,
    "decoder_d_ff": 2**20,
    "num_heads": 2**12,
    "num_decoder_heads": 2**12,
    "d_k": 2**16,
    "d_v": 2**16,
    "num_encoder_layers": 256,  # layers take time to construct, even without memory for weights
    "num_decoder_layers": 256,
    "neighbourhood": 2**24,
    "max_positions": 2**24,
    "patch_size": 2**8,
    "patch_rows": 2**8,
}
OPTIONAL_SIZES = ("patch_size", "target_vocab_size", "decoder_d_ff", "num_decoder_heads", "d_k", "d_v", "neighbourhood")


class HeadShape(NamedTuple):
    """Number and width of the heads of an attention layer (3.2.2)."""

    num_heads: int
    d_k: int  # width of a head's queries and keys
    d_v: int  # width of a head's values


@dataclass(frozen=True, kw_only=True)
class TransformerConfig:
    """Configuration that determines a model's parameters and outputs.

    Training, caching and capture are not part of it: they concern the use of a model. The defaults from `norm` on are
    the paper's choices; other projects' models differ from them.

    Attributes:
        norm: LayerNorm after each residual connection (3.1), or on the input of each sub-layer.
        final_norm: another LayerNorm after the last layer of each stack.
        norm_eps: added to the variance by LayerNorm.
        activation: of the feed-forward networks; `swish` is x * sigmoid(x), `gelu` is x * Phi(x).
        decoder_d_ff: of the decoder; None: d_ff.
        attention_bias, feed_forward_bias, output_bias: whether the projections of attention, the feed-forward networks
            and the logits have a bias.
        position_order: sine and cosine columns alternate, or all sines come before all cosines.
        position_exponent: e in the frequency 10000^-e of pair i of n = d_model / 2.
        position_offset: sinusoidal position of the first token.
        scale_embedding: whether embeddings are multiplied by sqrt(d_model) (3.4).
        embedding_norm: LayerNorm on the input of each stack.
        target_vocab_size: of the target's own vocabulary; None: one vocabulary for both sides.
        tied: which of the three matrices (source and target embedding, output projection) are one: all of them (3.4),
            the two of the target, the two embeddings, or none.
        patch_size: side in pixels of the image patches that the encoder takes instead of tokens, each projected to
            d_model (Dosovitskiy et al. 2021, 3.1); None: tokens.
        patch_rows: number of patches in a column of an image; see `core.images.patches` for their order.
        mask_id: token in place of those still to be predicted, of a conditional masked language model (Ghazvininejad et
            al. 2019): its decoder has no causal mask and predicts the token at each position, not the next one, and the
            length of the target is predicted from the source. None: an autoregressive model.
        forced_first_id: first token of every translation, None: free.
        source_prefix, source_suffix: token ids put before every source and after its `</s>`.
        source_end: whether `</s>` ends every source.
        never_ids: ids that a search never generates, besides `pad_id` and `bos_id`.
        penalty_formula: length penalty of a hypothesis of l tokens, with exponent alpha: ((5 + l) / 6)^alpha as in the
            paper (6.1), or l^alpha.
        early_stopping: a search stops as soon as beam_size hypotheses have finished. If False, it goes on while the
            best live hypothesis, with the penalty of its present length, scores above the worst of the beam_size best.

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
    norm: NormPlace = "post"
    final_norm: bool = False
    norm_eps: float = 1e-5
    activation: Activation = "relu"
    decoder_d_ff: int | None = None
    attention_bias: bool = True
    feed_forward_bias: bool = True
    output_bias: bool = False
    position_order: PositionOrder = "interleaved"
    position_exponent: PositionExponent = "i/n"
    position_offset: int = 0
    scale_embedding: bool = True
    embedding_norm: bool = False
    target_vocab_size: int | None = None
    tied: Tied = "all"
    patch_size: int | None = None
    patch_rows: int = 1
    mask_id: int | None = None
    forced_first_id: int | None = None
    source_prefix: tuple[int, ...] = ()
    source_suffix: tuple[int, ...] = ()
    source_end: bool = True
    never_ids: tuple[int, ...] = ()
    penalty_formula: PenaltyFormula = "paper"
    early_stopping: bool = True

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
        for name, choices in CHOICES.items():
            _require_choice(name, getattr(self, name), get_args(choices))
        for name in SWITCHES:
            if not isinstance(getattr(self, name), bool):
                raise ValueError(f"{name} ({getattr(self, name)!r}) must be True or False")
        if not isinstance(self.norm_eps, float) or not 0 < self.norm_eps <= 1:
            raise ValueError(f"norm_eps ({self.norm_eps!r}) must be a number above 0 and at most 1")
        self._check_positions()
        self._check_ids()
        self._check_patches()
        self._check_mask()

    def _check_positions(self) -> None:
        if self.positions == "sinusoidal" and self.d_model % 2:
            raise ValueError(
                f"d_model ({self.d_model}) must be even: sinusoidal positions come in pairs of sine and cosine"
            )
        _require_id("position_offset", self.position_offset, MAX_SIZES["max_positions"])
        if self.positions == "learned" and self.position_offset:
            raise ValueError(
                f"position_offset ({self.position_offset}) must be 0 for learned positions: leave out the first rows "
                f"of their table instead"
            )

    def _check_ids(self) -> None:
        """Check the vocabularies and all token ids."""
        if self.target_vocab_size is not None and self.tied in ("all", "inputs"):
            raise ValueError(
                f"target_vocab_size ({self.target_vocab_size}) needs a target embedding of its own: tied "
                f"({self.tied!r}) must be 'target' or 'none'"
            )
        smaller = "vocab_size" if self.target_size >= self.vocab_size else "target_vocab_size"
        for name, side in (("pad_id", smaller), ("bos_id", self.target_side), ("eos_id", smaller)):
            _require_id(name, getattr(self, name), getattr(self, side), f"{side} - 1")
        if self.pad_id == self.eos_id:
            raise ValueError(
                f"pad_id ({self.pad_id}) and eos_id ({self.eos_id}) must differ: every source ends with the latter, "
                f"and padding is masked"
            )
        if self.forced_first_id is not None:
            _require_id("forced_first_id", self.forced_first_id, self.target_size, f"{self.target_side} - 1")
        for name in ID_LISTS:
            ids, side = getattr(self, name), self.target_side if name == "never_ids" else "vocab_size"
            if not isinstance(ids, list | tuple) or len(cast("tuple[Any, ...]", ids)) > MAX_IDS:
                raise ValueError(f"{name} ({ids!r:.100}) must be a tuple of at most {MAX_IDS} token ids")
            for token_id in ids:
                _require_id(name, token_id, getattr(self, side), f"{side} - 1")
            object.__setattr__(self, name, tuple(ids))  # lists come from JSON

    def _check_patches(self) -> None:
        """Check that nothing contradicts a source of image patches."""
        if self.patch_size is None:
            if self.patch_rows != 1:
                raise ValueError(f"patch_rows ({self.patch_rows}) needs patch_size: without it the source is tokens")
            return
        if self.tied != "all":
            raise ValueError(
                f"tied ({self.tied!r}) must be 'all' with a patch_size ({self.patch_size}): the source has no "
                f"tokens, so there is one vocabulary, that of the target"
            )
        for name in ("source_prefix", "source_suffix"):
            if getattr(self, name):
                raise ValueError(
                    f"{name} ({getattr(self, name)}) must be empty with a patch_size ({self.patch_size}): the source "
                    f"has no tokens"
                )

    def _check_mask(self) -> None:
        """Check that nothing contradicts a decoder without causal mask."""
        if self.mask_id is None:
            return
        _require_id("mask_id", self.mask_id, self.target_size, f"{self.target_side} - 1")
        for name in ("pad_id", "bos_id", "eos_id"):
            if self.mask_id == getattr(self, name):
                raise ValueError(f"mask_id ({self.mask_id}) and {name} must differ: give an id that no text contains")
        for name in ("neighbourhood", "patch_size", "forced_first_id"):
            if getattr(self, name) is not None:
                raise ValueError(
                    f"{name} ({getattr(self, name)}) must be None with a mask_id ({self.mask_id}): models without "
                    f"causal mask do not have it"
                )

    @property
    def autoregressive(self) -> bool:
        """Whether the decoder predicts the next token, under a causal mask."""
        return self.mask_id is None

    @property
    def encoder_heads(self) -> HeadShape:
        """Heads of each attention layer of the encoder, with defaults filled in."""
        return self._heads(self.num_heads)

    @property
    def decoder_heads(self) -> HeadShape:
        """Heads of each attention layer of the decoder, cross-attention included."""
        return self._heads(self.num_decoder_heads or self.num_heads)

    @property
    def target_size(self) -> int:
        """Size of the target vocabulary."""
        return self.target_vocab_size or self.vocab_size

    @property
    def target_side(self) -> str:
        """Name of the field that holds `target_size`."""
        return "target_vocab_size" if self.target_vocab_size else "vocab_size"

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


def _require_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    if not isinstance(value, str) or value not in choices:
        *first, last = map(repr, choices)
        raise ValueError(f"{name} ({value!r}) must be {', '.join(first)} or {last}")


def _require_id(name: str, value: object, count: int, last: str = "") -> None:
    """Check an id, from 0 to count - 1, whose upper end has a name."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < count:
        end = f"{last} ({count - 1})" if last else f"{count - 1}"
        raise ValueError(f"{name} ({value!r}) must be an integer from 0 to {end}")


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
    # A draft model for its speculative decoding: little to compute for a token, as the encoder runs once a sentence.
    "en-de-draft": replace(
        _BASE, vocab_size=8_000, d_model=128, d_ff=512, num_heads=4, num_encoder_layers=3, num_decoder_layers=1
    ),
    # en-de without causal mask, for mask-predict. Its mask token is `<unk>`: with pieces for all bytes, no text has it.
    "en-de-mask-predict": replace(_BASE, vocab_size=8_000, d_model=256, d_ff=1024, mask_id=3),
    # en-de with self-attention restricted to 16 positions, proposed as future work in section 4.
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
    # Reads a picture of one line of text, 24 pixels high, as 8 x 8 patches, and writes its characters: inputs other
    # than text are the paper's outlook (7). Small enough to train on one core of a CPU in less than an hour.
    "lines": replace(
        _BASE,
        vocab_size=100,
        d_model=128,
        d_ff=512,
        num_heads=4,
        num_encoder_layers=4,
        num_decoder_layers=3,
        patch_size=8,
        patch_rows=3,
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
