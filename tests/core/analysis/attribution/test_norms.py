import torch

from core.analysis.attribution.forward_trace import ForwardTrace, SubLayer
from core.analysis.attribution.norms import head_norms, layer_norms, norm_maps
from core.capture import AttentionMap
from core.model import MultiHeadAttention
from core.model.config import HeadShape
from tests.margins import assert_equal_to_rounding


def hand_made() -> SubLayer:
    """Two heads of width 1 on two tokens: W_V reads one coordinate per head, W_O writes (3, 4) and (0, 1)."""
    attention = MultiHeadAttention(2, HeadShape(2, 1, 1)).requires_grad_(False)
    attention.v_proj.weight.copy_(torch.eye(2))
    attention.v_proj.bias.copy_(torch.tensor([0.0, 1.0]))
    attention.out_proj.weight.copy_(torch.tensor([[3.0, 0.0], [4.0, 1.0]]))
    weights = torch.tensor([[[0.5, 0.5], [1.0, 0.0]], [[0.25, 0.75], [0.0, 1.0]]])
    x = torch.tensor([[1.0, 1.0], [2.0, -2.0]])
    attention_map = AttentionMap("encoder_self", 0, weights, ("a", "b"), ("a", "b"))
    return SubLayer(attention_map, attention, torch.nn.LayerNorm(2), x, x, attention.keys_values(x[None])[1][0], x)


def test_by_hand():
    """f_1 = 5, 10 in length; f_2 = |1 + 1| = 2 and |-2 + 1| = 1."""
    expected = torch.tensor([[[2.5, 5.0], [5.0, 0.0]], [[0.5, 0.75], [0.0, 1.0]]])
    assert torch.allclose(head_norms(hand_made()), expected)
    # Query 0, key 0: .5 * (3, 4) + .25 * (0, 2) = (1.5, 2.5); key 1: .5 * (6, 8) + .75 * (0, -1) = (3, 3.25).
    assert torch.allclose(
        layer_norms(hand_made())[0], torch.tensor([(1.5**2 + 2.5**2) ** 0.5, (3**2 + 3.25**2) ** 0.5])
    )


def test_transformed_vectors_sum_to_the_attention_s_output(traced: ForwardTrace):
    """Transformed vectors, weighted by attention, plus W_O's bias, are the layer's output."""
    for sublayers in traced.sublayers.values():
        for sublayer in sublayers:
            summed = (
                torch.einsum("hqk,hkd->qd", sublayer.weights, sublayer.transformed()) + sublayer.attention.out_proj.bias
            )
            mask = sublayer.weights.sum(0) > 0
            with torch.inference_mode():
                output = sublayer.attention(sublayer.x[None], sublayer.memory[None], mask)[0]
            assert_equal_to_rounding(summed, output, 4)


def test_with_the_norm_first_transformed_vectors_sum_to_what_attention_adds(traced_norm_first: ForwardTrace):
    for sublayers in traced_norm_first.sublayers.values():
        for sublayer in sublayers:
            summed = torch.einsum("hqk,hkd->qd", sublayer.weights, sublayer.transformed())
            added = sublayer.output - sublayer.x - sublayer.attention.out_proj.bias
            assert torch.allclose(summed, added, atol=1e-4)


def test_heads_together_are_at_most_their_sum(traced: ForwardTrace):
    sublayer = traced.sublayers["cross"][1]
    assert (layer_norms(sublayer) <= head_norms(sublayer).sum(0) + 1e-5).all()


def test_maps_have_rows_that_sum_to_one(traced: ForwardTrace):
    for kind, layers in norm_maps(traced).items():
        assert len(layers) == len(traced.sublayers[kind])
        for layer in layers:
            assert torch.allclose(layer.weights.sum(-1), torch.ones(1))
    assert norm_maps(traced)["cross"][0].num_heads == 4
