"""Decomposition of first-layer scores."""

import copy
from typing import Any, get_args

import pytest
import torch

from core.analysis.score_decomposition import PARTS, RELATIVE_PARTS, ScoreParts, SelfAttentionKind, score_parts
from core.text.tokenizer import SentencePieceTokenizer
from core.translator import Translator
from tests.core.analysis.conftest import random_translator
from tests.core.tiny_models import LIKE_T5

SOURCE, TARGET = "Where is station \u03a9?", "Wo ist der Bahnhof \u03a9?"  # omega is two byte tokens


OTHER: dict[str, dict[str, Any]] = {
    "norm_first": {"norm": "pre", "final_norm": True, "tied": "target", "position_offset": 2},
    "embedding_norm": {"embedding_norm": True, "position_order": "halves"},
    "no_biases": {"attention_bias": False},
    "like_t5": LIKE_T5,
}


@pytest.fixture(params=get_args(SelfAttentionKind))
def parts(request: pytest.FixtureRequest, translator: Translator) -> ScoreParts:
    return score_parts(translator, SOURCE, TARGET, request.param)


@pytest.mark.parametrize("changes", OTHER.values(), ids=OTHER)
@pytest.mark.parametrize("kind", get_args(SelfAttentionKind))
def test_parts_of_other_architectures(
    changes: dict[str, Any], kind: SelfAttentionKind, tokenizer: SentencePieceTokenizer
) -> None:
    other = random_translator(tokenizer, **changes)
    found = score_parts(other, SOURCE, TARGET, kind)
    weights = found.total.masked_fill(~found.allowed, -torch.inf).softmax(-1)
    torch.testing.assert_close(weights, other.explain(SOURCE, TARGET).maps[kind][0].weights, atol=1e-5, rtol=0)
    assert found.error < 1e-4
    assert all(part.abs().max() > 0 for name, part in found.parts.items() if name != "bias")
    assert (found.parts["bias"].abs().max() > 0) == ("attention_bias" not in changes)
    assert tuple(found.parts) == (RELATIVE_PARTS if "positions" in changes else PARTS)


def test_two_norms_are_refused(tokenizer: SentencePieceTokenizer) -> None:
    other = random_translator(tokenizer, norm="pre", embedding_norm=True)
    with pytest.raises(ValueError, match=r"normalises its embeddings twice before the first attention \("):
        score_parts(other, SOURCE, TARGET, "encoder_self")


def test_the_softmax_of_the_sum_is_what_the_head_attends_with(parts: ScoreParts, translator: Translator) -> None:
    attention = translator.explain(SOURCE, TARGET).maps[parts.kind][0]
    weights = parts.total.masked_fill(~parts.allowed, -torch.inf).softmax(-1)
    torch.testing.assert_close(weights, attention.weights, atol=1e-5, rtol=0)
    assert parts.tokens == attention.query_tokens
    assert list(map(type, parts.tokens)) == list(map(type, attention.query_tokens))
    assert 0 <= parts.error < 1e-4


def test_parts_of_content_follow_the_word_and_parts_of_position_the_place(translator: Translator) -> None:
    first = score_parts(translator, "A dog runs.", "", "encoder_self")
    other = score_parts(translator, "A cat runs.", "", "encoder_self")
    same = min(len(first.tokens), len(other.tokens))
    mine, theirs = first.parts["position_position"], other.parts["position_position"]
    torch.testing.assert_close(mine[:, :same, :same], theirs[:, :same, :same], atol=1e-5, rtol=0)
    twice = score_parts(translator, "dog dog", "", "encoder_self")
    half = twice.tokens.index("\u2581d") if "\u2581d" in twice.tokens else 0
    again = next(place for place in range(half + 1, len(twice.tokens)) if twice.tokens[place] == twice.tokens[half])
    content = twice.parts["content_content"]
    torch.testing.assert_close(content[:, half], content[:, again])
    assert not torch.allclose(twice.parts["position_content"][:, half], twice.parts["position_content"][:, again])


def test_without_biases_there_are_four_parts_and_they_are_the_same(translator: Translator) -> None:
    bare = Translator(copy.deepcopy(translator.model), translator.tokenizer)
    for projection in (
        bare.model.encoder.layers[0].self_attention.q_proj,
        bare.model.encoder.layers[0].self_attention.k_proj,
    ):
        projection.bias.zero_()
    found, other = (score_parts(each, SOURCE, TARGET, "encoder_self") for each in (translator, bare))
    assert found.parts["bias"].abs().max() > 0
    assert other.parts["bias"].abs().max() == 0
    for name in PARTS[:4]:
        torch.testing.assert_close(found.parts[name], other.parts[name])


def test_shares_say_which_part_decides() -> None:
    """Two keys, two queries, by hand: within a row, scores differ by 3: 4 by content and -1 by position."""
    zero = torch.zeros(1, 2, 2)
    content, place = torch.tensor([[[4.0, 0.0], [0.0, 4.0]]]), torch.tensor([[[0.0, 1.0], [1.0, 0.0]]])
    constant = torch.full((1, 2, 2), 7.0)  # the same for all keys: it decides nothing
    values = dict(zip(PARTS, (content, zero, zero, place, constant), strict=True))
    found = ScoreParts(
        "encoder_self", ("a", "b"), values, content + place + constant, torch.ones(2, 2, dtype=torch.bool)
    )
    assert found.error == 0
    assert found.shares(0) == pytest.approx(
        {**dict.fromkeys(PARTS, 0), "content_content": 4 / 3, "position_position": -1 / 3}
    )


def test_shares_sum_to_one_where_there_is_a_choice(parts: ScoreParts) -> None:
    for head in range(parts.scores.size(0)):
        assert sum(parts.shares(head).values()) == pytest.approx(1, abs=1e-4)


def test_the_bias_of_the_keys_is_in_no_part(parts: ScoreParts, translator: Translator) -> None:
    """It adds a constant to each row of scores, so attention is unchanged."""
    other = Translator(copy.deepcopy(translator.model), translator.tokenizer)
    for stack in (other.model.encoder, other.model.decoder):
        stack.layers[0].self_attention.k_proj.bias += 3 * torch.randn(stack.layers[0].self_attention.k_proj.bias.shape)
    found = score_parts(other, SOURCE, TARGET, parts.kind)
    for name in PARTS:
        torch.testing.assert_close(found.parts[name], parts.parts[name])
    torch.testing.assert_close(found.scores, parts.scores, atol=1e-4, rtol=1e-4)
