from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from core.analysis.agreement import DisagreementError
from core.analysis.attribution.logit_attribution import Against, LogitAttribution, attribute_logit
from core.analysis.attribution.logit_trace import AttentionWrite, FeedForwardWrite, LogitTrace, trace_logits
from core.analysis.linear_norm import FrozenNorm
from core.analysis.pictures import Cell, effect_limit
from core.model import Transformer
from core.text.tokenizer import SentencePieceTokenizer
from core.trace import Head
from core.translator import Translator
from tests.core.analysis.conftest import DOG, PRE_NORM, SOURCE, TARGET, Command, random_translator
from tests.core.tiny_models import LIKE_T5


@pytest.fixture(scope="module", params=["paper", "pre-norm", "t5", "rms", "variant"])
def trace(tokenizer: SentencePieceTokenizer, request: pytest.FixtureRequest) -> LogitTrace:
    changes: dict[str, dict[str, Any]] = {
        "paper": {},
        "pre-norm": PRE_NORM,
        "t5": LIKE_T5,
        "rms": {"norm_kind": "rms"},
        "variant": {
            "embedding_norm": True,
            "output_bias": True,
            "attention_bias": False,
            "tied": "none",
            "activation": "swish",
            "scale_embedding": False,
        },
    }
    return trace_logits(random_translator(tokenizer, **changes[request.param]), SOURCE, TARGET)


@pytest.mark.parametrize("against", [None, "mean", 17])
def test_the_terms_sum_to_the_logit_of_the_model(trace: LogitTrace, against: Against):
    for position in (0, 3, len(trace.predicted_ids) - 1):
        token, logits = trace.predicted_ids[position], trace.logits[position].double()
        found = attribute_logit(trace, position, against=against)
        minus = 0 if against is None else logits.mean() if against == "mean" else logits[against]
        assert found.logit == pytest.approx(float(logits[token] - minus), abs=1e-9)
        assert found.gap < 1e-4 * found.size
        assert sum(term.value for term in found.terms()) == pytest.approx(found.total, abs=1e-9)


def test_logits_are_those_of_the_explanation(trace: LogitTrace):
    log_probs = trace.logits.log_softmax(-1)
    for row, (token, expected) in enumerate(zip(trace.predicted_ids, trace.explanation.log_probs, strict=True)):
        assert float(log_probs[row, token]) == pytest.approx(expected, abs=1e-5)


def writes(trace: LogitTrace, row: int) -> list[Tensor | None]:
    """The vector that each step of the residual stream writes in one row: [D], or None for a norm."""
    found: list[Tensor | None] = []
    for step in trace.stream:
        if isinstance(step, FrozenNorm):
            found.append(None)
        elif isinstance(step, FeedForwardWrite):
            found.append(step.output[row] + step.bias)
        else:
            heads = torch.einsum("hk,hkv->hv", step.weights[:, row], step.values)
            found.append(torch.einsum("hv,dhv->d", heads, step.output_matrix) + step.bias)
    return found


def logit_without(
    trace: LogitTrace, row: int, token: int, written: list[Tensor | None], change: Callable[[object], Tensor | None]
) -> float:
    """The logit by running the residual stream of one row forward, with frozen norms.

    Args:
        written: `writes` of the row.
        change: for a write, the vector [D] to leave out of it; None for nothing.
    """
    x = trace.token_embedding[row] + trace.position_embedding[row]
    for step, vector in zip(trace.stream, written, strict=True):
        if isinstance(step, FrozenNorm):
            mean = x.mean() if isinstance(step.norm, nn.LayerNorm) else 0
            x = step.gain * (x - mean) / step.sigma[row] + step.bias
            continue
        assert vector is not None
        left_out = change(step)
        x = x + vector - (0 if left_out is None else left_out)
    return float(trace.unembedding[token].double() @ x + trace.output_bias[token])


def test_a_term_is_the_change_of_the_logit_without_it(trace: LogitTrace):
    row = 4
    token, written = trace.predicted_ids[row], writes(trace, row)
    found = attribute_logit(trace, row)
    whole = logit_without(trace, row, token, written, lambda step: None)
    assert whole == pytest.approx(found.logit, abs=1e-4)
    for term in found.terms():

        def left_out(step: object, term=term) -> Tensor | None:
            if isinstance(step, AttentionWrite) and (step.kind, step.layer) == (term.part, term.layer):
                vector = step.output_matrix[:, term.head] @ step.values[term.head, term.key]
                return step.weights[term.head, row, term.key] * vector
            if isinstance(step, FeedForwardWrite) and (term.part, term.layer) == ("feed_forward", step.layer):
                return step.output[row]
            return None

        if term.part in ("decoder_self", "cross", "feed_forward"):
            assert whole - logit_without(trace, row, token, written, left_out) == pytest.approx(term.value, abs=1e-9)


