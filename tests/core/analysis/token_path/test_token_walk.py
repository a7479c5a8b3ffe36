import copy
import math
from collections.abc import Mapping
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from core.analysis.agreement import DisagreementError
from core.analysis.attribution.forward_trace import trace_forward
from core.analysis.token_path.steps import (
    AttentionSteps,
    EmbeddingSteps,
    FeedForwardSteps,
    NormSteps,
    OutputSteps,
    ResidualSteps,
    StackSteps,
    TokenPath,
)
from core.analysis.token_path.token_walk import follow_token
from core.model import Transformer
from core.text.tokenizer import SentencePieceTokenizer
from core.trace import Stack
from core.translator import Translator
from tests.core.analysis.conftest import PRE_NORM, SOURCE, TARGET, random_translator
from tests.core.tiny_models import LIKE_T5
from tests.margins import assert_equal_to_rounding, margin

VARIANTS: Mapping[str, dict[str, Any]] = {
    "post": {},
    "pre": {**PRE_NORM, "tied": "none", "position_offset": 2},
    "embedding": {"embedding_norm": True, "scale_embedding": False, "activation": "gelu", "output_bias": True},
    "t5": LIKE_T5,
    "near": {"neighbourhood": 3, "attention_bias": False, "positions": "learned", "max_positions": 99},
}


@pytest.fixture(scope="module", params=list(VARIANTS))
def other(tokenizer: SentencePieceTokenizer, request: pytest.FixtureRequest) -> Translator:
    return random_translator(tokenizer, **VARIANTS[request.param])


@pytest.fixture(scope="module")
def exact(other: Translator) -> dict[Stack, list[Tensor]]:
    """States of both stacks after each layer by the model's own modules, in float64: [tokens, D] each."""
    model: Transformer = copy.deepcopy(other.model).double()
    source, fed, _ = (torch.tensor([ids]) for ids in other.token_ids(SOURCE, TARGET))
    states: dict[Stack, list[Tensor]] = {"encoder": [], "decoder": []}
    for name, stack in (("encoder", model.encoder), ("decoder", model.decoder)):
        for layer in stack.layers:
            layer.register_forward_hook(lambda _m, _i, output, found=states[name]: found.append(output[0]))
        stack.register_forward_hook(lambda _m, _i, output, found=states[name]: found.append(output[0]))
    model(source, fed)
    return states


def test_a_forced_first_token_is_not_compared_with_its_logits(tokenizer: SentencePieceTokenizer) -> None:
    translator = random_translator(tokenizer, forced_first_id=9)
    found = follow_token(translator, SOURCE, TARGET, "decoder", 0, 0, 0)
    assert found.explanation.log_probs[0] == 0.0
    assert found.gap < 1e-5
    assert "output.log_prob" not in found.differences
    assert "output.log_prob" in follow_token(translator, SOURCE, TARGET, "decoder", 1, 0, 0).differences


@pytest.mark.parametrize(
    ("stack", "layer"), [("encoder", 0), ("encoder", 1), ("decoder", 0), ("decoder", 1), ("decoder", 2)]
)
def test_every_step_is_the_models_own(other: Translator, exact: dict[Stack, list[Tensor]], stack: Stack, layer: int):
    found = follow_token(other, SOURCE, TARGET, stack, 6, layer, 2)
    assert found.gap < margin(1.0, 2), found.differences
    assert_equal_to_rounding(found.state, exact[stack][-1][6], other.model)
    last = "feed_forward_norm" if other.model.config.norm == "post" else "feed_forward_residual"
    steps = found.parts[last]
    assert isinstance(steps, NormSteps | ResidualSteps)
    after = steps.output if isinstance(steps, NormSteps) else steps.total
    assert_equal_to_rounding(after, exact[stack][layer][6], other.model)


def test_the_states_between_the_sublayers_are_those_of_another_recording(other: Translator):
    trace = trace_forward(other, SOURCE, TARGET)
    for stack, layer in (("encoder", 1), ("decoder", 1)):
        found = follow_token(other, SOURCE, TARGET, stack, 4, layer, 0)
        for kind in found.kinds:
            sublayer = trace.sublayers[kind][layer]
            after = found.parts[f"{kind}_norm" if other.model.config.norm == "post" else f"{kind}_residual"]
            state = after.output if isinstance(after, NormSteps) else after.total
            assert torch.allclose(state, sublayer.output[4].double(), atol=1e-5)
            weights = found.explanation.maps[kind][layer].weights[0, 4].double()
            assert torch.allclose(found.attention(kind).weights, weights, atol=1e-6)


