"""Model configuration."""

from dataclasses import dataclass
from typing import Any, NamedTuple, cast, get_args

from core.files.budget import MAX_HEADS, MAX_IDS, MAX_PICTURE_HEIGHT, MAX_POSITION_OFFSET, MAX_SIZES, shown
from core.model.config_fields import (
    CHOICES,
    ID_LISTS,
    OPTIONAL_SIZES,
    SWITCHES,
    Activation,
    NormKind,
    NormPlace,
    PenaltyFormula,
    PositionExponent,
    PositionOrder,
    Positions,
    Tied,
    require_choice,
    require_id,
    require_size,
)


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
        positions: added to the embeddings (3.5): sines and cosines, or a learned table; or `relative`: added to the
            scores of self-attention instead, by the distance of query and key (Raffel et al. 2020, 2.1).
        relative_buckets: number of classes of distances that share a score; see `RelativePositions`.
        relative_max_distance: distance from which on all share the last class.
        norm: LayerNorm after each residual connection (3.1), or on the input of each sub-layer.
        norm_kind: of all norms: LayerNorm, or RMSNorm, which subtracts no mean and has no bias (Zhang & Sennrich 2019).
        final_norm: another norm after the last layer of each stack.
        norm_eps: added to the variance by LayerNorm, to the mean square by RMSNorm.
        activation: of the feed-forward networks; `swish` is x * sigmoid(x), `gelu` is x * Phi(x), `gelu_tanh` its
            approximation by tanh.
        gated_feed_forward: whether another projection of the input multiplies the activations (Shazeer 2020).
        decoder_d_ff: of the decoder; None: d_ff.
        attention_bias, feed_forward_bias, output_bias: whether the projections of attention, the feed-forward networks
            and the logits have a bias.
        position_order: sine and cosine columns alternate, or all sines come before all cosines.
        position_exponent: e in the frequency 10000^-e of pair i of n = d_model / 2.
        position_offset: sinusoidal position of the first token.
        scale_embedding: whether embeddings are multiplied by sqrt(d_model) (3.4).
        embedding_norm: a norm on the input of each stack.
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
    max_positions: int = 1024  # rows of the learned table; other positions are unlimited
    relative_buckets: int = 32
    relative_max_distance: int = 128
    pad_id: int = 0
    bos_id: int = 1
    eos_id: int = 2
    norm: NormPlace = "post"
    norm_kind: NormKind = "layer"
    final_norm: bool = False
    norm_eps: float = 1e-5
    activation: Activation = "relu"
    gated_feed_forward: bool = False
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
        for stack, layers, heads in (
            ("encoder", self.num_encoder_layers, self.num_heads),
            ("decoder", self.num_decoder_layers, self.num_decoder_heads or self.num_heads),
        ):
            if layers * heads > MAX_HEADS:
                raise ValueError(
                    f"the {stack} has {layers} layers of {heads} heads, {layers * heads} in all: at most "
                    f"{MAX_HEADS} are read"
                )
        if isinstance(self.dropout, bool) or not isinstance(self.dropout, int | float) or not 0 <= self.dropout < 1:
            raise ValueError(f"dropout ({self.dropout!r}) must be a number from 0 up to, but not including, 1")
        for name, choices in CHOICES.items():
            require_choice(name, getattr(self, name), get_args(choices))
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
        require_id("position_offset", self.position_offset, MAX_POSITION_OFFSET)
        if self.positions == "learned" and self.position_offset:
            raise ValueError(
                f"position_offset ({self.position_offset}) must be 0 for learned positions: leave out the first rows "
                f"of their table instead"
            )
        if self.positions == "relative":
            self._check_relative_positions()

    def _check_relative_positions(self) -> None:
        if self.relative_buckets % 4:
            raise ValueError(
                f"relative_buckets ({self.relative_buckets}) must be divisible by 4: half of them are for each "
                f"direction, and half of these for single distances"
            )
        if self.relative_max_distance <= self.relative_buckets // 2:
            raise ValueError(
                f"relative_max_distance ({self.relative_max_distance}) must be above relative_buckets / 2 "
                f"({self.relative_buckets // 2}): that many distances have a class of their own"
            )
        for name, known in (("neighbourhood", None), ("position_offset", 0)):
            if getattr(self, name) != known:
                raise ValueError(
                    f"{name} ({getattr(self, name)}) must be {known} with relative positions: models with both are "
                    f"unknown"
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
            require_id(name, getattr(self, name), getattr(self, side), f"{side} - 1")
        if self.pad_id == self.eos_id:
            raise ValueError(
                f"pad_id ({self.pad_id}) and eos_id ({self.eos_id}) must differ: every source ends with the latter, "
                f"and padding is masked"
            )
        if self.forced_first_id is not None:
            require_id("forced_first_id", self.forced_first_id, self.target_size, f"{self.target_side} - 1")
        for name in ID_LISTS:
            ids, side = getattr(self, name), self.target_side if name == "never_ids" else "vocab_size"
            if not isinstance(ids, list | tuple) or len(cast("tuple[Any, ...]", ids)) > MAX_IDS:
                raise ValueError(f"{name} ({shown(ids)}) must be a tuple of at most {MAX_IDS} token ids")
            for token_id in ids:
                require_id(name, token_id, getattr(self, side), f"{side} - 1")
            object.__setattr__(self, name, tuple(ids))  # lists come from JSON

    def _check_patches(self) -> None:
        """Check that the fields are compatible with a source of image patches."""
        if self.patch_size is None:
            if self.patch_rows != 1:
                raise ValueError(f"patch_rows ({self.patch_rows}) needs patch_size: without it the source is tokens")
            return
        if self.patch_size * self.patch_rows > MAX_PICTURE_HEIGHT:
            raise ValueError(
                f"patch_size * patch_rows ({self.patch_size} * {self.patch_rows}) must be at most "
                f"{MAX_PICTURE_HEIGHT}: that is the height of a picture in pixels"
            )
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
        """Check that the fields are compatible with a decoder without causal mask."""
        if self.mask_id is None:
            return
        require_id("mask_id", self.mask_id, self.target_size, f"{self.target_side} - 1")
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

    @property
    def numbers_per_pair(self) -> int:
        """Attention weights of all heads for one pair of tokens."""
        return self.num_encoder_layers * self.num_heads + 2 * self.num_decoder_layers * self.decoder_heads.num_heads

    @property
    def numbers_per_token(self) -> int:
        """Numbers that a pass computes for one token, roughly.

        Besides `numbers_per_pair`: logits and probabilities, the output of each head of a layer, and the states of all
        layers: inputs and outputs of the sub-layers, queries, keys, values, and feed-forward networks.
        """
        (encoder, *_), (decoder, *_) = of_layers = self.encoder_heads, self.decoder_heads
        states = sum(
            layers * (8 * self.d_model + 2 * d_ff + 2 * heads.num_heads * (heads.d_k + heads.d_v))
            for layers, d_ff, heads in zip(
                (self.num_encoder_layers, self.num_decoder_layers),
                (self.d_ff, self.decoder_d_ff or self.d_ff),
                of_layers,
                strict=True,
            )
        )
        return 2 * self.target_size + max(encoder, decoder) * self.d_model + states

    def numbers_per_hypothesis(self, positions: int) -> int:
        """Numbers that a search keeps for a hypothesis of some length, roughly.

        These are logits, probabilities, the feed-forward network of a layer, and the keys and values of all positions;
        in mask-predict the logits of all positions.
        """
        if not self.autoregressive:
            return positions * self.target_size
        _, d_k, d_v = heads = self.decoder_heads
        widest = 2 * (self.decoder_d_ff or self.d_ff)
        return 2 * self.target_size + widest + positions * self.num_decoder_layers * heads.num_heads * (d_k + d_v)

    def _heads(self, number: int) -> HeadShape:
        return HeadShape(number, self.d_k or self.d_model // number, self.d_v or self.d_model // number)