def test_a_head_has_the_sum_over_what_it_attends_to(trace: LogitTrace):
    found = attribute_logit(trace, 3)
    of_head = [term.value for term in found.terms() if (term.part, term.layer, term.head) == ("cross", 2, 1)]
    assert found.heads()[Head("cross", 2, 1)] == pytest.approx(sum(of_head))
    assert len(of_head) == len(trace.source_ids)


def test_a_model_worked_by_hand(tiny_model: Transformer, translator: Translator):
    """Cross-attention of the last layer alone writes: the other writes and all embeddings but the token's are 0.

    The last norm has gain 1; so the contribution is W_U . (c - mean(c)) / sigma, and the rest is the embedding's.
    """
    model = Transformer(replace(tiny_model.config, num_decoder_layers=1)).requires_grad_(False)
    layer = model.decoder.layers[0]
    for module in (layer.self_attention, layer.feed_forward):
        for parameter in module.parameters():
            parameter.zero_()
    traced = trace_logits(Translator(model, translator.tokenizer), "A dog.", "Ein Hund.")
    found = attribute_logit(traced, 1)
    write = next(step for step in traced.stream if isinstance(step, AttentionWrite) and step.kind == "cross")
    norms = [step for step in traced.stream if isinstance(step, FrozenNorm)]
    written = torch.einsum("hk,hkv,dhv->d", write.weights[:, 1], write.values, write.output_matrix)
    direction = model.embedding.tokens.weight[traced.predicted_ids[1]].double()
    for norm in norms[1:]:
        written = (written - written.mean()) / norm.sigma[1]
    assert float(found.cross.sum()) == pytest.approx(float(direction @ written))
    assert not found.decoder_self.any()
    assert not found.feed_forward.any()
    assert found.token_embedding + found.position_embedding + float(found.cross.sum()) == pytest.approx(
        found.logit, abs=1e-4
    )


def test_nothing_comes_from_later_prefix_tokens_and_the_table_has_a_row_for_each_term(trace: LogitTrace):
    found = attribute_logit(trace, 2)
    assert not found.decoder_self[:, :, 3:].any()
    assert found.decoder_self[:, :, :3].all()
    table = found.table()
    assert {len(column) for column in table.values()} == {len(list(found.terms()))}
    assert sum(value for value in table["contribution"] if isinstance(value, float)) == pytest.approx(found.total)
    tokens = [token for part, token in zip(table["part"], table["key_token"], strict=True) if part == "cross"]
    assert tokens[: len(trace.source_ids)] == list(trace.explanation.source_tokens)


class Norm(nn.Module):
    """Not a LayerNorm: no mean is subtracted."""

    def forward(self, x: Tensor) -> Tensor:
        return x / x.square().mean(-1, keepdim=True).sqrt()


def test_other_decoders_are_refused(tokenizer: SentencePieceTokenizer):
    other = random_translator(tokenizer, **PRE_NORM)
    other.model.decoder.output_norm = Norm()
    trace = trace_logits(other, SOURCE, TARGET)
    with pytest.raises(DisagreementError, match=r"^the logit, as the sum of its terms: the analysis computes"):
        attribute_logit(trace, 0)


@pytest.mark.parametrize(
    ("position", "token", "message"),
    [
        (-1, None, r"position -1 is not one of the \d+ predicted tokens: give 0 to \d+"),
        (99, None, "position 99 is not one of"),
        (0, 4000, "there is no token 4000: give an id from 0 to 399"),
    ],
)
def test_what_does_not_exist_is_refused(trace: LogitTrace, position: int, token: int | None, message: str):
    with pytest.raises(ValueError, match=message):
        attribute_logit(trace, position, token)


def test_it_is_the_attribution_of_the_asked_token(trace: LogitTrace):
    found: LogitAttribution = attribute_logit(trace, 1, token=20, against=30)
    assert (found.token, found.against, found.position) == (20, 30, 1)
    assert found.logit == pytest.approx(float(trace.logits[1, 20].double() - trace.logits[1, 30].double()), abs=1e-9)


# --- pictures ---------------------------------------------------------------------------------------------------------


AT = Head("cross", 1, 2)


