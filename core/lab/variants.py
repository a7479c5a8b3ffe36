"""Parts of the paper's Transformer taken away or changed, each put in the place of one that `core/paper.py` names.

A variant has a module of its own, loaded from the file of `core.paper`: others, in other threads, stay whole. A
function below is put under its name there and sees the names of that module, so that variants can be combined.
"""

import difflib
import inspect
import math
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import util
from types import FunctionType
from typing import Any

import torch
from torch import Tensor, nn

from core import paper
from core.paper import PAD, DecoderLayer, EncoderLayer, FeedForward, Stack, add_and_norm
from core.text.phrases import marked

TRAINING_PARTS = {"learning_rate", "smoothed_loss"}  # they leave the model as it is


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Size of a model and of its training; the defaults are half as wide as those of `paper.train`.

    Raises:
        ValueError: d_model is odd or not divisible by num_heads, or a number is out of range.
    """

    d_model: int = 32
    d_ff: int = 128
    num_heads: int = 2
    num_layers: int = 2
    dropout: float = 0.1
    batch_size: int = 64
    warmup: int = 200  # steps (5.3)
    seed: int = 1

    def __post_init__(self) -> None:
        for name in ("d_model", "d_ff", "num_heads", "num_layers", "batch_size", "warmup"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} ({getattr(self, name)}) must be at least 1")
        if self.d_model % self.num_heads or self.d_model % 2:
            raise ValueError(f"d_model ({self.d_model}) must be even, and divisible by num_heads ({self.num_heads})")
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout ({self.dropout}) must be at least 0 and below 1")


@dataclass(frozen=True, kw_only=True)
class Variant:
    """One part of the paper taken away or changed."""

    name: str  # identifier
    title: str
    section: str  # of the paper, where it says why the part is there
    says: str  # what it says, in other words
    predicted: str  # what follows for a model without the part
    # names in `core/paper.py`, such as `FeedForward.forward`, and what is put in their places
    parts: Mapping[str, Callable[..., Any]] = field(default_factory=dict[str, Callable[..., Any]])
    settings: Mapping[str, float] = field(default_factory=dict[str, float])  # fields of `Settings` and their values

    @property
    def is_paper_model(self) -> bool:
        """Whether the model is the paper's, and opens everywhere: only its sizes or its training differ."""
        return self.parts.keys() <= TRAINING_PARTS

    def diff(self, settings: Settings) -> str:
        """Return a unified diff, from the sources of both, of what this changes for a model with these settings."""
        lines = [f"-{name} = {getattr(settings, name)}\n+{name} = {value}\n" for name, value in self.settings.items()]
        for name, part in self.parts.items():
            owner, last = _place(paper, name)
            original = textwrap.dedent(inspect.getsource(getattr(owner, last)))
            definition = f"def {last}({'' if owner is paper else 'self'}"
            changed = re.sub(rf"^def {part.__name__}\((self: \w+)?", definition, inspect.getsource(part))
            lines += difflib.unified_diff(original.splitlines(True), changed.splitlines(True), name, name, n=100)
        return "".join(lines)


def built(variants: Sequence[Variant], settings: Settings) -> tuple[Any, Settings]:
    """Return a module as `core.paper`, with the parts of all variants in it, and the settings with theirs.

    Raises:
        ValueError: two of them change the same.
    """
    spec = util.spec_from_file_location("core.paper", paper.__file__)
    assert spec
    assert spec.loader
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    changed = dict[str, str]()
    for variant in variants:
        for name in [*variant.parts, *variant.settings]:
            if name in changed:
                raise ValueError(f"{changed[name]} and {variant.name} both change {name}: choose one of them")
            changed[name] = variant.name
        for name, part in variant.parts.items():
            assert isinstance(part, FunctionType)
            owner, last = _place(module, name)
            setattr(owner, last, FunctionType(part.__code__, vars(module), last, part.__defaults__))
        settings = replace(settings, **variant.settings)
    return module, settings


def _place(module: Any, name: str) -> tuple[Any, str]:
    """The module or the class in it that has a part, and the part's name there."""
    owner, _, last = name.rpartition(".")
    return getattr(module, owner) if owner else module, last


