import pytest
import torch

from core.analysis.attribution import rollout
from core.analysis.attribution.forward_trace import ForwardTrace
from tests.margins import assert_equal_to_rounding


def test_two_layers_by_hand():
    first = torch.tensor([[[1.0, 0.0], [1.0, 0.0]]])
    second = torch.tensor([[[0.0, 1.0], [0.5, 0.5]]])
    steps = [rollout.with_residual(first), rollout.with_residual(second)]
    assert torch.equal(steps[0], torch.tensor([[1.0, 0.0], [0.5, 0.5]]))
    assert torch.equal(steps[1], torch.tensor([[0.5, 0.5], [0.25, 0.75]]))
    # [.5 .5] of the second layer: .5 * [1 0] + .5 * [.5 .5]
    assert_equal_to_rounding(rollout.roll_out(steps)[1], [[0.75, 0.25], [0.625, 0.375]], 1)


def test_one_decoder_layer_by_hand():
    """One prefix token, two source tokens: attention and residual of each sub-layer have weight 1/2."""
    source, prefix = rollout.roll_out_decoder([torch.tensor([[1.0]])], [torch.tensor([[0.25, 0.75]])], torch.eye(2))[0]
    assert_equal_to_rounding(source, [[0.125, 0.375]], 2)
    assert_equal_to_rounding(prefix, [[0.5]], 2)


def test_the_decoder_is_the_encoder_s_rollout_on_one_joint_matrix():
    """Oracle: one matrix over source and target positions, rolled out as a single stack."""
    generator = torch.Generator().manual_seed(0)
    source_length, target_length, layers = 4, 3, 3

    def random(rows: int, columns: int) -> torch.Tensor:
        return rollout.row_shares(torch.rand(rows, columns, generator=generator))

    encoder = random(source_length, source_length)
    prefix = [random(target_length, target_length) for _ in range(layers)]
    cross = [random(target_length, source_length) for _ in range(layers)]
    joint = torch.block_diag(encoder, torch.eye(target_length))
    for own, other in zip(prefix, cross, strict=True):
        step = torch.eye(source_length + target_length)
        step[source_length:] = torch.cat((other, own), dim=1) / 2
        joint = step @ joint
    from_source, from_prefix = rollout.roll_out_decoder(prefix, cross, encoder)[-1]
    assert torch.allclose(joint[source_length:], torch.cat((from_source, from_prefix), dim=1), atol=1e-6)


def test_rows_share_one_between_source_and_prefix(traced: ForwardTrace):
    rolled = rollout.attention_rollout(traced.explanation.maps)
    for layer in rolled["encoder_self"]:
        assert torch.allclose(layer.weights.sum(-1), torch.ones(1))
    for cross, prefix in zip(rolled["cross"], rolled["decoder_self"], strict=True):
        assert torch.allclose(cross.weights.sum(-1) + prefix.weights.sum(-1), torch.ones(1))
        assert prefix.weights.triu(1).abs().max() == 0
    shares = rollout.source_share(rolled)
    assert len(shares) == len(traced.explanation.predicted_tokens)
    assert shares == pytest.approx(rolled["cross"][-1].weights.sum(-1)[0].tolist())


def test_a_row_of_zeros_stays_zero():
    assert torch.equal(
        rollout.row_shares(torch.tensor([[0.0, 0.0], [1.0, 3.0]])), torch.tensor([[0.0, 0.0], [0.25, 0.75]])
    )


def test_a_decoder_needs_both_steps_in_every_layer():
    with pytest.raises(ValueError, match="2 steps over the prefix but 1 to the source"):
        rollout.roll_out_decoder([torch.eye(1)] * 2, [torch.ones(1, 1)], torch.eye(1))
