"""Compared with the lexicon of a head, which reads the same from the trace of a whole pass."""

import pytest
import torch

from core.analysis.attribution.logit_lexicon import head_lexicon
from core.analysis.attribution.logit_trace import FeedForwardWrite, trace_logits
from core.analysis.corpus.promotion import promoted_by_neuron, promoted_tokens, promotes
from core.analysis.corpus.recording import feed_forward_networks, record_batch
from core.analysis.linear_norm import FrozenNorm
from core.capture import AttentionMap
from core.trace import Head
from core.translator import Translator

SOURCE, TARGET = "The old house.", "Das alte Haus."


@pytest.mark.parametrize("name", ["translator", "norm_first", "like_t5"])
def test_promoted_tokens_are_those_of_the_lexicon(name: str, request: pytest.FixtureRequest):
    translator: Translator = request.getfixturevalue(name)
    values = record_batch(translator, [(SOURCE, translator.codec.target_ids(TARGET))]).values
    trace = trace_logits(translator, SOURCE, TARGET)
    for layer in range(3):
        found = promoted_tokens(translator.model, "cross", layer, values["cross", layer])[0]
        for head in range(4):
            expected = head_lexicon(trace, Head("cross", layer, head), 5).entries
            assert found[head].tolist() == [[token_id for token_id, _ in entries] for entries in expected]


@pytest.mark.parametrize("name", ["translator", "norm_first", "like_t5"])
def test_a_neuron_promotes_what_its_column_adds_to_the_logits(name: str, request: pytest.FixtureRequest):
    translator: Translator = request.getfixturevalue(name)
    trace = trace_logits(translator, SOURCE, TARGET)
    place = next(n for n, each in enumerate(trace.stream) if isinstance(each, FeedForwardWrite) and each.layer == 1)
    vector = feed_forward_networks(translator.model)["decoder", 1].outer.weight[:, 7].double()
    for norm in (each for each in trace.stream[place:] if isinstance(each, FrozenNorm)):
        vector = norm.unscaled(vector) / norm.sigma[2]  # of any row
    expected = (trace.unembedding.double() @ vector).topk(4).indices.tolist()
    assert promoted_by_neuron(translator.model, 1, 7)[:4] == promoted_by_neuron(translator.model, 1, 7, 4) == expected
    assert len(promoted_by_neuron(translator.model, 1, 7)) == 5


def test_a_head_copies_its_key_and_translates_to_what_is_predicted():
    tokens, fed, predicted = ("\u2581a", "\u2581b", "</s>"), ("<s>", "\u2581x"), ("\u2581x", "</s>")
    cross = AttentionMap("cross", 0, torch.ones(1, 2, 3) / 3, fed, tokens, predicted)
    promoted = torch.tensor([[[4, 9], [8, 4], [2, 8]]])  # of `a` 4, of `b` 5, of `</s>` 2
    found = promotes(cross, promoted, [4, 5, 2], [8, 2])
    assert found["copies"].int().tolist() == [[[1, 0, 0]] * 2]  # `</s>` is no word to copy
    assert found["translates"].int().tolist() == [[[0, 1, 0], [0, 0, 0]]]
    assert promotes(cross, promoted, None, [8, 2]).keys() == {"translates"}