def test_the_order_is_the_models(other: Translator):
    parts = list(follow_token(other, SOURCE, TARGET, "decoder", 0, 1, 0).parts)
    norm_first = other.model.config.norm == "pre"
    order = ["{}_norm", "{}", "{}_residual"] if norm_first else ["{}", "{}_residual", "{}_norm"]
    inside = [name.format(part) for part in ("decoder_self", "cross", "feed_forward") for name in order]
    first = ["embedding", *(["input_norm"] if other.model.config.embedding_norm else []), "layers_below"]
    last = ["layers_above", *(["output_norm"] if other.model.config.final_norm else []), "output"]
    assert parts == [*first, *inside, *last]


@pytest.fixture(scope="module")
def path(translator: Translator) -> TokenPath:
    return follow_token(translator, SOURCE, TARGET, "decoder", 5, 1, 3)


def test_the_embedding(translator: Translator, path: TokenPath):
    steps = path.parts["embedding"]
    assert isinstance(steps, EmbeddingSteps)
    _, fed, _ = translator.token_ids(SOURCE, TARGET)
    assert torch.equal(steps.token.float(), translator.model.embedding.tokens.weight[fed[5]])
    assert steps.scale == math.sqrt(32)
    expected = [f(5 / 10000 ** (2 * i / 32)) for i in range(16) for f in (math.sin, math.cos)]
    assert steps.position.tolist() == pytest.approx(expected, abs=1e-6)
    assert steps.total.tolist() == pytest.approx((steps.token * math.sqrt(32) + steps.position).tolist())


@pytest.mark.parametrize("kind", ["decoder_self", "cross"])
def test_one_head_by_hand(translator: Translator, path: TokenPath, kind: str):
    """By loops over dimensions, and by PyTorch's kernel."""
    steps = path.parts[kind]
    assert isinstance(steps, AttentionSteps)
    attention = translator.model.get_submodule(f"decoder.layers.1.{kind.removeprefix('decoder_')}_attention")
    d_k = 5
    rows = range(3 * d_k, 4 * d_k)  # of head 3
    weight, bias = attention.q_proj.weight.double(), attention.q_proj.bias.double()  # type: ignore[union-attr, operator]
    query = [sum(float(weight[row, i]) * float(steps.x[i]) for i in range(32)) + float(bias[row]) for row in rows]
    assert steps.query.tolist() == pytest.approx(query)
    for key in range(len(steps.keys)):
        products = [query[i] * float(steps.keys[key, i]) for i in range(d_k)]
        assert steps.products[key].tolist() == pytest.approx(products)
        assert float(steps.scores[key]) == pytest.approx(sum(products) / math.sqrt(d_k))
    q, k, v = (each[None] for each in (steps.query[None], steps.keys, steps.values))
    mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=steps.allowed)[0, 0]
    assert torch.allclose(steps.head_output, mixed)
    assert torch.equal(steps.heads[3], steps.head_output)
    assert torch.allclose(steps.weighted.sum(0), steps.head_output)
    largest = float(steps.scores[steps.allowed].max())
    assert steps.exponentials[steps.allowed].tolist() == pytest.approx(
        [math.exp(float(score) - largest) for score in steps.scores[steps.allowed]]
    )


def test_the_mask_hides_later_tokens(path: TokenPath):
    own, cross = path.attention("decoder_self"), path.attention("cross")
    assert own.allowed.tolist() == [key <= 5 for key in range(len(path.tokens))]
    assert cross.allowed.all()
    assert not own.weights[6:].any()
    assert own.scores.isfinite().all()
    assert own.weights.sum() == pytest.approx(1)


def test_the_mask_of_a_neighbourhood(tokenizer: SentencePieceTokenizer):
    near = random_translator(tokenizer, neighbourhood=3)
    for stack, visible in (("encoder", [5, 6, 7]), ("decoder", [4, 5, 6])):
        steps = follow_token(near, SOURCE, TARGET, stack, 6, 0, 0).parts[f"{stack}_self"]  # type: ignore[arg-type]
        assert isinstance(steps, AttentionSteps)
        assert steps.allowed.nonzero().flatten().tolist() == visible


def test_norm_residual_and_network(translator: Translator, path: TokenPath):
    norm, residual, network = (path.parts[f"{name}"] for name in ("cross_norm", "cross_residual", "feed_forward"))
    assert isinstance(norm, NormSteps)
    assert isinstance(residual, ResidualSteps)
    assert isinstance(network, FeedForwardSteps)
    assert torch.allclose(residual.total, residual.x + residual.added)
    assert torch.equal(residual.added, path.attention("cross").output)
    assert torch.equal(norm.x, residual.total)
    assert torch.allclose(norm.output, F.layer_norm(norm.x, (32,), norm.gain, norm.bias, norm.epsilon))
    assert float(norm.normalised.mean()) == pytest.approx(0, abs=1e-12)
    assert norm.mean == pytest.approx(sum(norm.x.tolist()) / 32)
    assert norm.variance == pytest.approx(sum((each - norm.mean) ** 2 for each in norm.x.tolist()) / 32)
    assert torch.equal(network.x, norm.output)
    assert network.hidden.tolist() == [max(0.0, each) for each in network.inner.tolist()]


