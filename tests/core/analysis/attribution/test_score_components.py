"""Terms of scores beside a pass in float64 that carries every part of both streams forward, from the parameters."""

import math
import random
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import cycle, product
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from core.analysis.agreement import DisagreementError
from core.analysis.attribution.read_stream import Part
from core.analysis.attribution.score_components import (
    ScoreComponents,
    ScoreComponentsOptions,
    ScoreTerm,
    Side,
    score_components,
)
from core.analysis.heads.head import all_heads
from core.analysis.relative_scores import relative_scores
from core.analysis.score_decomposition import ScoreParts, SelfAttentionKind, score_parts
from core.capture import attention_mask, full_mask
from core.text.tokenizer import SentencePieceTokenizer
from core.trace import KINDS, Head, Kind
from core.translator import Translator
from tests.core.analysis.conftest import PRE_NORM, SOURCE, TARGET, Command, random_translator
from tests.core.tiny_models import LIKE_T5, LIKE_UMT5

Name = tuple[Part, int | None, int | None]
Parts = dict[Name, Tensor]  # [L, D] each
CONSTANT: Name = ("constant", None, None)
MODELS: dict[str, dict[str, Any]] = {
    "paper": {},
    "pre-norm": PRE_NORM,
    "umt5": LIKE_UMT5,
    "t5": LIKE_T5,
    "rms": {"norm_kind": "rms"},
    "restricted": {"neighbourhood": 3, "positions": "learned"},
    "two norms": {"norm": "pre", "embedding_norm": True, "tied": "none"},
    "variant": {"embedding_norm": True, "attention_bias": False, "activation": "swish", "scale_embedding": False},
}
ACTIVATIONS = {"relu": F.relu, "swish": F.silu, "gelu_tanh": partial(F.gelu, approximate="tanh")}


