"""Greedy search."""

import math

import pytest

from core.decoding import beam_search, greedy_search
from tests.core.decoding.toy_scorer import BOS, PAD, ToyScorer, options


@pytest.mark.parametrize("seed", range(20))
def test_a_beam_of_one_is_greedy_search(seed: int) -> None:
    seeds = [seed, seed + 100, seed + 200]
    limits = [4, 9, 6]
    greedy = greedy_search(ToyScorer(seeds), limits, options())
    beam = beam_search(ToyScorer(seeds), limits, options(beam_size=1, length_penalty=1.5))
    assert [hypothesis.token_ids for hypothesis in greedy] == [best.token_ids for (best,) in beam]


def test_greedy_search_takes_the_most_probable_token_each_time() -> None:
    scorer = ToyScorer([7])
    (found,) = greedy_search(scorer, [8], options())
    prefix = (BOS,)
    for token_id in found.token_ids:
        logits = scorer.logits_after(7, prefix)
        logits[[PAD, BOS]] = -math.inf
        assert token_id == int(logits.argmax())
        prefix = (*prefix, token_id)
    assert found.log_prob == pytest.approx(sum(scorer.log_probs_of(0, found.token_ids)), abs=1e-5)
