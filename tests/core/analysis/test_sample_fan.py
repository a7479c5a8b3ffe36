"""Samples beside the beam, and the tokens that they are drawn from."""

import math

import pytest
import torch

from core.analysis.csv_output import csv_text
from core.analysis.sample_fan import SampleFan, kept_tokens, sample_fan
from core.decoding import Constraints, Forbidden, Sampling
from core.model import Transformer
from core.text.tokenizer import SentencePieceTokenizer
from core.translator import Translator
from tests.core.decoding.test_sampling import by_hand

TEXT = "Where is it?"
pytestmark = pytest.mark.usefixtures("short_translations")


@pytest.fixture(scope="module")
def translator(tiny_model: Transformer, tokenizer: SentencePieceTokenizer) -> Translator:
    return Translator(tiny_model, tokenizer)


def test_the_fan_has_the_search_and_the_samples_of_the_translator(translator: Translator) -> None:
    sampling, limits = Sampling(num_samples=3, temperature=0.5), Constraints(min_length=3)
    fan = sample_fan(translator, TEXT, sampling, 2, 1.0, constraints=limits)
    assert fan.hypotheses == translator.translate(TEXT, 2, 1.0, constraints=limits).hypotheses
    assert fan.samples == translator.sample(TEXT, sampling, 1.0, constraints=limits)
    table = fan.table()
    assert list(table["kind"]) == ["hypothesis"] * 2 + ["sample"] * 3
    assert list(table["number"]) == [0, 1, 0, 1, 2]
    assert list(table["log_prob"]) == [each.log_prob for each in (*fan.hypotheses, *fan.samples)]
    assert csv_text(table)
    assert SampleFan(fan.hypotheses, (*fan.samples, fan.hypotheses[1])).in_beam == fan.in_beam + 1


@pytest.mark.parametrize(
    "sampling", [Sampling(), Sampling(top_k=3), Sampling(temperature=2.0, top_p=0.5), Sampling(min_p=0.5)]
)
def test_kept_tokens_are_those_that_samples_are_drawn_from(translator: Translator, sampling: Sampling) -> None:
    """By the filters with lists, on the logits of another pass."""
    target = translator.translate(TEXT, 1).hypotheses[0].token_ids
    limits = Constraints(min_length=2, forbidden=(Forbidden(target[1], 1),))
    found = kept_tokens(translator, TEXT, target, sampling, limits)
    ids = translator.token_ids(TEXT, target)
    with torch.inference_mode(), translator.inspect() as model:
        logits = model(torch.tensor([ids.source]), torch.tensor([ids.fed]))[0].double()
    assert len(found) == len(ids.predicted)
    never = set(translator.setup.options().excluded)
    for position, (kept, row) in enumerate(zip(found, logits.log_softmax(-1).tolist(), strict=True)):
        excluded = never | limits.excluded_at(position, translator.config.eos_id)
        allowed = [-math.inf if token_id in excluded else value for token_id, value in enumerate(row)]
        drawn = [value for value, weight in zip(row, by_hand(allowed, sampling), strict=True) if weight > 0]
        assert kept.count == len(drawn)
        assert kept.mass == pytest.approx(sum(map(math.exp, drawn)), abs=1e-5)
        assert kept.least == pytest.approx(min(drawn), abs=1e-4)


def test_a_sample_only_has_tokens_that_are_kept(translator: Translator) -> None:
    sampling = Sampling(num_samples=6, temperature=1.5, top_p=0.6)
    for sample in translator.sample(TEXT, sampling):
        kept = kept_tokens(translator, TEXT, sample.token_ids, sampling)
        for log_prob, each in zip(sample.token_log_probs, kept, strict=False):
            assert log_prob >= each.least - 1e-4
            assert each.count >= 1
