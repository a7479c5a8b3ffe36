"""The architecture: masks, shapes, initial values, dropout."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from core.model import Dropout
from tests.core.tiny_models import PAD, TINY, tiny, unlike_fresh
from tests.margins import assert_equal_to_rounding

# --- What may depend on what ---------------------------------------------------------------------------------------


@torch.no_grad()
def test_no_logit_depends_on_later_target_tokens_and_each_on_every_source_token(ids: tuple[Tensor, Tensor]) -> None:
    model, (source, target) = tiny(), ids
    before = model(source[:1], target[:1])
    for changed in range(1, target.size(1)):
        other = target[:1].clone()
        other[0, changed] = 3 + (other[0, changed] - 2) % (TINY.vocab_size - 3)
        after = model(source[:1], other)
        assert torch.equal(after[:, :changed], before[:, :changed])
        assert (after[:, changed:] != before[:, changed:]).any(dim=-1).all(), "every later logit sees the change"
    for changed in range(source.size(1)):
        other = source[:1].clone()
        other[0, changed] = 3 + (other[0, changed] - 2) % (TINY.vocab_size - 3)
        assert (model(other, target[:1]) != before).any(dim=-1).all()


@torch.no_grad()
def test_padding_changes_no_real_logit(ids: tuple[Tensor, Tensor]) -> None:
    model, (source, target) = tiny(), ids
    batched = model(source, target)
    for row in range(len(source)):
        alone_source, alone_target = source[row][source[row] != PAD][None], target[row][target[row] != PAD][None]
        alone = model(alone_source, alone_target)[0]
        assert_equal_to_rounding(batched[row, : len(alone)], alone, model)
        padded = model(
            nn.functional.pad(alone_source, (0, 20), value=PAD), nn.functional.pad(alone_target, (0, 11), value=PAD)
        )[0]
        assert_equal_to_rounding(padded[: len(alone)], alone, model)


@torch.no_grad()
@pytest.mark.parametrize("changes", [{}, {"neighbourhood": 4}, {"positions": "learned"}])
def test_padding_of_images_changes_no_logit(changes: dict[str, Any], ids: tuple[Tensor, Tensor], patches: Tensor):
    model, target = unlike_fresh(tiny(patch_size=4, **changes)), ids[1][:, :2]
    together = model(patches, target)
    for row, length in enumerate((9, 6, 2)):
        alone = model(patches[row : row + 1, :length], target[row : row + 1])
        torch.testing.assert_close(together[row : row + 1], alone, rtol=0, atol=1e-5)


def test_masks_say_who_may_attend(ids: tuple[Tensor, Tensor]) -> None:
    model, (source, target) = tiny(), ids
    assert model.source_mask(source).shape == (3, 1, 1, 9)
    assert model.source_mask(source)[:, 0, 0].sum(-1).tolist() == [9, 6, 2]
    mask = model.target_mask(target)
    assert mask.shape == (3, 1, 7, 7)
    assert mask[0, 0].int().tolist() == torch.ones(7, 7).tril().int().tolist()
    assert mask[1, 0].sum(-1).tolist() == [1, 2, 3, 3, 3, 3, 3]


@torch.no_grad()
def test_encode_decode_and_project_make_forward(ids: tuple[Tensor, Tensor]) -> None:
    model, (source, target) = tiny(), ids
    memory = model.encode(source)
    states = model.decode(target, memory, model.source_mask(source))
    assert memory.shape == (3, 9, TINY.d_model)
    assert torch.equal(model.project(states), model(source, target))


@pytest.mark.parametrize(
    "changes",
    [{"d_k": 5, "d_v": 7}, {"num_heads": 3, "d_k": 1, "d_v": 40}, {"num_encoder_layers": 1, "num_decoder_layers": 4}],
)
def test_shapes_are_free(changes: dict[str, int], ids: tuple[Tensor, Tensor]) -> None:
    model = tiny(**changes)
    heads = changes.get("num_heads", TINY.num_heads)
    if "d_k" in changes:
        attention = model.decoder.layers[0].cross_attention
        assert attention.q_proj.weight.shape == attention.k_proj.weight.shape == (heads * changes["d_k"], TINY.d_model)
        assert attention.v_proj.weight.shape == (heads * changes["d_v"], TINY.d_model)
        assert attention.out_proj.weight.shape == (TINY.d_model, heads * changes["d_v"])
    logits = model(*ids)
    assert logits.shape == (3, 7, TINY.vocab_size)
    assert logits.isfinite().all()


# --- Initialisation --------------------------------------------------------------------------------------------------


def test_initial_values() -> None:
    """Xavier bounds, residual branches scaled down by depth; zero biases; unit-variance embeddings."""
    model = tiny(num_encoder_layers=2, num_decoder_layers=3, vocab_size=2_000)
    gains = {"encoder": 0.87 * (2**4 * 3) ** (-1 / 16), "decoder": (12 * 3) ** (-1 / 4)}
    for name, module in model.named_modules():
        if not isinstance(module, nn.Linear):
            continue
        gain = gains[name.split(".")[0]] if name.endswith(("v_proj", "out_proj", "inner", "outer")) else 1.0
        bound = gain * math.sqrt(6 / (module.in_features + module.out_features))
        largest = module.weight.abs().max().item()
        assert 0.95 * bound < largest <= bound * (1 + 1e-6), name
        # of the uniform distribution
        assert module.weight.std().item() == pytest.approx(bound / math.sqrt(3), rel=0.1), name
        assert not module.bias.any(), name
    scaled = model.embedding.tokens.weight * math.sqrt(TINY.d_model)
    assert scaled.std().item() == pytest.approx(1, abs=0.02)


def test_a_seed_decides_the_model() -> None:
    first, same, other = tiny(1).state_dict(), tiny(1).state_dict(), tiny(2).state_dict()
    assert all(torch.equal(first[name], same[name]) for name in first)
    assert not torch.equal(first["embedding.tokens.weight"], other["embedding.tokens.weight"])


# --- 5.4 Dropout -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("p", [0.1, 0.3, 0.5])
def test_dropout_keeps_its_share_and_the_expectation(p: float) -> None:
    torch.manual_seed(0)
    x = torch.ones(1000, 1003)  # not a multiple of the four draws that share a number
    y = Dropout(p).train()(x)
    deviations = (p * (1 - p) / x.numel()) ** 0.5
    assert (y == 0).double().mean().item() == pytest.approx(p, abs=5 * deviations)
    assert torch.equal(y[y != 0], torch.full_like(y[y != 0], 1 / (1 - p)))
    assert y.double().mean().item() == pytest.approx(1, abs=5 * deviations / (1 - p))


def test_dropout_draws_are_independent() -> None:
    """Neighbours that share a random number are dropped together as often as independent ones."""
    torch.manual_seed(0)
    dropped = (Dropout(0.3).train()(torch.ones(400_000)) == 0).double()
    for shift in (1, 2, 3, 4):
        together = (dropped[shift:] * dropped[:-shift]).mean().item()
        assert together == pytest.approx(0.09, abs=5 * (0.09 * 0.91 / 400_000) ** 0.5)


@pytest.mark.parametrize("p", [0.0, 0.999999])
def test_dropout_at_its_ends(p: float) -> None:
    y = Dropout(p).train()(torch.ones(10_000))
    assert y.mean() == 1 if p == 0 else (y != 0).float().mean() < 0.01


def test_dropout_passes_gradients_where_it_kept() -> None:
    x = torch.randn(64, requires_grad=True)
    y = Dropout(0.5).train()(x)
    y.sum().backward()
    assert torch.equal(x.grad, torch.where(y != 0, 2.0, 0.0))


def test_dropout_is_off_in_evaluation(ids: tuple[Tensor, Tensor]) -> None:
    model = tiny(dropout=0.5)
    assert torch.equal(model(*ids), model(*ids))
    model.train()
    assert not torch.equal(model(*ids), model(*ids))
    x = torch.randn(3, 4)
    assert Dropout(0.5).eval()(x) is x


def test_dropout_sits_where_5_4_puts_it(ids: tuple[Tensor, Tensor]) -> None:
    """On every sub-layer's output before the addition, and on embedding plus position; nowhere else."""
    model = tiny(dropout=0.5).train()
    inputs: list[Tensor] = []
    for module in model.modules():
        if isinstance(module, Dropout):
            module.register_forward_pre_hook(lambda _module, args: inputs.append(args[0].detach()))
    outputs: dict[str, Tensor] = {}
    for name, module in model.named_modules():
        if name.endswith(("self_attention", "cross_attention", "feed_forward")):
            module.register_forward_hook(
                lambda _module, _args, output, name=name: outputs.setdefault(name, output.detach())
            )
    model(*ids)
    assert len(outputs) == 2 * 2 + 3 * 2
    embedded = [x for x in inputs if not any(x is output or torch.equal(x, output) for output in outputs.values())]
    assert len(inputs) == len(outputs) + 2
    assert len(embedded) == 2
    for x, token_ids in zip(embedded, ids, strict=True):
        expected = model.embedding.tokens(token_ids) * math.sqrt(TINY.d_model) + model.embedding.positions(
            0, token_ids.size(1)
        )
        torch.testing.assert_close(x, expected)


