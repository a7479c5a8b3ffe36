"""Best next tokens, and outputs that are not finite."""

import math
from collections.abc import Sequence

import pytest
import torch
from torch import Tensor

from core.decoding import NonFiniteError, SearchOptions, beam_search, greedy_search, next_tokens
from tests.core.decoding.toy_scorer import BOS, EOS, PAD, ToyScorer, close, options


def test_a_start_that_is_also_the_end_can_be_generated() -> None:
    options = SearchOptions(bos_id=EOS, eos_id=EOS, never=(PAD, EOS), beam_size=2)
    assert options.excluded == (PAD,)
    assert greedy_search(ToyScorer([0], 50.0), [5], options)[0].token_ids == (EOS,)


def test_padding_and_the_start_are_never_generated() -> None:
    class Tempted(ToyScorer):
        def logits_after(self, seed: int, prefix: tuple[int, ...]) -> Tensor:
            logits = super().logits_after(seed, prefix)
            logits[[PAD, BOS]] += 20
            return logits

    for found in (
        greedy_search(Tempted([1]), [6], options())[0],
        *beam_search(Tempted([1]), [6], options(num_hypotheses=4))[0],
    ):
        assert not {PAD, BOS} & set(found.token_ids)
        assert found.log_prob < -15  # their probability is still counted: log-probabilities are the model's own


def test_a_vocabulary_smaller_than_the_beam() -> None:
    scorer = ToyScorer([1, 2], vocab_size=4)  # one word, and the end
    found = beam_search(scorer, [4, 6], options(beam_size=8, num_hypotheses=8))
    assert sorted(hypothesis.token_ids for hypothesis in found[0]) == [
        (2,),
        (3, 2),
        (3, 3, 2),
        (3, 3, 3, 2),
        (3, 3, 3, 3),
    ]
    assert max(scorer.widths) == 1  # only one can be alive


class BrokenScorer(ToyScorer):
    """All logits are one value after every prefix of two words, or only after prefixes with a given first word."""

    def __init__(self, seeds: Sequence[int], value: float, first: int | None = None) -> None:
        super().__init__(seeds, eos_bonus=-20)
        self.value, self.first = value, first

    def logits_after(self, seed: int, prefix: tuple[int, ...]) -> Tensor:
        logits = super().logits_after(seed, prefix)
        broken = len(prefix) == 3 and self.first in (None, prefix[1])
        return torch.full_like(logits, self.value) if broken else logits


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("beam_size", [1, 4])
def test_nothing_finite_is_an_error_that_says_where(value: float, beam_size: int) -> None:
    message = r"^the model's outputs are not finite \(NaN or infinite\) at position 3: its weights are damaged"
    with pytest.raises(NonFiniteError, match=message):
        beam_search(BrokenScorer([0, 1], value), [9, 9], options(beam_size))
    with pytest.raises(NonFiniteError, match=message):
        beam_search(BrokenScorer([0, 1], value), [9, 9], options(beam_size), prefixes=[[3, 4, 5], [3]])
    with pytest.raises(NonFiniteError, match=message):
        greedy_search(BrokenScorer([0, 1], value), [9, 9], options(1))


@pytest.mark.parametrize("value", [math.nan, math.inf])
@pytest.mark.parametrize("seed", range(5))
def test_a_hypothesis_without_a_finite_continuation_is_dropped(value: float, seed: int) -> None:
    """As for an impossible hypothesis: NaN does not displace possible continuations."""
    limit, search = 4, options(beam_size=4, num_hypotheses=4)
    (broken,) = beam_search(BrokenScorer([seed], value, first=3), [limit], search)
    (impossible,) = beam_search(BrokenScorer([seed], -math.inf, first=3), [limit], search)
    assert close(broken, impossible)
    assert len(broken) == 4
    assert all(
        math.isfinite(hypothesis.score) and not (len(hypothesis.token_ids) > 2 and hypothesis.token_ids[0] == 3)
        for hypothesis in broken
    )


@pytest.mark.parametrize("size", [1, 63, 64, 65, 200, 1000, 1024])
@pytest.mark.parametrize("count", [1, 3, 8])
def test_the_greatest_by_blocks_are_the_greatest(size: int, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(next_tokens, "MANY_VALUES", 0)
    generator = torch.Generator().manual_seed(size)
    for values in (
        torch.randn(2, 3, size, generator=generator),
        torch.arange(6.0 * size).view(2, 3, size),  # all of the greatest in what no whole block holds
        torch.randn(2, 3, size, generator=generator).masked_fill(
            torch.rand(2, 3, size, generator=generator) < 0.97, -torch.inf
        ),
    ):
        expected = values.topk(min(count, size)).values
        greatest, columns = next_tokens.top_k(values, min(count, size))
        assert torch.equal(greatest, expected)
        assert torch.equal(values.gather(-1, columns), expected)
        assert all(len(set(row)) == len(row) for row in columns.flatten(0, 1).tolist())