@pytest.fixture
def found() -> LogitAttribution:
    random = torch.Generator().manual_seed(2)
    own, cross = torch.randn(2, 3, 4, generator=random), torch.randn(2, 3, 5, generator=random)
    own[:, :, 2:] = 0
    return LogitAttribution(
        position=1,
        token=7,
        against=None,
        logit=0.0,
        token_embedding=0.5,
        position_embedding=-0.25,
        decoder_self=own.double(),
        cross=cross.double(),
        feed_forward=torch.tensor([1.0, -2.0]).double(),
        biases=torch.tensor([0.125, 0.0]).double(),
        key_tokens={"decoder_self": ["a", "b"], "cross": list("vwxyz")},
        piece=str,
    )


def test_the_bars_sum_to_the_logit_and_lead_to_their_strongest_heads(found: LogitAttribution) -> None:
    bars = found.pictures(AT)[0]
    assert sum(sum(each.values) for each in bars.series) == pytest.approx(found.total)
    assert bars.columns == ["Input", "L1", "L2"]
    for kind, series in zip(("cross", "decoder_self"), bars.series[:2], strict=True):
        for layer in range(2):
            own = {head: abs(value) for head, value in found.heads().items() if head[:2] == (kind, layer)}
            assert series.heads[layer + 1] == max(own, key=own.__getitem__)
    assert not any(each.heads for each in bars.series[2:])


def test_every_head_has_its_cell(found: LogitAttribution) -> None:
    grid = found.pictures(AT)[1]
    assert [len(cells) for _, cells in grid.rows] == [len(grid.columns)] * 2 == [8, 8]
    cells = [cell for _, cells in grid.rows for cell in cells if cell]
    assert {cell.head: float(cell.says) for cell in cells if cell.head} == {
        head: pytest.approx(value, abs=6e-4) for head, value in found.heads().items()
    }
    limit = effect_limit([*found.heads().values(), *found.feed_forward.tolist(), *found.biases.tolist()])
    assert grid.ends == (f"{-limit:.1f}", f"{limit:+.1f}")
    assert max(abs(cell.shade) for cell in cells) == 1


def test_a_cell_of_a_token_has_the_sum_of_its_heads_and_leads_to_the_strongest(found: LogitAttribution) -> None:
    of_source, of_prefix = found.pictures(AT)[2:]
    by_head = found.cross[1, :, 3]
    cell = of_source.rows[3][1][1]
    assert isinstance(cell, Cell)
    assert (cell.head, float(cell.says)) == (
        Head("cross", 1, int(by_head.abs().argmax())),
        pytest.approx(float(by_head.sum()), abs=6e-4),
    )
    of_all = of_prefix.rows[1][1][2]  # the column of all layers
    assert of_all is not None
    assert of_all.head is not None
    _, layer, head = of_all.head
    assert abs(found.decoder_self[layer, head, 1]) == found.decoder_self[..., 1].abs().max()


def test_the_answer_names_the_head_that_adds_most(found: LogitAttribution) -> None:
    best = max(found.heads(), key=found.heads().__getitem__)
    assert f"of the heads {best} adds most, {found.heads()[best]:+.2f}." in found.answer(AT)


# --- the commands -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("against", [[], ["--against", "mean"], ["--against", "<s>", "--piece", "</s>"]])
def test_the_terms_sum_to_the_logit(command: Command, against: list[str]):
    total = sum(float(row["contribution"]) for row in command("contributions", *DOG, "--token", "2", *against))
    trace = trace_logits(command.translator, "A dog runs.", "Ein Hund.")
    found = attribute_logit(trace, 1, *([2, 1] if len(against) > 2 else [None, "mean" if against else None]))
    assert total == pytest.approx(found.logit, abs=1e-5)
    assert f"the logit is {found.logit:.6f}" in command.said


def test_the_lexicon_of_a_head_and_the_ranking(command: Command):
    assert len(command("lexicon", *DOG)) == 8
    lexicon = command("lexicon", *DOG, "--head", "L2 H3", "--top", "2")
    assert [row["rank"] for row in lexicon] == ["0", "1"] * (len(lexicon) // 2)
    assert lexicon[-1]["key_token"] == "</s>"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["contributions", "--token", "99"], "--token (99) must be one of the"),
        (["contributions", "--token", "1", "--piece", "no such"], "'no such' is not one of the 400 pieces"),
        (["contributions", "--token", "1", "--against", "no such"], "'no such' is not one of the 400 pieces"),
        (["lexicon", "--head", "3"], "--head (3) must be a head such as 'L4 H3', counted from 1"),
        (["lexicon", "--head", "L9 H1"], "there is no head cross L9 H1, counted from 1"),
    ],
)
def test_what_is_wrong_is_named(command: Command, options: list[str], message: str):
    assert message in command.error(*options, *DOG)
