import pytest
import torch

from core.analysis.tokens.words import merge_words, readable
from core.capture import AttentionMap
from core.results import Explanation
from core.translator import Translator
from viz_app.views.paper.paper_figures.figure_heads import (
    FIGURES,
    antecedent_pair,
    linking,
    nearest_layer,
    panels,
    sharpest_heads,
)

TOKENS = ("▁a", "▁b", "▁c", "</s>")


@pytest.mark.parametrize(("num_layers", "layer"), [(6, 4), (12, 4), (5, 4), (3, 2), (1, 0)])
def test_the_paper_s_layer_or_the_nearest(num_layers: int, layer: int) -> None:
    assert nearest_layer(num_layers) == layer


def test_the_head_with_the_most_weight_between_the_words_of_a_figure_is_found_in_any_layer() -> None:
    tokens = ("\u2581making", "\u2581it", "\u2581more", "\u2581difficult", "</s>")
    weights = torch.full((3, 2, 5, 5), 0.01)  # [layers, heads, queries, keys]
    weights[1, 1, 0, 2], weights[1, 1, 0, 3] = 0.3, 0.25  # together the most
    weights[2, 0, 0, 3] = 0.5
    weights[0, 0, 0, 1], weights[0, 1, 0, 4], weights[0, 1, 0, 0] = 0.6, 0.9, 0.95  # to none of these words
    maps = [AttentionMap("encoder_self", layer, each, tokens, tokens) for layer, each in enumerate(weights)]
    found = linking(FIGURES["Figure 3"], maps, 0)
    assert (found.keys, found.best(), found.best(2)) == ((2, 3), ("encoder_self", 1, 1), ("encoder_self", 2, 0))
    assert found.of(found.best()) == pytest.approx(0.55)
    other = linking(FIGURES["Figure 4"], maps, 0)  # is about other words: any but itself and `</s>`
    assert (other.keys, other.best()) == ((1,), ("encoder_self", 0, 0))
    alone = [AttentionMap("encoder_self", 0, torch.ones(1, 2, 2) / 2, ("\u2581Hi", "</s>"), ("\u2581Hi", "</s>"))]
    assert linking(FIGURES["Figure 3"], alone, 0).keys == ()


def test_the_heads_that_look_most_sharply_at_another_word_are_shown() -> None:
    itself, resting, broad = torch.eye(4), torch.eye(4)[[3, 3, 3, 3]], torch.full((4, 4), 0.25)
    looking, at_b = torch.eye(4)[[1, 2, 0, 0]] * 0.9, broad.clone()
    at_b[0] = torch.tensor([0.0, 0.99, 0.01, 0.0])
    attention = AttentionMap("encoder_self", 4, torch.stack([itself, resting, looking, broad, at_b]), TOKENS, TOKENS)
    assert sharpest_heads(attention, None, 2) == [2, 4]
    assert sharpest_heads(attention, 0, 1) == [4]
    assert sharpest_heads(attention, None, None) == [0, 1, 2, 3, 4]
    assert len(sharpest_heads(attention, 0, 9)) == 5


def test_every_figure_consists_of_the_paper_s_panels() -> None:
    attention = AttentionMap("encoder_self", 4, torch.full((3, 4, 4), 0.25), TOKENS, TOKENS)
    assert [(panel.heads, panel.queries) for panel in panels("Figure 3", attention, [0, 1, 2], 1)] == [
        ((0, 1, 2), (1,))
    ]
    assert [(panel.heads, panel.queries) for panel in panels("Figure 4", attention, [1, 2], 1)] == [
        ((1,), ()),
        ((1, 2), (1,)),
    ]
    assert [(panel.heads, panel.queries) for panel in panels("Figure 5", attention, [1, 2], None)] == [
        ((1,), ()),
        ((2,), ()),
    ]


def test_the_paper_s_words_are_words_of_its_sentences(translator: Translator) -> None:
    for figure in FIGURES.values():
        words = merge_words(translator.explain(figure.sentence, "").maps["encoder_self"][0]).query_tokens
        assert {figure.word, *figure.towards} - {None} <= {*map(readable, words)}


def explained(text: str, *weights: tuple[int, int, float]) -> Explanation:
    """A sentence with a token for each word, and an encoder of two layers with these weights in the upper one."""
    tokens = (*(f"\u2581{word}" for word in text.split()), "</s>")
    upper = torch.full((1, len(tokens), len(tokens)), 0.01)
    for row, key, weight in weights:
        upper[0, row, key] = weight
    lower = torch.full_like(upper, 0.01)
    lower[0, :, 0] = 0.9
    maps = tuple(AttentionMap("encoder_self", layer, each, tokens, tokens) for layer, each in enumerate((lower, upper)))
    return Explanation(text, "", tokens, (), (), (), (), {"encoder_self": maps})


def test_the_pronoun_and_the_noun_before_it_that_a_head_attends_to_most_are_the_pair_of_figure_4() -> None:
    text = "The animal did not cross the street because it was tired"
    pair = antecedent_pair(explained(text, (8, 1, 0.5), (8, 6, 0.2), (8, 4, 0.9)))  # `cross` is no noun
    assert pair is not None
    assert (pair.rows, pair.keys) == (range(8, 9), range(1, 2))
    pair = antecedent_pair(explained(text, (8, 1, 0.2), (8, 6, 0.5)))
    assert pair is not None
    assert pair.keys == range(6, 7)


@pytest.mark.parametrize("text", ["It was tired because the animal ran", "Das Tier war m\u00fcde", ""])
def test_without_a_pronoun_behind_a_noun_there_is_no_pair(text: str) -> None:
    assert antecedent_pair(explained(text)) is None
