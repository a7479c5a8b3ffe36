from threading import Thread

import pytest
import torch

from core.analysis.heads.gating import gated, head_gates
from core.analysis.heads.head import all_heads
from core.trace import Head
from core.translator import Translator
from tests.margins import assert_equal_to_rounding

SOURCE, TARGET = "A dog runs through the green grass.", "Ein Hund läuft durch das grüne Gras."
HEAD = Head("cross", 2, 1)


def test_every_head_is_named_once(translator: Translator):
    heads = all_heads(translator.model)
    assert len(heads) == len(set(heads)) == 3 * 2 + 4 * (3 + 3)
    assert heads[0] == ("encoder_self", 0, 0)
    assert heads[-1] == ("cross", 2, 3)


def test_people_count_from_1():
    assert str(Head("encoder_self", 4, 0)) == "encoder L5 H1"


def test_a_gate_scales_what_the_head_adds_before_w_o(post_or_pre: Translator):
    """Oracle: edited weights, W_O's columns of that head times the gate."""
    source_ids, fed, _ = (torch.tensor([ids]) for ids in post_or_pre.token_ids(SOURCE, TARGET))
    with torch.inference_mode(), gated(post_or_pre, {HEAD: 0.3}):
        found = post_or_pre.model(source_ids, fed)
    out_proj = post_or_pre.model.decoder.layers[2].cross_attention.out_proj
    kept = out_proj.weight.clone()
    out_proj.weight[:, 7:14] *= 0.3
    try:
        expected = post_or_pre.model(source_ids, fed)
    finally:
        out_proj.weight.copy_(kept)
    assert_equal_to_rounding(found, expected, post_or_pre.model)
    assert not torch.allclose(found, post_or_pre.model(source_ids, fed), atol=1e-3)


def test_gates_of_a_batch_go_to_their_rows(translator: Translator):
    source_ids, fed, _ = (torch.tensor([ids, ids]) for ids in translator.token_ids(SOURCE, TARGET))
    with (
        torch.inference_mode(),
        head_gates(translator.model, {HEAD: torch.tensor([1.0, 0.0]), Head("cross", 2, 0): 1.0}),
    ):
        whole, without = translator.model(source_ids, fed)
    with torch.inference_mode(), head_gates(translator.model, {HEAD: 0.0}):
        expected = translator.model(source_ids[:1], fed[:1])[0]
    assert_equal_to_rounding(without, expected, translator.model)
    assert_equal_to_rounding(whole, translator.model(source_ids, fed)[0], translator.model)


def test_captured_rows_sum_to_the_gate_and_no_hook_stays(translator: Translator):
    before = translator.explain(SOURCE, TARGET)
    with gated(translator, {HEAD: 0.0, Head("encoder_self", 0, 2): 0.5}):
        maps = translator.explain(SOURCE, TARGET).maps
    assert maps["cross"][2].weights[1].abs().max() == 0
    assert torch.allclose(maps["encoder_self"][0].weights.sum(-1), torch.tensor([1.0, 1.0, 0.5])[:, None])
    assert translator.explain(SOURCE, TARGET).log_probs == before.log_probs
    assert not any(module._forward_hooks for module in translator.model.modules())


@pytest.mark.usefixtures("short_translations")
@pytest.mark.parametrize("gates", [{HEAD: 0.0}, {Head("decoder_self", 0, 2): 0.0}, {Head("encoder_self", 1, 0): 2.0}])
def test_a_cached_search_is_gated_too(translator: Translator, gates: dict[Head, float]):
    """Hypotheses of a gated search have the log-probabilities of a gated replay, not those of the whole model."""
    with gated(translator, gates):
        hypothesis = translator.translate(SOURCE, beam_size=2).hypotheses[0]
        replayed = translator.explain(SOURCE, hypothesis.token_ids).log_probs
    tokens = len(hypothesis.token_log_probs)
    assert hypothesis.token_log_probs == pytest.approx(replayed[:tokens], abs=1e-4)
    whole = translator.explain(SOURCE, hypothesis.token_ids).log_probs[:tokens]
    assert max(abs(new - old) for new, old in zip(hypothesis.token_log_probs, whole, strict=True)) > 0.01


def test_other_threads_wait_and_see_the_whole_model(translator: Translator):
    before, found = translator.explain(SOURCE, TARGET).log_probs, []
    other = Thread(target=lambda: found.append(translator.explain(SOURCE, TARGET).log_probs))
    with gated(translator, {HEAD: 0.0}):
        other.start()
        other.join(timeout=0.2)
        assert not found
    other.join()
    assert found == [before]


@pytest.mark.parametrize(
    ("head", "message"),
    [
        (("cross", 3, 0), "no head 0 in layer 3 of cross: layers go from 0 to 2, heads from 0 to 3"),
        (("encoder_self", 1, 3), "no head 3 in layer 1 of encoder_self: layers go from 0 to 1, heads from 0 to 2"),
        (("decoder", 0, 0), "the kinds are encoder_self, decoder_self, cross"),
    ],
)
def test_a_head_that_is_not_there(translator: Translator, head: Head, message: str):
    with pytest.raises(ValueError, match=message), gated(translator, {head: 0.0}):
        pass


def test_a_gate_that_is_no_number(translator: Translator):
    with (
        pytest.raises(ValueError, match="the gate of cross L3 H2 is nan, expected a finite number"),
        gated(translator, {HEAD: float("nan")}),
    ):
        pass
