"""What the paper's figures 3 to 5 show, and which heads of another model are shown in their stead."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st
import torch

from core.analysis.tokens.words import is_special
from core.capture import AttentionMap
from viz_app.figures.appendix import LinePanel
from viz_app.session.memory import Memory
from viz_app.session.models import Model

if TYPE_CHECKING:
    from core import Explanation

LAYER = 5  # of the paper's 6, counted from 1
PAPER_LAYERS = 6
MAKING = (
    "It is in this spirit that a majority of American governments have passed new laws since 2009 making the "
    "registration or voting "
    "process more difficult ."
)
LAW = (
    "The Law will never be perfect , but its application should be just - this is what we are missing , in my opinion ."
)


@dataclass(frozen=True)
class PaperFigure:
    """One of the paper's figures.

    Attributes:
        word: whose lines are drawn; none: all of them.
        num_heads: how many are shown; None: all of the layer.
        about: what the paper shows with it.
    """

    sentence: str
    word: str | None
    num_heads: int | None
    about: str


FIGURES: dict[str, PaperFigure] = {
    "Figure 3": PaperFigure(
        MAKING,
        "making",
        None,
        "the lines from one word, all heads: in the paper, many reach from \u201cmaking\u201d to \u201cmore "
        "difficult\u201d, far away",
    ),
    "Figure 4": PaperFigure(
        LAW,
        "its",
        2,
        "above all lines of one head, below those from one word, two heads: in the paper, sharp on \u201cLaw\u201d "
        "and \u201capplication\u201d",
    ),
    "Figure 5": PaperFigure(
        LAW, None, 2, "all lines of two heads: in the paper, each follows the structure of the sentence in its own way"
    ),
}


@st.cache_resource(show_spinner=False)
def _read() -> "Memory[Explanation]":
    return Memory(12)


def encoder_maps(model: Model, sentence: str) -> Sequence[AttentionMap]:
    """The encoder's attention to a sentence: all that these figures need, so nothing is translated.

    Raises:
        ValueError: there is no sentence, or too long a one.
    """
    return _read().get((model.digest, sentence), lambda: model.translator.explain(sentence, "")).maps["encoder_self"]


def nearest_layer(num_layers: int) -> tuple[int, str]:
    """The layer that stands for the paper's, counted from 0, and a sentence that says so where it is another model's
    shape.
    """
    layer = min(LAYER, num_layers)
    if num_layers == PAPER_LAYERS:
        return layer - 1, ""
    return (
        layer - 1,
        f"The paper shows layer {LAYER} of {PAPER_LAYERS}; this model's encoder has {num_layers}, so its layer "
        f"{layer} is drawn.",
    )


def telling_heads(attention: AttentionMap, query: int | None, count: int | None) -> list[int]:
    """Heads of another model have other numbers than the paper's: those that look most sharply at words are taken.

    Args:
        query: the word whose lines are drawn, if only one's are.
        count: how many; None: all.

    Returns:
        Heads by their number, those whose largest weight on a word (special tokens and the word itself left out), of
        the word or on average over all words, is the greatest.
    """
    if count is None:
        return list(range(attention.num_heads))
    weights = attention.weights.clone()
    weights[:, :, [position for position, token in enumerate(attention.key_tokens) if is_special(token)]] = 0
    if attention.kind == "encoder_self":
        weights *= 1 - torch.eye(weights.size(1))
    sharp = weights.amax(-1).mean(-1) if query is None else weights[:, query].amax(-1)
    return sorted(sharp.topk(min(count, attention.num_heads)).indices.tolist())


def panels(figure: str, attention: AttentionMap, heads: Sequence[int], query: int | None) -> list[LinePanel]:
    """The drawings that a figure consists of."""
    queries = () if query is None else (query,)
    if figure == "Figure 4":
        return [LinePanel(attention, (heads[0],)), LinePanel(attention, tuple(heads), queries)]
    if figure == "Figure 5":
        return [LinePanel(attention, (head,)) for head in heads]
    return [LinePanel(attention, tuple(heads), queries)]
