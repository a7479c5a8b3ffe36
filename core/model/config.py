"""Model configuration."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

from core.model.config_checks import check_config

Positions = Literal["sinusoidal", "learned", "relative", "relative_per_layer"]
NormPlace = Literal["post", "pre"]
NormKind = Literal["layer", "rms"]
Activation = Literal["relu", "gelu", "gelu_tanh", "swish"]
PositionOrder = Literal["interleaved", "halves"]
PositionExponent = Literal["i/n", "i/(n-1)"]
Tied = Literal["all", "target", "inputs", "none"]
PenaltyFormula = Literal["paper", "length"]


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
            scores of self-attention instead, by the distance of query and key (Raffel et al. 2020, 2.1), the same in
            all layers of a stack or, `relative_per_layer`, others in each (Chung et al. 2023, UMT5).
        norm_kind: of all norms: LayerNorm, or RMSNorm, which subtracts no mean and has no bias (Zhang & Sennrich 2019).
        activation: of the feed-forward networks; `swish` is x * sigmoid(x), `gelu` is x * Phi(x), `gelu_tanh` its
            approximation by tanh.
        gated_feed_forward: whether another projection of the input multiplies the activations (Shazeer 2020).
        attention_bias, feed_forward_bias, output_bias: whether the projections of attention, the feed-forward networks
            and the logits have a bias.
        position_order: sine and cosine columns alternate, or all sines come before all cosines.
        tied: which of the three matrices (source and target embedding, output projection) are one: all of them (3.4),
            the two of the target, the two embeddings, or none.
        patch_size: side in pixels of the image patches that the encoder takes instead of tokens, each projected to
            d_model (Dosovitskiy et al. 2021, 3.1); None: tokens.
        mask_id: token in place of those still to be predicted, of a conditional masked language model (Ghazvininejad et
            al. 2019): its decoder has no causal mask and predicts the token at each position, not the next one, and the
            length of the target is predicted from the source. None: an autoregressive model.
        source_prefix, source_suffix: token ids put before every source and after its `</s>`.
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
    relative_buckets: int = 32  # number of classes of distances that share a score; see `RelativePositions`
    relative_max_distance: int = 128  # distance from which on all share the last class
    pad_id: int = 0
    bos_id: int = 1
    eos_id: int = 2
    norm: NormPlace = "post"  # LayerNorm after each residual connection (3.1), or on the input of each sub-layer
    norm_kind: NormKind = "layer"
    final_norm: bool = False  # another norm after the last layer of each stack
    norm_eps: float = 1e-5  # added to the variance by LayerNorm, to the mean square by RMSNorm
    activation: Activation = "relu"
    gated_feed_forward: bool = False
    decoder_d_ff: int | None = None  # of the decoder; None: d_ff
    attention_bias: bool = True
    feed_forward_bias: bool = True
    output_bias: bool = False
    position_order: PositionOrder = "interleaved"
    position_exponent: PositionExponent = "i/n"  # e in the frequency 10000^-e of pair i of n = d_model / 2
    position_offset: int = 0  # sinusoidal position of the first token
    scale_embedding: bool = True  # whether embeddings are multiplied by sqrt(d_model) (3.4)
    embedding_norm: bool = False  # a norm on the input of each stack
    target_vocab_size: int | None = None  # of the target's own vocabulary; None: one vocabulary for both sides
    tied: Tied = "all"
    patch_size: int | None = None
    patch_rows: int = 1  # number of patches in a column of an image; see `core.images.patches` for their order
    mask_id: int | None = None
    forced_first_id: int | None = None  # first token of every translation, None: free
    source_prefix: tuple[int, ...] = ()
    source_suffix: tuple[int, ...] = ()
    source_end: bool = True  # whether `</s>` ends every source
    never_ids: tuple[int, ...] = ()  # ids that a search never generates, besides `pad_id` and `bos_id`
    penalty_formula: PenaltyFormula = "paper"
    early_stopping: bool = True

    def __post_init__(self) -> None:
        check_config(self)
        for name in ("source_prefix", "source_suffix", "never_ids"):
            object.__setattr__(self, name, tuple(getattr(self, name)))  # lists come from JSON

    @property
    def autoregressive(self) -> bool:
        """Whether the decoder predicts the next token, under a causal mask."""
        return self.mask_id is None

    @property
    def relative(self) -> bool:
        """Whether positions act in attention, by the distance of query and key."""
        return self.positions in ("relative", "relative_per_layer")

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
