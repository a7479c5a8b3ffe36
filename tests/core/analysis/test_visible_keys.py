"""Masks of restricted self-attention (section 4), and measures over visible keys, against brute force."""

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from core.analysis.attribution.methods import METHODS
from core.analysis.comparison import difference
from core.analysis.correlation import map_correlation, spearman
from core.analysis.heads.bracket_attention import symbol_attention
from core.analysis.heads.corpus_maps import batch_maps
from core.analysis.heads.labels import head_labels
from core.analysis.heads.scorer import score_cards
from core.analysis.tokens.words import mean_over_words, without_special_tokens
from core.capture import AttentionMap, attention_mask
from core.export import load_explanation, record_of, save_explanation
from core.model import Transformer
from core.model.preset_configs import PRESETS
from core.model.restricted_attention import causal_neighbourhood, centred_neighbourhood
from core.text.tokenizer import SentencePieceTokenizer
from core.trace import Kind
from core.translator import Translator

SOURCE, TARGET = "The old house was built 150 years ago.", "Das alte Haus wurde vor 150 Jahren gebaut."
SELF: tuple[Kind, ...] = ("encoder_self", "decoder_self")


def by_definition(kind: Kind, queries: int, keys: int, size: int | None) -> Tensor:
    """The masks of `core.model.restricted_attention`; without r all keys, in the decoder those up to the query."""
    if kind == "cross":
        return torch.ones(queries, keys, dtype=torch.bool)
    neighbourhood = causal_neighbourhood if kind == "decoder_self" else centred_neighbourhood
    return neighbourhood(torch.ones(1, keys, dtype=torch.bool), size or keys).as_mask(keys)[0, 0]


@pytest.fixture(scope="module", params=[None, 1, 2, 3, 1000])
def restricted(request: pytest.FixtureRequest, tokenizer: SentencePieceTokenizer) -> Translator:
    with torch.random.fork_rng():
        torch.manual_seed(1)
        model = Transformer(
            replace(PRESETS["tiny"], vocab_size=tokenizer.vocab_size, neighbourhood=request.param, num_decoder_heads=2)
        )
    return Translator(model.requires_grad_(False), tokenizer)


def test_a_map_says_what_its_queries_may_see(restricted: Translator):
    size = restricted.model.config.neighbourhood
    for found in (restricted.explain(SOURCE, TARGET).maps, *batch_maps(restricted, [(SOURCE, TARGET), ("A dog.", "")])):
        for kind, layers in found.items():
            for layer in layers:
                expected = by_definition(kind, *layer.weights.shape[1:], size)
                assert torch.equal(layer.visible, expected)
                assert torch.equal((layer.weights > 0).all(0), expected)  # nothing underflows in this model


def test_entropy_is_over_the_entropy_of_what_is_visible(restricted: Translator):
    """Rows, and the number of their visible keys, are counted one by one."""
    size = restricted.model.config.neighbourhood
    explanation = restricted.explain(SOURCE, TARGET)
    for card in score_cards([explanation.maps]):
        layer = explanation.maps[card.head.kind][card.head.layer]
        visible = by_definition(card.head.kind, *layer.weights.shape[1:], size)
        shares: list[float] = []
        for row, allowed in zip(layer.weights[card.head.head].tolist(), visible.tolist(), strict=True):
            if sum(allowed) > 1:
                shares.append(-sum(weight * math.log(weight) for weight in row if weight) / math.log(sum(allowed)))
        assert card.num_tokens == len(shares)
        assert (
            card.entropy == pytest.approx(sum(shares) / len(shares), abs=1e-5) if shares else math.isnan(card.entropy)
        )
        if size == 1 and card.head.kind != "cross":
            assert card.num_tokens == 0
            assert not head_labels(card)


