"""Options of a search and the length penalty."""

import math

import pytest

from core.decoding import SearchOptions, beam_search
from tests.core.decoding.toy_scorer import BOS, EOS, PAD, ToyScorer, options


def test_the_length_penalty_is_that_of_wu_et_al_and_counts_the_end() -> None:
    assert options(length_penalty=0.6).score(-3.0, 7) == pytest.approx(-3.0 / 2**0.6)
    (found,) = beam_search(ToyScorer([5]), [9], options(length_penalty=1.0, num_hypotheses=4))
    for hypothesis in found:
        assert hypothesis.score == pytest.approx(hypothesis.log_prob / ((5 + len(hypothesis.token_ids)) / 6))
    assert [h.score for h in found] == sorted((h.score for h in found), reverse=True)


def test_the_length_penalty_of_other_projects_is_a_power_of_the_length() -> None:
    by_length = SearchOptions(bos_id=BOS, eos_id=EOS, never=(), length_penalty=0.7, penalty_formula="length")
    assert [by_length.score(-6.0, length) for length in (1, 4)] == pytest.approx([-6.0, -6.0 / 4**0.7])
    assert by_length.score(0.0, 0) == 0


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"beam_size": 0}, r"beam_size \(0\) must be an integer from 1 to 64"),
        ({"beam_size": 65}, r"beam_size \(65\) must be an integer from 1 to 64"),
        ({"beam_size": True}, r"beam_size \(True\) must be an integer"),
        ({"beam_size": 2.0}, r"beam_size \(2.0\) must be an integer"),
        ({"length_penalty": -0.1}, r"length_penalty \(-0.1\) must be a number from 0 to 5"),
        ({"length_penalty": math.nan}, r"length_penalty \(nan\) must be a number from 0 to 5"),
        ({"length_penalty": "1"}, r"length_penalty \('1'\) must be a number from 0 to 5"),
        ({"num_hypotheses": 5}, r"num_hypotheses \(5\) must be an integer from 1 to beam_size \(4\)"),
        ({"num_hypotheses": 0}, r"num_hypotheses \(0\) must be an integer from 1 to beam_size \(4\)"),
    ],
)
def test_options_out_of_range(values: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SearchOptions(bos_id=BOS, eos_id=EOS, never=(PAD,), **values)