def test_the_layers_that_are_not_shown(translator: Translator):
    shown = follow_token(translator, SOURCE, TARGET, "decoder", 5, 1, 0)
    below, above = shown.parts["layers_below"], shown.parts["layers_above"]
    assert isinstance(below, StackSteps)
    assert isinstance(above, StackSteps)
    assert (below.first, below.last, above.first, above.last) == (0, 0, 2, 2)
    lower = follow_token(translator, SOURCE, TARGET, "decoder", 5, 0, 0).parts
    assert "layers_below" not in lower
    assert torch.allclose(below.before, lower["embedding"].total)  # type: ignore[union-attr]
    assert torch.allclose(below.after, lower["feed_forward_norm"].output, atol=1e-5)  # type: ignore[union-attr]
    higher = follow_token(translator, SOURCE, TARGET, "decoder", 5, 2, 0)
    assert "layers_above" not in higher.parts
    assert torch.allclose(above.after, higher.state, atol=1e-5)


def test_the_output_is_that_of_the_model(other: Translator):
    source, fed, predicted = other.token_ids(SOURCE, TARGET)
    logits = other.model(torch.tensor([source]), torch.tensor([fed]))[0]
    for position in (0, len(fed) // 2, len(fed) - 1):
        found = follow_token(other, SOURCE, TARGET, "decoder", position, 2, 0, count=3)
        output = found.parts["output"]
        assert isinstance(output, OutputSteps)
        assert output.token_ids[:3] == tuple(logits[position].topk(3).indices.tolist())
        assert output.logits.tolist() == pytest.approx(logits[position][list(output.token_ids)].tolist(), abs=1e-4)
        assert output.token_ids[output.predicted] == predicted[position]
        own = logits[position].log_softmax(-1)[predicted[position]]
        assert float(output.probabilities[output.predicted]) == pytest.approx(float(own.exp()), abs=1e-5)
        order = logits[position].argsort(descending=True).tolist()
        assert order.index(predicted[position]) + 1 == output.rank


def test_a_deviation_of_the_model_is_found(tokenizer: SentencePieceTokenizer):
    """A model that does anything else than the formulas does not pass for them."""
    changed = random_translator(tokenizer)
    changed.model.decoder.layers[1].cross_attention.weights.register_forward_hook(
        lambda _module, _scores, weights: weights * 0.99
    )
    refused = r"^cross\.weights: the analysis computes 0\.\d+, the model 0\.\d+, expected a difference of 9e-05 at most"
    with pytest.raises(DisagreementError, match=refused):
        follow_token(changed, SOURCE, TARGET, "decoder", 5, 1, 3)


@pytest.mark.parametrize(
    ("stack", "place", "message"),
    [
        ("encoder", (99, 0, 0), r"position \(99\) must be from 0 to \d+: there are \d+ tokens of the encoder"),
        ("encoder", (0, 2, 0), r"layer \(2\) must be from 0 to 1: there are 2 layers of the encoder"),
        ("encoder", (0, 0, 3), r"head \(3\) must be from 0 to 2: there are 3 heads of the encoder"),
        ("decoder", (0, 0, -1), r"head \(-1\) must be from 0 to 3: there are 4 heads of the decoder"),
    ],
)
def test_what_does_not_exist_is_named(translator: Translator, stack: Stack, place: tuple[int, int, int], message: str):
    with pytest.raises(ValueError, match=message):
        follow_token(translator, SOURCE, TARGET, stack, *place)


def test_the_table_has_every_number(path: TokenPath):
    columns = path.table()
    rows = list(zip(*columns.values(), strict=True))
    cross = path.attention("cross")
    expected = ("cross", "products", 2, 4, float(cross.products[2, 4]))
    assert expected in rows
    assert ("decoder_self", "allowed", None, 6, 0) in rows
    assert ("embedding", "scale", None, None, path.parts["embedding"].scale) in rows  # type: ignore[union-attr]
    assert len(rows) == len({row[:4] for row in rows})


def test_one_part_and_some_quantities(path: TokenPath):
    columns = path.table("cross", ("scores", "weights"))
    keys = len(path.explanation.source_tokens)
    assert columns["part"] == ["cross"] * 2 * keys
    assert columns["quantity"] == ["scores"] * keys + ["weights"] * keys
    assert columns["value"][keys:] == path.attention("cross").weights.tolist()


def test_a_part_that_does_not_exist_is_named(path: TokenPath):
    with pytest.raises(ValueError, match="no part 'encoder_self', expected one of embedding, layers_below, decoder"):
        path.table("encoder_self")
    with pytest.raises(ValueError, match="cross has no quantity 'logits', expected one of kind, head, x, query"):
        path.table("cross", ("logits",))
    with pytest.raises(ValueError, match="the decoder has no encoder_self attention, only decoder_self and cross"):
        path.attention("encoder_self")
