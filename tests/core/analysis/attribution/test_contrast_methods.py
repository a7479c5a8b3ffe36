from dataclasses import dataclass
from typing import cast

import pytest
import torch

from core.analysis.attribution import contrast_methods
from core.analysis.attribution.attribute import ContrastAttribution, attribute_contrast
from core.analysis.attribution.contrast import Contrast, contrast_at
from core.analysis.attribution.deletion_curves import RANDOM, methods_table
from core.analysis.attribution.forward_trace import trace_forward
from core.analysis.attribution.methods import METHODS as MAP_METHODS
from core.analysis.attribution.norms import head_norms
from core.analysis.correlation import spearman
from core.translator import Translator

SOURCE, TARGET, POSITION, OTHER = "Can you help me?", "Können Sie mir helfen?", 6, 77


@pytest.fixture(params=["translator", "norm_first"], scope="module")
def found(request: pytest.FixtureRequest) -> ContrastAttribution:
    model: Translator = request.getfixturevalue(request.param)
    return attribute_contrast(model, SOURCE, TARGET, POSITION, against=OTHER)


@dataclass
class Polynomial:
    """F = 3 a + 2 b^2 + a b in place of a model: a is the source token, b the one of the prefix."""

    tokens: tuple[str, ...] = ("a", "b")
    source_ids: tuple[int, ...] = (1,)

    def ones(self) -> torch.Tensor:
        return torch.ones(1, 2)

    def outputs(self, gates: torch.Tensor, _gated: str = "") -> torch.Tensor:
        a, b = gates.T
        return 3 * a + 2 * b**2 + a * b

    def gradients(self, gates: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        a, b = gates.T
        return 3 * a + 2 * b**2 + a * b, torch.stack((3 + b, 4 * b + a), dim=1)


class Ramp(Polynomial):
    """F = 50 (a - 0.4) for a from 0.4 to 0.45, 0 below and 2.5 above, plus b."""

    def gradients(self, gates: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        a, b = gates.T
        slope = 50.0 * ((a > 0.4) & (a < 0.45))
        return 50 * (a - 0.4).clamp(0, 0.05) + b, torch.stack((slope, torch.ones_like(b)), dim=1)


def test_a_function_worked_by_hand():
    """Integrals of 3 + t and 5 t over 0 to 1; derivatives at (1, 1); F(1, 1) = 6, F(0, 1) = 2 and F(1, 0) = 3."""
    by_hand = cast("Contrast", Polynomial())
    scores, points = contrast_methods.integrated_gradients(by_hand)
    assert scores.tolist() == pytest.approx([3.5, 2.5])
    assert points == 13
    assert contrast_methods.gradient_x_input(by_hand).tolist() == [4, 5]
    assert contrast_methods.occlusion(by_hand).tolist() == contrast_methods.value_zeroing(by_hand).tolist() == [4, 3]


def test_points_are_added_where_the_integral_needs_them():
    """Of the first 13 points, only 5 / 12 is on the ramp: its slope would count for 1 / 12 of the path, not 1 / 20."""
    scores, points = contrast_methods.integrated_gradients(cast("Contrast", Ramp()))
    assert scores.tolist() == pytest.approx([2.5, 1], abs=0.03 * 3.5)
    assert 13 < points < 128


def test_integrated_gradients_are_complete(found: ContrastAttribution):
    assert found.is_complete
    total = float(found.scores["integrated_gradients"].sum())
    assert total == pytest.approx(found.output - found.baseline, rel=0.02, abs=0.02)
    assert found.gap("integrated_gradients") == pytest.approx(abs(total - found.output + found.baseline))
    assert found.gap("gradient_x_input") > found.gap("integrated_gradients")


def test_gradients_at_the_zero_embedding_are_too_steep_with_relative_positions(like_t5: Translator):
    found = attribute_contrast(like_t5, SOURCE, TARGET, POSITION, against=OTHER)
    assert tuple(found.scores) == contrast_methods.METHODS[1:]
    test_differences_to_the_whole_input(found)
    ones = found.contrast.ones()
    at_zero, at_one = (found.contrast.gradients(gates)[1].abs().max().item() for gates in (0 * ones, ones))
    assert at_zero > 1e6 * at_one
    message = r"^integrated gradients do not apply to a model with relative positions: it adds nothing to its embedd"
    with pytest.raises(ValueError, match=message):
        attribute_contrast(like_t5, SOURCE, TARGET, POSITION, methods=["integrated_gradients"])


def test_the_integral_by_many_small_steps(found: ContrastAttribution):
    """A sum over the midpoints of 100 equal parts."""
    points = (torch.arange(100) + 0.5)[:, None].expand(-1, len(found.contrast.tokens)) / 100
    expected = found.contrast.gradients(points)[1].mean(0)
    assert torch.allclose(found.scores["integrated_gradients"], expected, atol=0.03)


def test_differences_to_the_whole_input(found: ContrastAttribution):
    contrast = found.contrast
    for index in (0, len(contrast.source_ids) + 2):
        closed = contrast.ones()
        closed[0, index] = 0
        for method, gated in (("occlusion", "embeddings"), ("value_zeroing", "values")):
            expected = found.output - contrast.outputs(closed, gated).item()
            assert float(found.scores[method][index]) == pytest.approx(expected, abs=1e-3)


def test_the_contrast_is_the_difference_of_two_attributions(translator: Translator):
    """F is linear in log p: scores of A minus B are those of A alone minus those of B alone."""
    methods = contrast_methods.SIGNED[1:]  # integrated gradients up to their gap
    both = attribute_contrast(translator, SOURCE, TARGET, 2, against=OTHER, methods=methods)
    a, b = (attribute_contrast(translator, SOURCE, TARGET, 2, token, methods=methods) for token in (None, OTHER))
    for method in methods:
        assert torch.allclose(both.scores[method], a.scores[method] - b.scores[method], atol=2e-3)


def test_shares_are_rows_of_the_maps(found: ContrastAttribution):
    contrast = found.contrast
    num_source, translator = len(contrast.source_ids), contrast.translator
    for method in contrast_methods.METHODS[4:]:
        assert float(found.scores[method].sum()) == pytest.approx(1, abs=1e-4)
        assert float(found.scores[method].min()) >= 0
    for method, of_maps in (("rollout", "rollout"), ("alti", "rolled_contributions")):
        maps = MAP_METHODS[of_maps](translator, SOURCE, TARGET)
        assert torch.allclose(found.scores[method][:num_source], maps["cross"][-1].weights[0, POSITION])
        prefix = maps["decoder_self"][-1].weights[0, POSITION, : POSITION + 1]
        assert torch.allclose(found.scores[method][num_source:], prefix)
    explanation = translator.explain(SOURCE, TARGET)
    for index, kind, key in ((1, "cross", 1), (num_source + 3, "decoder_self", 3)):
        weights = [float(w) for layer in explanation.maps[kind] for w in layer.weights[:, POSITION, key]]
        assert float(found.scores["attention"][index]) == pytest.approx(sum(weights) / len(weights) / 2, abs=1e-5)


def test_norms_of_a_single_key_are_its_share(translator: Translator):
    """In the first row, self-attention has one key: the norm of its vector, by hand, against those of the source."""
    found = attribute_contrast(translator, SOURCE, TARGET, 0, methods=["norms"])
    trace, shares = trace_forward(translator, SOURCE, TARGET), []
    for own, cross in zip(trace.sublayers["decoder_self"], trace.sublayers["cross"], strict=True):
        added = own.transformed()[:, 0].sum(0).norm()  # weights of 1
        norms = torch.einsum("hk,hkd->kd", cross.weights[:, 0], cross.transformed()).norm(dim=-1)
        assert (norms <= head_norms(cross)[:, 0].sum(0) + 1e-4).all()
        shares.append(float(added / (added + norms.sum())))
    assert float(found.scores["norms"][-1]) == pytest.approx(sum(shares) / len(shares), abs=1e-4)


def test_rank_correlations(found: ContrastAttribution):
    places = found.contrast.ordinary
    assert "</s>" not in [found.contrast.tokens[place] for place in places]
    signed, other, share = (found.scores[method][places] for method in ("occlusion", "value_zeroing", "alti"))
    assert found.correlation("occlusion", "value_zeroing") == spearman(signed.numpy(), other.numpy())
    assert found.correlation("alti", "occlusion") == spearman(share.numpy(), signed.abs().numpy())
    assert found.correlation("alti", "alti") == pytest.approx(1)


@pytest.fixture
def by_hand(translator: Translator) -> ContrastAttribution:
    source, prefix = ("\u2581A", "\u2581do", "g", "</s>"), ("<s>", "\u2581Ein")
    contrast = Contrast(translator, 1, (5, 6, 7, 2), (1, 8), 9, 10, source, prefix, "", "")
    scores = torch.tensor([0.5, -2.0, 1.0, 0.25, 0.0, 4.0])
    return ContrastAttribution(contrast, 3.0, 0.0, 17, {"occlusion": scores, "alti": scores.abs() / 8})


def test_words_are_sums_of_their_tokens(by_hand: ContrastAttribution):
    table = by_hand.table(words=True, hide_special=True)
    assert table["side"] == ["source", "source", "prefix"]
    assert table["token"] == ["A", "dog", "Ein"]
    assert table["occlusion"] == [0.5, -1.0, 4.0]
    assert table["position"] == [0, 1, 1]
    assert by_hand.table()["token"] == list(by_hand.contrast.tokens)


def test_bars_start_in_the_middle_if_a_method_has_signs(by_hand: ContrastAttribution):
    grid, _ = by_hand.pictures(words=True, hide_special=True)
    assert [name for name, _ in grid.rows] == ["SOURCE", "A", "dog", "PREFIX", "Ein"]
    bars = [[cell.bar for cell in cells if cell] for _, cells in grid.rows if cells]
    assert [first for first, _ in bars] == [(0.5, 0.5625), (0.375, 0.5), (0.5, 1.0)]
    assert [second for _, second in bars] == [(0.0, 0.125), (0.0, 0.75), (0.0, 1.0)]
    assert grid.groups == [("A rather than B, in nats", 1), ("Shares of the row", 1)]


def test_the_correlation_grid(by_hand: ContrastAttribution):
    """Over A, do, g and Ein, shares are the absolute values of the other scores: their order is the same."""
    _, grid = by_hand.pictures()
    assert [[cell and cell.text for cell in cells] for _, cells in grid.rows] == [[None, "1.00"], ["1.00", None]]
    assert by_hand.correlations()["alti"] == pytest.approx([1.0, 1.0])


def test_sums_and_gaps_are_of_methods_in_nats(by_hand: ContrastAttribution):
    table = methods_table(by_hand, {"occlusion": (0.9, 0.5, 0.4), "alti": (0.9,) * 3, RANDOM: (0.9, 0.8, 0.7)})
    assert table["aopc"] == pytest.approx([0.3, 0, 0.1])
    assert table["sum"] == [3.75, None, None]
    assert table["gap"] == [0.75, None, None]


def test_an_unknown_method_is_named(translator: Translator):
    with pytest.raises(ValueError, match="there is no method 'lime': give one of integrated_gradients, occlusion"):
        attribute_contrast(translator, SOURCE, TARGET, 1, methods=["lime"])  # type: ignore[list-item]
    assert contrast_at(translator, SOURCE, TARGET, 1).against is None