@pytest.mark.parametrize("kind", SELF)
@pytest.mark.parametrize("size", [2, 3, 5])
def test_a_head_that_looks_everywhere_alike_has_an_entropy_of_one(kind: Kind, size: int):
    tokens = tuple("abcdefgh")
    mask = attention_mask(kind, 8, size)
    assert mask is not None
    even = AttentionMap(kind, 0, (mask / mask.sum(1, keepdim=True))[None], tokens, tokens, mask=mask)
    assert score_cards([{kind: [even]}])[0].entropy == pytest.approx(1)


@pytest.mark.parametrize("size", [2, 3])
def test_the_rarest_token_is_the_rarest_in_sight(size: int):
    """The rarest token is the first of the sentence: only rows that see it can attend to it."""
    tokens = tuple("abcdefgh")
    frequencies = {token: float(index) for index, token in enumerate(tokens)}
    for kind in SELF:
        mask = by_definition(kind, 8, 8, size)
        first = mask.float().argmax(1)  # the first key in sight is the rarest there
        weights = torch.nn.functional.one_hot(first, 8).float()[None]
        found = score_cards([{kind: [AttentionMap(kind, 0, weights, tokens, tokens, mask=mask)]}], frequencies)
        assert found[0].rare_token == 1


@given(kind=st.sampled_from(SELF), size=st.integers(1, 12), length=st.integers(1, 9), seed=st.integers(0, 2**16))
def test_maps_correlate_over_what_is_visible_in_both(kind: Kind, size: int, length: int, seed: int):
    generator = torch.Generator().manual_seed(seed)
    tokens = tuple(map(str, range(length)))
    mask = by_definition(kind, length, length, size)

    def random_map() -> AttentionMap:
        scores = torch.randn(1, length, length, generator=generator).masked_fill(~mask, -torch.inf)
        return AttentionMap(kind, 0, scores.softmax(-1), tokens, tokens, mask=mask)

    first, second = random_map(), random_map()
    cells = [(row, key) for row in range(length) for key in range(length) if mask[row, key]]
    expected = spearman(
        [float(first.weights[0, row, key]) for row, key in cells],
        [float(second.weights[0, row, key]) for row, key in cells],
    )
    assert map_correlation(first, second) == pytest.approx((expected,), nan_ok=True)
    rolled = replace(second, mask=None)  # sees more; what the other cannot see is still left out
    assert map_correlation(first, rolled) == pytest.approx((expected,), nan_ok=True)


def test_a_map_does_not_correlate_with_its_reverse():
    """Masked positions are left out: with them, the correlation of weights with their reverse is far above -1."""
    mask = attention_mask("encoder_self", 20, 3)
    assert mask is not None
    weights = torch.where(mask, torch.arange(1.0, 401).view(20, 20), 0.0)
    backwards = torch.where(mask, 401 - weights, 0.0)
    tokens = tuple(map(str, range(20)))
    first, second = (
        AttentionMap("encoder_self", 0, each[None], tokens, tokens, mask=mask) for each in (weights, backwards)
    )
    assert map_correlation(first, second) == pytest.approx((-1.0,))
    assert map_correlation(replace(first, mask=None), replace(second, mask=None))[0] > 0.5


def test_every_method_has_maps_with_their_masks(restricted: Translator):
    """No weight outside the neighbourhood, except for methods rolled out through several layers."""
    size = restricted.model.config.neighbourhood
    for name, method in METHODS.items():
        for kind, layers in method(restricted, SOURCE, TARGET).items():
            for layer in layers:
                seen = layer.visible
                assert torch.equal(
                    seen, by_definition(kind, *layer.weights.shape[1:], None if "roll" in name else size)
                ), name
                extra = layer.weights[..., : seen.size(1)].masked_fill(seen, 0)
                assert extra.abs().max() == 0, name