class Oracle:
    """A pass in float64, of parameters alone; a stream is a dictionary of parts that sum to it.

    Attributes:
        read: parts that queries and keys of each attention layer are computed from.
        scores: [H, Q, K] of each, minus infinity where a mask hides the key.
    """

    def __init__(self, translator: Translator) -> None:
        self.model, self.config = translator.model, translator.config
        self.parameters = {name: each.double() for name, each in self.model.state_dict().items()}
        self.read: dict[tuple[Kind, int], tuple[Parts, Parts]] = {}
        self.scores: dict[tuple[Kind, int], Tensor] = {}
        source, fed, _ = translator.token_ids(SOURCE, TARGET)
        own = "target_embedding" if "target_embedding.tokens.weight" in self.parameters else "embedding"
        memory = self.stack("encoder", self.embedded("embedding", source), None)
        self.stack("decoder", self.embedded(own, fed), memory)

    def embedded(self, path: str, ids: list[int]) -> Parts:
        width = self.config.d_model
        tokens = self.parameters[f"{path}.tokens.weight"][ids] * (width**0.5 if self.config.scale_embedding else 1)
        parts: Parts = {("token", None, None): tokens, CONSTANT: torch.zeros_like(tokens)}
        if self.config.positions == "learned":
            parts["position", None, None] = self.parameters[f"{path}.positions.table.weight"][: len(ids)]
        elif self.config.positions == "sinusoidal":
            rows = [
                [f(place / 10000 ** (2 * pair / width)) for pair in range(width // 2) for f in (math.sin, math.cos)]
                for place in range(len(ids))
            ]
            parts["position", None, None] = torch.tensor(rows).double()
        return parts

    def stack(self, stack: str, parts: Parts, memory: Parts | None) -> Parts:
        kinds: list[Kind] = ["encoder_self"] if memory is None else ["decoder_self", "cross"]
        parts = self.normed(parts, f"{stack}.input_norm") if self.config.embedding_norm else parts
        is_pre = self.config.norm == "pre"
        layers = self.config.num_encoder_layers if memory is None else self.config.num_decoder_layers
        for layer in range(layers):
            for kind in (*kinds, None):
                name = "feed_forward" if kind is None else "cross_attention" if kind == "cross" else "self_attention"
                path = f"{stack}.layers.{layer}.{name}"
                read = self.normed(parts, f"{path}_norm") if is_pre else parts
                if kind is None:
                    written = self.network(path, layer, read)
                else:
                    keys = memory if kind == "cross" else read
                    assert keys is not None
                    written = self.attention(kind, path, layer, read, keys)
                parts = {
                    each: parts.get(each, torch.zeros(1)) + written.get(each, torch.zeros(1))
                    for each in {**parts, **written}
                }
                parts = parts if is_pre else self.normed(parts, f"{path}_norm")
        return self.normed(parts, f"{stack}.output_norm") if self.config.final_norm else parts

    def normed(self, parts: Parts, path: str) -> Parts:
        whole = total(parts)
        is_rms = self.config.norm_kind == "rms"
        size = whole.square().mean(1) if is_rms else whole.var(1, correction=0)
        matrix = torch.eye(len(whole[0])).double() - (0 if is_rms else 1 / len(whole[0]))
        scale = (size + self.config.norm_eps).rsqrt()[:, None] * self.parameters[f"{path}.weight"]
        found = {name: each @ matrix * scale for name, each in parts.items()}
        return found | {CONSTANT: found[CONSTANT] + (0 if is_rms else self.parameters[f"{path}.bias"])}

    def network(self, path: str, layer: int, read: Parts) -> Parts:
        hidden = ACTIVATIONS[self.config.activation](self.projected(f"{path}.inner", total(read)))
        if self.config.gated_feed_forward:
            hidden = hidden * self.projected(f"{path}.multiplier", total(read))
        bias = self.bias(f"{path}.outer")
        return {("feed_forward", layer, None): self.projected(f"{path}.outer", hidden) - bias, CONSTANT: bias}

    def attention(self, kind: Kind, path: str, layer: int, read: Parts, memory: Parts) -> Parts:
        self.read[kind, layer] = read, memory
        x, y = total(read), total(memory)
        heads = self.config.num_heads if kind == "encoder_self" else self.config.num_decoder_heads or 0
        queries, keys, values = (
            self.projected(f"{path}.{name}_proj", each).unflatten(1, (heads, -1)).transpose(0, 1)
            for name, each in (("q", x), ("k", y), ("v", y))
        )
        mask = attention_mask(kind, len(y), self.config.neighbourhood)
        visible = full_mask(kind, len(x), len(y)) if mask is None else mask
        scores = queries @ keys.transpose(1, 2) / queries.size(2) ** 0.5
        relative = relative_scores(self.model, kind, layer, len(y))
        scores = (scores if relative is None else scores + relative).masked_fill(~visible, -math.inf)
        self.scores[kind, layer] = scores
        output = self.parameters[f"{path}.out_proj.weight"].unflatten(1, (heads, -1))
        written = torch.einsum("hqk,hkv,dhv->hqd", scores.softmax(-1), values, output)
        return {(kind, layer, head): written[head] for head in range(heads)} | {CONSTANT: self.bias(f"{path}.out_proj")}

    def projected(self, path: str, x: Tensor) -> Tensor:
        return x @ self.parameters[f"{path}.weight"].T + self.bias(path)

    def bias(self, path: str) -> Tensor:
        weight = self.parameters[f"{path}.weight"]
        return self.parameters.get(f"{path}.bias", weight.new_zeros(len(weight)))

    def terms(self, options: ScoreComponentsOptions) -> dict[Side, dict[Name, float]]:
        """Sums over all pairs of parts of query and key."""
        head, query = options.head, options.query
        path = f"{'encoder' if head.kind == 'encoder_self' else 'decoder'}.layers.{head.layer}."
        path += "cross_attention" if head.kind == "cross" else "self_attention"
        of_query, of_key = self.read[head[:2]]
        scores = self.scores[head[:2]][head.head]

        def own(name: str, parts: Parts) -> Parts:
            heads = len(self.scores[head[:2]])
            weight = self.parameters[f"{path}.{name}_proj.weight"].unflatten(0, (heads, -1))[head.head]
            bias = self.bias(f"{path}.{name}_proj").unflatten(0, (heads, -1))[head.head]
            projected = {part: each @ weight.T for part, each in parts.items()}
            return projected | {CONSTANT: projected[CONSTANT] + bias}

        queries, keys = own("q", of_query), own("k", of_key)
        visible = (scores[query] > -math.inf).nonzero()[:, 0].tolist()
        others = visible if options.instead_of is None else [options.instead_of]
        found: dict[Side, dict[Name, float]] = {"key": dict.fromkeys(keys, 0.0), "query": dict.fromkeys(queries, 0.0)}
        for (a, x), (b, y) in product(queries.items(), keys.items()):
            pairs = y @ x[query] / len(x[query]) ** 0.5  # [K]
            difference = float(pairs[options.key] - pairs[others].mean())
            found["query"][a] += difference
            found["key"][b] += difference
        relative = relative_scores(self.model, head.kind, head.layer, len(scores[0]))
        if relative is not None:
            row = relative[head.head, query]
            for of_side in found.values():
                of_side["distance", None, None] = float(row[options.key] - row[others].mean())
        return found


def total(parts: Parts) -> Tensor:
    return torch.stack([*parts.values()]).sum(0)


def named(found: ScoreComponents, side: Side) -> dict[Name, float]:
    return {(part, layer, head): value for part, layer, head, value in found.terms[side]}


def choices(oracle: Oracle, heads: list[Head], seed: int = 0) -> Iterator[ScoreComponentsOptions]:
    """A cell of every head, in turns beside the mean and beside another key."""
    choice = random.Random(seed)
    for head, is_beside_mean in zip(heads, cycle((True, False)), strict=False):
        scores = oracle.scores[head[:2]][head.head]
        query = choice.randrange(1, len(scores))  # a first row of the decoder has a single key
        key, other = choice.sample((scores[query] > -math.inf).nonzero()[:, 0].tolist(), 2)
        yield ScoreComponentsOptions(head=head, query=query, key=key, instead_of=None if is_beside_mean else other)


@pytest.fixture(scope="module", params=MODELS)
def model(request: pytest.FixtureRequest, tokenizer: SentencePieceTokenizer) -> Translator:
    """The models in float64, as is the pass beside them: the sines and cosines alone have fewer digits."""
    found = random_translator(tokenizer, **MODELS[request.param])
    found.model.double()
    return found


def test_the_terms_are_those_of_all_pairs_of_parts(model: Translator) -> None:
    oracle = Oracle(model)
    for options in choices(oracle, all_heads(model.model)):
        found = score_components(model, SOURCE, TARGET, options)
        for side, expected in oracle.terms(options).items():
            assert named(found, side) == pytest.approx(expected, abs=2e-6), options


def test_both_sums_are_the_score_and_the_logarithm_of_the_weights(model: Translator) -> None:
    oracle, maps = Oracle(model), model.explain(SOURCE, TARGET).maps
    for options in choices(oracle, [Head(kind, 1, 2) for kind in KINDS for _ in range(2)], 1):
        found = score_components(model, SOURCE, TARGET, options)
        scores = oracle.scores[options.head[:2]][options.head.head, options.query]
        weights = maps[options.head.kind][options.head.layer].weights[options.head.head, options.query]
        assert found.visible == tuple((scores > -math.inf).nonzero()[:, 0].tolist())
        assert found.weights == pytest.approx(weights.tolist(), abs=1e-6)
        if options.instead_of is None:
            expected = float(scores[options.key] - scores[[*found.visible]].mean())
        else:
            expected = math.log(weights[options.key]) - math.log(weights[options.instead_of])
        assert [found.total("key"), found.total("query"), found.score] == pytest.approx([expected] * 3, abs=1e-5)
        assert found.gap < 1e-9


def test_the_other_key_instead_of_this_one_has_the_opposite_terms(translator: Translator) -> None:
    head = Head("cross", 2, 3)
    one, other = (
        score_components(
            translator, SOURCE, TARGET, ScoreComponentsOptions(head=head, query=4, key=key, instead_of=instead_of)
        )
        for key, instead_of in ((2, 7), (7, 2))
    )
    sides: tuple[Side, ...] = ("key", "query")
    for side in sides:
        opposite = {name: -value for name, value in named(other, side).items()}
        assert named(one, side) == pytest.approx(opposite, abs=1e-12)


@pytest.mark.parametrize("kind", ["encoder_self", "decoder_self"])
def test_the_first_layer_has_the_parts_of_content_and_position(translator: Translator, kind: SelfAttentionKind) -> None:
    parts: ScoreParts = score_parts(translator, SOURCE, TARGET, kind)
    for head, (query, key) in enumerate([(3, 1), (5, 5), (6, 0)]):
        options = ScoreComponentsOptions(head=Head(kind, 0, head), query=query, key=key)
        found = score_components(translator, SOURCE, TARGET, options)
        visible = [*found.visible]
        above = {
            name: float(each[head, query, key] - each[head, query, visible].mean())
            for name, each in parts.parts.items()
        }
        of_query, of_key = (named(found, side) for side in ("query", "key"))
        assert of_query == pytest.approx(
            {
                ("token", None, None): above["content_content"] + above["content_position"],
                ("position", None, None): above["position_content"] + above["position_position"],
                CONSTANT: above["bias"],
            },
            abs=1e-5,
        )
        both = of_key["token", None, None] + of_key["position", None, None]
        assert both == pytest.approx(sum(above.values()), abs=1e-5)
        assert of_key[CONSTANT] == pytest.approx(0, abs=1e-12)


def asked(translator: Translator, **changes: Any) -> ScoreComponents:
    options: dict[str, Any] = {"head": Head("decoder_self", 1, 0), "query": 3, "key": 1} | changes
    return score_components(translator, SOURCE, TARGET, ScoreComponentsOptions(**options))


def by_hand() -> ScoreComponents:
    """A score of a second layer, with two heads a layer."""
    key = (
        *(ScoreTerm("token", None, None, -1.5), ScoreTerm("encoder_self", 0, 0, 2.0)),
        *(ScoreTerm("encoder_self", 0, 1, 1.0), ScoreTerm("feed_forward", 0, None, 0.25)),
        ScoreTerm("constant", None, None, 0.0),
    )
    terms: dict[Side, Any] = {"key": key, "query": (ScoreTerm("token", None, None, 1.75),)}
    tokens = ("\u2581a", "\u2581b")
    return ScoreComponents(
        Head("encoder_self", 1, 0),
        0,
        1,
        None,
        tokens,
        tokens,
        (0, 1),
        terms,
        1.75,
        (0.1, 0.9),
        (0.7, 0.1, 0.5, 0.6, 0.9),
    )


def test_heads_of_a_layer_are_one_bar_until_they_are_opened() -> None:
    score = by_hand()
    closed = list(score.rows("key"))
    assert [(row.name, row.value) for row in closed] == [
        *(("Token", -1.5), ("\u25b8 L1 heads", 3.0)),
        *(("L1 FFN", 0.25), ("Biases", 0.0)),
    ]
    assert closed[1].text == "Self-attention of layer 1"
    (group,) = {row.group for row in closed} - {""}
    rows = list(score.rows("key", [group]))
    assert [row.name for row in rows[1:4]] == ["\u25be L1 heads", "\u00b7 L1 H1", "\u00b7 L1 H2"]
    assert [row.head for row in rows[1:4]] == [None, Head("encoder_self", 0, 0), Head("encoder_self", 0, 1)]
    assert list(score.rows("query", [group])) == list(score.rows("query"))


def test_both_sides_have_one_scale_from_the_middle_of_their_cells() -> None:
    score = by_hand()
    key, query = score.pictures()
    ends = [cell.bar for _, (cell,) in key.rows if cell is not None]
    assert ends == [(0.25, 0.5), (0.5, 1.0), (0.5, pytest.approx(0.5 + 0.25 / 6)), (0.5, 0.5)]
    assert [cell.bar for _, (cell,) in query.rows if cell is not None] == [(0.5, pytest.approx(0.5 + 1.75 / 6))]
    assert list(key.columns) == list(query.columns) == ["sum +1.75"]
    assert key.title == "Why Encoder L2 H1 looks there: in the key, b"


def test_the_answer_says_what_is_split() -> None:
    score = by_hand()
    assert score.answer() == (
        "Encoder L2 H1 looks from \u201ca\u201d at \u201cb\u201d with weight 0.900: the score minus the mean of all 2 "
        "tokens that it can see there is +1.75."
    )
    assert "at \u201ca\u201d with weight 0.100: the difference" in replace(score, instead_of=0).answer()


def test_of_two_keys_a_summand_taken_out_is_its_bar(translator: Translator) -> None:
    """The weight is then the logistic function of the difference of both scores."""
    found = asked(translator, query=1, key=1, instead_of=0)
    expected = [1 / (1 + math.exp(term.value - found.score)) for term in found.terms["key"]]
    assert found.without == pytest.approx(expected, abs=1e-6)
    assert by_hand().removals.answer() == (
        "Without the summand \u201cEncoder L1 H1\u201d of the keys, the weight of \u201cb\u201d falls from 0.90 to "
        "0.10; without a summand drawn by lot, to 0.65, the median of the other 4."
    )


def test_what_is_not_there_is_refused(translator: Translator) -> None:
    with pytest.raises(ValueError, match="this model has no head decoder L4 H1"):
        asked(translator, head=Head("decoder_self", 3, 0))
    with pytest.raises(ValueError, match="query 100, counted from 1, must be one of the tokens that attend: 1:<s> 2:"):
        asked(translator, query=99)
    with pytest.raises(ValueError, match="key 5, counted from 1, must be a token that the query may attend to: 1:<s>"):
        asked(translator, key=4)
    with pytest.raises(ValueError, match="instead_of 100, counted from 1, must be a token that the query may attend"):
        asked(translator, head=Head("cross", 0, 0), instead_of=99)
    with pytest.raises(ValueError, match="key and instead_of are both 2, counted from 1: give two different keys"):
        asked(translator, instead_of=1)


def test_a_model_with_another_norm_is_refused(tokenizer: SentencePieceTokenizer) -> None:
    other = random_translator(tokenizer)
    other.model.encoder.layers[0].self_attention_norm = nn.Sequential(nn.Tanh())
    with pytest.raises(DisagreementError, match=r"^the score of encoder L2 H1, as the sum over the parts of"):
        asked(other, head=Head("encoder_self", 1, 0))


def test_a_model_of_all_tokens_at_once_is_refused(tokenizer: SentencePieceTokenizer) -> None:
    with pytest.raises(ValueError, match=r"which predicts all tokens at once \(mask-predict\)"):
        asked(random_translator(tokenizer, mask_id=3))


def test_the_command_prints_the_table(command: Command) -> None:
    place = ["--head", "cross L2 H1", "--query", "3", "--key", "2", "--instead-of", "4"]
    rows = command("score-components", "--text", SOURCE, "--target", TARGET, *place)
    options = ScoreComponentsOptions(head=Head("cross", 1, 0), query=2, key=1, instead_of=3)
    found = score_components(command.translator, SOURCE, TARGET, options)
    columns = found.table()
    assert [row["part"] for row in rows] == columns["part"]
    assert [float(row["contribution"]) for row in rows] == pytest.approx(columns["contribution"])
    assert {row["side"] for row in rows} == {"key", "query"}
    said, number = re.match(r"(.*) The parts of the key sum to (\S+),", command.said, re.DOTALL).groups()  # pyright: ignore[reportOptionalMemberAccess]
    assert said == found.answer()
    assert float(number) == pytest.approx(found.score, abs=2e-6)  # as rounded