# --- What is put in the places of the paper's parts -----------------------------------------------------------------
def zero_positions(length: int, d_model: int) -> Tensor:
    """The same for all positions: [L, D]."""
    return torch.zeros(length, d_model)


def unscaled_attention(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    """softmax(Q K^T) V: [B, H, Q, E], [B, H, K, E], [B, H, K, E] -> [B, H, Q, E].

    The mask broadcasts to [B, H, Q, K]; True may be attended to.
    """
    scores = queries @ keys.transpose(-2, -1)
    weights = scores.masked_fill(~mask, -math.inf).softmax(dim=-1)
    return weights @ values


def full_mask(length: int) -> Tensor:
    """All positions of the decoder attend to all: [T, T]."""
    return torch.ones(length, length, dtype=torch.bool)


def norm_alone(x: Tensor, output: Tensor, norm: nn.LayerNorm, dropout: nn.Dropout) -> Tensor:
    """LayerNorm(Sublayer(x)), with dropout of the sub-layer's output (5.4): [B, L, D], [B, L, D] -> [B, L, D]."""
    return norm(dropout(output))


def addition_alone(x: Tensor, output: Tensor, norm: nn.LayerNorm, dropout: nn.Dropout) -> Tensor:
    """x + Sublayer(x), with dropout of the sub-layer's output (5.4): [B, L, D], [B, L, D] -> [B, L, D]."""
    return x + dropout(output)


def encoder_norm_before(self: EncoderLayer, x: Tensor, mask: Tensor) -> Tensor:
    """[B, S, D], [B, 1, 1, S] -> [B, S, D]."""
    normed = self.self_attention_norm(x)
    x = x + self.dropout(self.self_attention(normed, normed, mask))
    return x + self.dropout(self.feed_forward(self.feed_forward_norm(x)))


def decoder_norm_before(self: DecoderLayer, x: Tensor, memory: Tensor, mask: Tensor, memory_mask: Tensor) -> Tensor:
    """[B, T, D], [B, S, D], [B, 1, T, T], [B, 1, 1, S] -> [B, T, D]."""
    normed = self.self_attention_norm(x)
    x = x + self.dropout(self.self_attention(normed, normed, mask))
    x = x + self.dropout(self.cross_attention(self.cross_attention_norm(x), memory, memory_mask))
    return x + self.dropout(self.feed_forward(self.feed_forward_norm(x)))


def stack_norm_at_end(self: Stack, x: Tensor, *context: Tensor) -> Tensor:
    """[B, L, D] and what each layer gets besides -> [B, L, D]."""
    for layer in self.layers:
        x = layer(x, *context)
    return nn.functional.layer_norm(x, x.shape[-1:])  # the sum of all layers has no norm yet


def no_network(self: FeedForward, x: Tensor) -> Tensor:
    """[B, L, D] -> [B, L, D]."""
    return torch.zeros_like(x)


def decoder_without_memory(self: DecoderLayer, x: Tensor, memory: Tensor, mask: Tensor, memory_mask: Tensor) -> Tensor:
    """[B, T, D], [B, S, D], [B, 1, T, T], [B, 1, 1, S] -> [B, T, D]."""
    x = add_and_norm(x, self.self_attention(x, x, mask), self.self_attention_norm, self.dropout)
    return add_and_norm(x, self.feed_forward(x), self.feed_forward_norm, self.dropout)


def rate_without_warmup(step: int, d_model: int, warmup: int = 4000) -> float:
    """The highest rate from the first step on, then falls with the inverse square root of the step."""
    return d_model**-0.5 * max(step, warmup) ** -0.5


def loss_without_smoothing(logits: Tensor, labels: Tensor, smoothing: float = 0.1) -> Tensor:
    """Cross-entropy, the mean over the tokens, in nats: [B, T, V], [B, T] -> []."""
    log_probs = logits.log_softmax(dim=-1)
    label_nll = -log_probs.gather(-1, labels[..., None]).squeeze(-1)
    return label_nll[labels != PAD].mean()


VARIANTS = {
    variant.name: variant
    for variant in (
        Variant(
            name="no_positions",
            title=marked("No positions"),
            section="3.5",
            says=marked("Without recurrence or convolution, only encodings tell in which order tokens stand."),
            predicted=marked("The encoder sees a set. Reversing needs the order, sorting does not."),
            parts={"positional_encoding": zero_positions},
        ),
        Variant(
            name="no_scale",
            title=marked("No division by the root of d_k"),
            section="3.2.1",
            says=marked("For large d_k products grow large and push the softmax to where its gradients are tiny."),
            predicted=marked("Most weights begin near 0 or 1, the more so in wider heads: it learns more slowly."),
            parts={"scaled_dot_product_attention": unscaled_attention},
        ),
        Variant(
            name="no_causal_mask",
            title=marked("No causal mask"),
            section="3.2.3",
            says=marked("Masking what follows keeps the decoder autoregressive."),
            predicted=marked(
                "In training it reads the answer: the loss falls to its least, and every answer is wrong."
            ),
            parts={"causal_mask": full_mask},
        ),
        Variant(
            name="no_residual",
            title=marked("No residual connections"),
            section="3.1",
            says=marked("A residual connection leads around each sub-layer."),
            predicted=marked(
                "Each layer must pass on whatever later ones need, and the gradient must pass through all."
            ),
            parts={"add_and_norm": norm_alone},
        ),
        Variant(
            name="no_norm",
            title=marked("No normalization"),
            section="3.1",
            says=marked("Layer normalization follows each residual connection."),
            predicted=marked("Two layers can do without; deep stacks cannot."),
            parts={"add_and_norm": addition_alone},
        ),
        Variant(
            name="norm_before",
            title=marked("Normalization before each sub-layer"),
            section="3.1",
            says=marked("The paper normalizes after the residual connection; later models before the sub-layer."),
            predicted=marked("The sum stays free for the gradient, so that training needs no warm-up."),
            parts={
                "EncoderLayer.forward": encoder_norm_before,
                "DecoderLayer.forward": decoder_norm_before,
                "Stack.forward": stack_norm_at_end,
            },
        ),
        Variant(
            name="one_head",
            title=marked("One head"),
            section="3.2.2",
            says=marked("Several heads attend to several places at once; one head averages over them."),
            predicted=marked("Reversing looks at one place at a time: one head is enough."),
            settings={"num_heads": 1},
        ),
        Variant(
            name="eight_heads",
            title=marked("Eight heads"),
            section="3.2.2",
            says=marked("Quality drops with too few heads, and also with too many (Table 3)."),
            predicted=marked("Eight narrow heads reverse as well as two."),
            settings={"num_heads": 8},
        ),
        Variant(
            name="no_feed_forward",
            title=marked("No feed-forward network"),
            section="3.3",
            says=marked("Each layer has a network that is applied to each position alone."),
            predicted=marked("Attention alone can move tokens: it learns, more slowly."),
            parts={"FeedForward.forward": no_network},
        ),
        Variant(
            name="no_cross_attention",
            title=marked("No cross-attention"),
            section="3.2.3",
            says=marked("By attention to the memory each position of the decoder sees the whole source."),
            predicted=marked("It cannot know the source: the loss stays that of guessing."),
            parts={"DecoderLayer.forward": decoder_without_memory},
        ),
        Variant(
            name="no_warmup",
            title=marked("No warm-up"),
            section="5.3",
            says=marked("The rate rises for the first steps, then falls with the inverse square root of the step."),
            predicted=marked("The first steps, at the highest rate, ruin the weights, unless the norm stands before."),
            parts={"learning_rate": rate_without_warmup},
        ),
        Variant(
            name="no_smoothing",
            title=marked("No label smoothing"),
            section="5.4",
            says=marked("Smoothing makes the model less sure, which hurts perplexity and helps BLEU."),
            predicted=marked("The loss can fall to 0; exact answers come as early."),
            parts={"smoothed_loss": loss_without_smoothing},
        ),
        Variant(
            name="no_dropout",
            title=marked("No dropout"),
            section="5.4",
            says=marked("Dropout keeps the model from learning its training text by heart."),
            predicted=marked("Fresh examples at each step cannot be learned by heart: it learns faster."),
            settings={"dropout": 0.0},
        ),
        Variant(
            name="more_dropout",
            title=marked("Dropout of 0.3"),
            section="5.4",
            says=marked("The big model had 0.3, the base model 0.1 (Table 3)."),
            predicted=marked("A narrow model loses more than it gains: it learns more slowly."),
            settings={"dropout": 0.3},
        ),
    )
}
