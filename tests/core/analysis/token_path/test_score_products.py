import math

import pytest

from core.analysis.heads.head import all_heads
from core.analysis.token_path.score_products import ScoreProducts, score_products
from core.analysis.token_path.token_walk import follow_token
from core.trace import Head
from core.translator import Translator
from tests.core.analysis.conftest import SOURCE, TARGET


def products(translator: Translator, head: Head, query: int, key: int) -> ScoreProducts:
    return score_products(translator, lambda: translator.explain(SOURCE, TARGET), head, query, key)


def test_the_products_of_heads_in_every_layer_sum_to_the_models_score(post_or_pre: Translator) -> None:
    for head in all_heads(post_or_pre.model)[1::3]:
        found = products(post_or_pre, head, 4, 2)
        assert found.gap < 1e-6
        assert found.score == pytest.approx(sum(found.columns()["product"]))
        assert found.score == pytest.approx(sum(sum(each.values) for each in found.picture().series))


@pytest.mark.parametrize("head", [Head("encoder_self", 1, 2), Head("decoder_self", 0, 3), Head("cross", 2, 0)])
def test_products_and_weight_are_those_of_the_formulas(translator: Translator, head: Head) -> None:
    """`follow_token` computes them from the parameters; here they come from the model's own pass."""
    stack = "encoder" if head.kind == "encoder_self" else "decoder"
    steps = follow_token(translator, SOURCE, TARGET, stack, 5, head.layer, head.head).attention(head.kind)
    for key in (0, 3, 5):
        found = products(translator, head, 5, key)
        expected = (steps.products[key] / math.sqrt(len(steps.query))).tolist()
        assert found.products.tolist() == pytest.approx(expected, abs=1e-5)
        assert found.weight == pytest.approx(float(steps.weights[key]), abs=1e-6)


def test_the_softmax_of_the_scores_of_a_row_is_the_row(translator: Translator) -> None:
    head = Head("cross", 1, 1)
    weights = translator.explain(SOURCE, TARGET).maps["cross"][1].weights[1, 3]
    scores = [products(translator, head, 3, key).score for key in range(len(weights))]
    total = sum(map(math.exp, scores))
    assert [math.exp(score) / total for score in scores] == pytest.approx(weights.tolist(), abs=1e-6)


def test_a_later_token_is_hidden(translator: Translator) -> None:
    found = products(translator, Head("decoder_self", 0, 0), 2, 3)
    assert found.is_hidden
    assert math.isnan(found.gap)
    assert found.weight == 0.0
    assert math.isfinite(found.score)


@pytest.mark.parametrize(
    ("head", "query", "key", "message"),
    [
        (Head("cross", 9, 0), 0, 0, "no head cross L10 H1"),
        (Head("encoder_self", 0, 3), 0, 0, "no head encoder L1 H4"),
        (Head("cross", 0, 0), 99, 0, r"query \(99\) must be from 0 to \d+"),
        (Head("cross", 0, 0), 0, -1, r"key \(-1\) must be from 0 to \d+"),
    ],
)
def test_places_that_do_not_exist(translator: Translator, head: Head, query: int, key: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        products(translator, head, query, key)
