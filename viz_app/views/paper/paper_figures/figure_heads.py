"""The paper's figures 3 to 5, and the heads of another model to show in them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from core.analysis.heads.head import Head
from core.analysis.heads.word_pair import WordPair, pair_weights, word_pair
from core.analysis.tokens.words import is_special, readable, text_word_groups, word
from core.analysis.weight_tables import LinePanel
from core.capture import AttentionMap
from core.results import Explanation
from viz_app.language import marked

LAYER = 5  # of the paper's 6, counted from 1
PAPER_LAYERS = 6
PRONOUNS = ("it", "its", "they", "them", "their")  # of things and groups
DETERMINERS = ("the", "a", "an", "this", "that", "my", "your", "his", "her", "our")
MAKING_SENTENCE = (
    "It is in this spirit that a majority of American governments have passed new laws since 2009 making the "
    "registration or voting "
    "process more difficult ."
)
LAW_SENTENCE = (
    "The Law will never be perfect , but its application should be just - this is what we are missing , in my opinion ."
)


@dataclass(frozen=True)
class PaperFigure:
    """One of the paper's figures."""

    sentence: str
    word: str | None  # the word whose lines are drawn; None: all words
    towards: tuple[str, ...]  # the words that these lines lead to in the paper
    num_heads: int | None  # number of heads shown; None: all of the layer
    about: str  # the content of the figure in the paper


FIGURES: dict[str, PaperFigure] = {
    marked("Figure 3"): PaperFigure(
        MAKING_SENTENCE,
        "making",
        ("more", "difficult"),
        None,
        marked(
            "the lines from one word, all heads. In the paper, many of them link \u201cmaking\u201d to the distant "
            "\u201cmore difficult\u201d"
        ),
    ),
    marked("Figure 4"): PaperFigure(
        LAW_SENTENCE,
        "its",
        ("Law",),
        2,
        marked(
            "at the top all lines of one head, below the lines from one word, two heads. In the paper, these attend "
            "sharply to \u201cLaw\u201d and \u201capplication\u201d"
        ),
    ),
    marked("Figure 5"): PaperFigure(
        LAW_SENTENCE,
        None,
        (),
        2,
        marked("all lines of two heads. In the paper, each follows the structure of the sentence in a different way"),
    ),
}


def nearest_layer(num_layers: int) -> int:
    """Return the layer that stands for the paper's, counted from 0: the same, or the last of a smaller model."""
    return min(LAYER, num_layers) - 1


@dataclass(frozen=True)
class Linking:
    """Weight of the lines from one word to others, in every head of the encoder."""

    weights: Tensor  # [layers, heads]
    # positions of the other words: those that the figure is about, or the one that the best head attends to
    keys: tuple[int, ...]

    def best(self, layer: int | None = None) -> Head:
        """Return the head with the most weight, of all layers or of one."""
        if layer is not None:
            return Head("encoder_self", layer, int(self.weights[layer].argmax()))
        return Head("encoder_self", *divmod(int(self.weights.argmax()), self.weights.size(1)))

    def of(self, head: Head) -> float:
        """Return the weight of a head."""
        return float(self.weights[head.layer, head.head])


def linking(figure: PaperFigure, maps: Sequence[AttentionMap], query: int) -> Linking:
    """Weigh the lines from a word: to the words that the figure is about, if it is about this word, and summed; else to
    any other word.
    """
    texts = [readable(token) for token in maps[0].key_tokens]
    weights = torch.stack([each.weights[:, query] for each in maps])  # [layers, heads, keys]
    if texts[query] == figure.word and set(figure.towards) <= set(texts):
        keys = tuple(map(texts.index, figure.towards))
        return Linking(weights[..., list(keys)].sum(-1), keys)
    others = [key for key, token in enumerate(maps[0].key_tokens) if key != query and not is_special(token)]
    if not others:
        return Linking(weights.new_zeros(weights.shape[:2]), ())
    largest = Linking(weights[..., others].amax(-1), ())
    best = largest.best()
    return replace(largest, keys=(others[int(weights[best.layer, best.head, others].argmax())],))


def antecedent_pair(explanation: Explanation) -> WordPair | None:
    """Return the pair of words that Figure 4 is about in a sentence: a pronoun, and the noun that it may refer to.

    The pronoun is the first of `PRONOUNS` behind a noun. Nouns are known by an article or possessive before them; of
    those the pronoun's, in the upper half of the encoder's layers, is the one that a head attends to most. The model
    was never taught what a pronoun refers to: the pair says where the heads look, and may be wrong.

    Returns:
        None if the sentence, which is to be English, has no such words.
    """
    tokens, nouns = explanation.source_tokens, list[range]()
    layers, before = explanation.maps.get("encoder_self", ()), ""
    for group in text_word_groups(tokens):
        text = str(word(tokens[group.start : group.stop])).lower()
        if text in PRONOUNS and nouns:
            pairs = [word_pair(explanation, ("source", group), ("source", noun)) for noun in nouns]
            found = [
                (max(max(pair_weights(layer, pair)) for layer in layers[len(layers) // 2 :]), pair)
                for pair in pairs
                if pair
            ]
            return max(found, key=lambda each: each[0])[1] if found else None
        if before in DETERMINERS and any(map(str.isalpha, text)):
            nouns.append(group)
        before = text
    return None


def sharpest_heads(attention: AttentionMap, query: int | None, count: int | None) -> list[int]:
    """Choose so many heads, or all, by their weights: those of another model have other numbers than the paper's.

    They are those whose largest weight is the greatest: that of `query`, or the mean over all words. Weights on special
    tokens and on the word itself do not count.
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
    """Return the drawings of a figure."""
    queries = () if query is None else (query,)
    if figure == "Figure 4":
        return [LinePanel(attention, (heads[0],)), LinePanel(attention, tuple(heads), queries)]
    if figure == "Figure 5":
        return [LinePanel(attention, (head,)) for head in heads]
    return [LinePanel(attention, tuple(heads), queries)]