def groups(attention: AttentionMap, merged: AttentionMap, pieces: Sequence[str]) -> list[list[int]]:
    """Oracle: positions of each merged word, from their letters."""
    found: list[list[int]] = []
    position = 0
    for word in merged.key_tokens if pieces is attention.key_tokens else merged.predicted_tokens or merged.query_tokens:
        letters, group = "", list[int]()
        while letters != word:
            letters, group, position = (
                letters + pieces[position].replace("\u2581", ""),
                [*group, position],
                position + 1,
            )
        found.append(group)
    return found


def test_a_word_sees_what_any_of_its_pieces_sees(restricted: Translator):
    for layers in restricted.explain(SOURCE, TARGET).maps.values():
        attention = layers[0]
        merged = mean_over_words(attention)
        rows = groups(attention, merged, attention.predicted_tokens or attention.query_tokens)
        keys = groups(attention, merged, attention.key_tokens)
        expected = [[any(bool(attention.visible[i, j]) for i in row for j in key) for key in keys] for row in rows]
        assert merged.visible.tolist() == expected
        assert torch.equal((merged.weights > 0).all(0), merged.visible)
        bare = without_special_tokens(merged)
        assert torch.equal((bare.weights > 0).all(0), bare.visible)


def test_a_difference_sees_what_either_sees(restricted: Translator):
    full = restricted.explain(SOURCE, TARGET).maps["encoder_self"][0]
    found = difference(full, replace(full, mask=None)).map
    assert found.visible.all()
    assert torch.equal(difference(full, full).map.visible, full.visible)


@pytest.mark.parametrize("suffix", [".json", ".npz"])
def test_an_export_brings_the_masks_back(suffix: str, restricted: Translator, tmp_path: Path):
    explanation = restricted.explain("A dog runs.", "Ein Hund.")
    path = tmp_path / f"explanation{suffix}"
    save_explanation(path, record_of(explanation, restricted, {}))
    for kind, layers in load_explanation(path).explanation.maps.items():
        assert torch.equal(layers[0].visible, explanation.maps[kind][0].visible)


@pytest.mark.parametrize(
    ("config", "message"),
    [({"neighbourhood": 0}, "must be a positive integer"), ({"neighbourhood": 2**64}, "must be at most")],
)
def test_an_export_with_an_impossible_neighbourhood_is_refused(
    config: object, message: str, translator: Translator, tmp_path: Path
):
    path = tmp_path / "explanation.json"
    save_explanation(path, record_of(translator.explain("A dog.", "Ein Hund."), translator, {}))
    found = json.loads(path.read_text())
    for model in ("no object", {"config": None}):
        path.write_text(json.dumps(found | {"model": model}))
        assert load_explanation(path).explanation.maps["cross"][0].visible.all()
    path.write_text(json.dumps(found | {"model": {"config": config}}))
    with pytest.raises(ValueError, match=rf"the exported explanation is damaged: neighbourhood .* {message}"):
        load_explanation(path)


def test_keys_of_a_bracket_are_its_neighbourhood(restricted: Translator):
    size = restricted.model.config.neighbourhood or 1000
    explanation = restricted.explain("A dog runs.", "Ein Hund.")
    for position in range(len(explanation.fed_tokens)):
        found = symbol_attention(explanation, (), position, "decoder_self")
        fed = [token.removeprefix("\u2581") for token in explanation.fed_tokens]
        assert list(found.keys) == fed[max(0, position + 1 - size) : position + 1]
        assert torch.allclose(found.weights.sum(-1), torch.ones(1))


@pytest.mark.parametrize(
    "mask", [torch.ones(2, 2), torch.ones(2, 3, dtype=torch.bool), torch.ones(1, 2, 2, dtype=torch.bool)]
)
def test_a_mask_that_does_not_fit(mask: Tensor):
    with pytest.raises(
        ValueError, match=r"^the mask is torch\.\w+ \[.*\], expected torch\.bool \[2, 2\], as the weights of one head$"
    ):
        AttentionMap("encoder_self", 0, torch.ones(1, 2, 2), ("a", "b"), ("a", "b"), mask=mask)