# --- Without causal mask ---------------------------------------------------------------------------------------------


@torch.no_grad()
def test_without_causal_mask_every_position_sees_all_others_but_padding(ids: tuple[Tensor, Tensor]) -> None:
    source, target = ids
    model, length = tiny(mask_id=3), target.size(1)
    assert model.target_mask(target).expand(-1, -1, length, -1)[1, 0].tolist() == [[True] * 3 + [False] * 4] * length
    logits, changed = model(source, target), target.clone()
    changed[:, 1] = (changed[:, 1] + 1) % TINY.vocab_size
    changed[1, 3:] = PAD
    others = model(source, changed)
    for row, count in enumerate((7, 3, 5)):
        differing = (logits[row, :count] != others[row, :count]).any(-1)
        assert differing.all()
        torch.testing.assert_close(model(source[row : row + 1], target[row : row + 1, :count])[0], logits[row, :count])


@torch.no_grad()
def test_the_length_is_predicted_from_the_mean_of_the_memory_without_padding(ids: tuple[Tensor, Tensor]) -> None:
    model = tiny(mask_id=3)
    assert tiny().length_projection is None
    assert model.length_projection is not None
    logits = model.length_logits(model.encode(ids[0]), model.source_mask(ids[0]))
    for row, length in enumerate((9, 6, 2)):
        memory = model.encode(ids[0][row : row + 1, :length])
        torch.testing.assert_close(logits[row], model.length_projection(memory[0].mean(0)))


def test_a_mask_token_adds_the_length_projection_and_nothing_else() -> None:
    with_mask, without = (dict(tiny(**changes).named_parameters()) for changes in ({"mask_id": 3}, {}))
    assert with_mask.keys() - without.keys() == {"length_projection.weight", "length_projection.bias"}
