"""Search over toy scorers, against results by hand or by enumeration."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from core import decoding
from core.decoding import (
    BeamState,
    Hypothesis,
    NonFiniteError,
    SearchOptions,
    beam_search,
    beam_steps,
    best_hypotheses,
    greedy_search,
)

PAD, BOS, EOS = 0, 1, 2
WORDS = (3, 4, 5)
VOCAB_SIZE = 6


class ToyScorer:
    """Random but fixed logits for every prefix of every sentence; no model, no cache."""

    def __init__(self, seeds: Sequence[int], eos_bonus: float = 0.0, vocab_size: int = VOCAB_SIZE) -> None:
        self.seeds = list(seeds)
        self.eos_bonus, self.vocab_size = eos_bonus, vocab_size
        self.prefixes: list[list[tuple[int, ...]]] | None = None
        self.widths: list[int] = []
        self.batches: list[int] = []

    def logits_after(self, seed: int, prefix: tuple[int, ...]) -> Tensor:
        generator = torch.Generator().manual_seed(hash((seed, prefix)) % 2**31)
        logits = 2 * torch.randn(self.vocab_size, generator=generator)
        logits[EOS] += self.eos_bonus
        return logits

    def log_probs_of(self, row: int, token_ids: Sequence[int]) -> list[float]:
        """Log-probability of each token, computed from the start."""
        return [
            float(self.logits_after(self.seeds[row], (BOS, *token_ids[:index])).log_softmax(-1)[token_id])
            for index, token_id in enumerate(token_ids)
        ]

    def __call__(self, token_ids: Tensor, parents: Tensor, sentences: Tensor | None) -> Tensor:
        before = self.prefixes or [[()] for _ in self.seeds]
        if sentences is not None:
            rows = sentences.tolist()
            before, self.seeds = [before[row] for row in rows], [self.seeds[row] for row in rows]
        self.widths.append(token_ids.size(1))
        self.batches.append(token_ids.size(0))
        self.prefixes = [
            [
                (*before[row][parent], token_id)
                for token_id, parent in zip(token_ids[row].tolist(), parents[row].tolist(), strict=True)
            ]
            for row in range(token_ids.size(0))
        ]
        return torch.stack(
            [
                torch.stack([self.logits_after(seed, prefix) for prefix in row])
                for seed, row in zip(self.seeds, self.prefixes, strict=True)
            ]
        )


def options(beam_size: int = 4, length_penalty: float = 0.6, num_hypotheses: int = 1) -> SearchOptions:
    return SearchOptions(
        bos_id=BOS,
        eos_id=EOS,
        never=(PAD,),
        beam_size=beam_size,
        length_penalty=length_penalty,
        num_hypotheses=num_hypotheses,
    )


def close(one: Sequence[Hypothesis], other: Sequence[Hypothesis]) -> bool:
    return [hypothesis.token_ids for hypothesis in one] == [hypothesis.token_ids for hypothesis in other] and all(
        a.score == pytest.approx(b.score, abs=1e-5) for a, b in zip(one, other, strict=True)
    )


def states_of(scorer: ToyScorer, limit: int, search: SearchOptions) -> list[BeamState]:
    return [state for (state,) in beam_steps(scorer, [limit], search)]


@pytest.mark.parametrize("length_penalty", [0.0, 0.6, 1.0, 2.0])
@pytest.mark.parametrize("seed", range(5))
def test_a_beam_as_wide_as_the_tree_is_exhaustive_search(seed: int, length_penalty: float) -> None:
    limit = 3
    scorer = ToyScorer([seed])
    search = options(beam_size=64, length_penalty=length_penalty, num_hypotheses=13)
    endings = [(*words, EOS) for length in range(limit) for words in itertools.product(WORDS, repeat=length)]
    everything = sorted(
        ((sum(scorer.log_probs_of(0, ids)) / ((5 + len(ids)) / 6) ** length_penalty, ids) for ids in endings),
        reverse=True,
    )  # all 13 translations of up to two of three words and an end
    (found,) = beam_search(scorer, [limit], search)
    assert [hypothesis.token_ids for hypothesis in found] == [ids for _, ids in everything]
    assert [hypothesis.score for hypothesis in found] == pytest.approx([score for score, _ in everything], abs=1e-5)


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


@pytest.mark.parametrize("beam_size", [1, 2, 5])
def test_a_sentence_gets_the_same_alone_and_among_others(beam_size: int) -> None:
    seeds, limits = [3, 1, 4, 15, 9, 26], [5, 12, 1, 7, 3, 9]
    search = options(beam_size, num_hypotheses=beam_size)
    together = beam_search(ToyScorer(seeds), limits, search)
    for seed, limit, found in zip(seeds, limits, together, strict=True):
        assert close(found, beam_search(ToyScorer([seed]), [limit], search)[0])


def test_sentences_that_are_done_leave_the_batch() -> None:
    for search in (greedy_search, beam_search):
        scorer = ToyScorer([1, 2, 3], eos_bonus=-50, vocab_size=20)  # nothing ends before its limit
        search(scorer, [2, 5, 3], options())
        assert scorer.batches == [3, 3, 2, 1, 1]


def test_the_beam_opens_after_the_first_position() -> None:
    scorer = ToyScorer([1], vocab_size=20)
    beam_search(scorer, [3], options(beam_size=4))
    assert scorer.widths == [1, 4, 4]


@pytest.mark.parametrize("num_hypotheses", [1, 3])
@pytest.mark.parametrize("length_penalty", [0.0, 0.6, 2.0])
def test_stopping_early_does_not_change_the_result(
    monkeypatch: pytest.MonkeyPatch, length_penalty: float, num_hypotheses: int
) -> None:
    search, limits, seeds = options(4, length_penalty, num_hypotheses), [12] * 30, range(30)
    early = [beam_search(ToyScorer([seed]), [12], search)[0] for seed in seeds]
    steps_early = sum(len(states_of(ToyScorer([seed]), 12, search)) for seed in seeds)
    judge = decoding._stop

    def only_at_the_end(position, live, finished, limit, options):
        reason = judge(position, live, finished, limit, options)
        return None if reason == "cannot_win" and live else reason

    monkeypatch.setattr(decoding, "_stop", only_at_the_end)
    late = beam_search(ToyScorer(seeds), limits, search)
    steps_late = sum(len(states_of(ToyScorer([seed]), 12, search)) for seed in seeds)
    assert all(close(a, b) for a, b in zip(early, late, strict=True))
    assert steps_early < steps_late if num_hypotheses == 1 else steps_early <= steps_late


def test_the_length_penalty_is_that_of_wu_et_al_and_counts_the_end() -> None:
    assert options(length_penalty=0.6).score(-3.0, 7) == pytest.approx(-3.0 / 2**0.6)
    (found,) = beam_search(ToyScorer([5]), [9], options(length_penalty=1.0, num_hypotheses=4))
    for hypothesis in found:
        assert hypothesis.score == pytest.approx(hypothesis.log_prob / ((5 + len(hypothesis.token_ids)) / 6))
    assert [h.score for h in found] == sorted((h.score for h in found), reverse=True)


def test_the_length_penalty_of_other_projects_is_a_power_of_the_length() -> None:
    by_length = SearchOptions(bos_id=BOS, eos_id=EOS, never=(), length_penalty=0.7, penalty_formula="length")
    assert [by_length.score(-6.0, length) for length in (1, 4)] == pytest.approx([-6.0, -6.0 / 4**0.7])


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("length_penalty", [0.6, 2.0])
def test_without_early_stopping_a_search_goes_on_while_a_live_hypothesis_scores_higher(
    seed: int, length_penalty: float
) -> None:
    """Hugging Face's rule, written out over the states of the search."""
    options = SearchOptions(
        bos_id=BOS,
        eos_id=EOS,
        never=(PAD,),
        beam_size=2,
        num_hypotheses=2,
        length_penalty=length_penalty,
        penalty_formula="length",
        early_stopping=False,
    )
    states = [state for (state,) in beam_steps(ToyScorer([seed], 1.0), [9], options)]
    for state in states:
        live = [hypothesis.log_prob / state.position**length_penalty for hypothesis in state.live]
        worst = sorted(hypothesis.score for hypothesis in state.finished)[-2:]
        hopeless = len(worst) == 2 and max(live) <= worst[0]
        assert (state.stop == "beam_finished") == (hopeless and state.position < 9)
    early = [state for (state,) in beam_steps(ToyScorer([seed], 1.0), [9], replace(options, early_stopping=True))]
    assert len(early) <= len(states)
    assert [state.candidates for state in early] == [state.candidates for state in states[: len(early)]]


def test_a_start_that_is_also_the_end_can_be_generated() -> None:
    options = SearchOptions(bos_id=EOS, eos_id=EOS, never=(PAD, EOS), beam_size=2)
    assert options.excluded == (PAD,)
    assert greedy_search(ToyScorer([0], 50.0), [5], options)[0].token_ids == (EOS,)


def test_hypotheses_at_the_limit_are_unfinished_and_follow_finished_ones() -> None:
    for found in (
        greedy_search(ToyScorer([1], eos_bonus=-50), [3], options())[0],
        beam_search(ToyScorer([1], eos_bonus=-50, vocab_size=20), [3], options())[0][0],
    ):
        assert not found.finished
        assert len(found.token_ids) == 3
        assert EOS not in found.token_ids
    (mixed,) = beam_search(ToyScorer([2]), [2], options(beam_size=4, num_hypotheses=4))
    assert [hypothesis.finished for hypothesis in mixed] == sorted(
        (hypothesis.finished for hypothesis in mixed), reverse=True
    )
    assert {hypothesis.finished for hypothesis in mixed} == {True, False}


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


def test_the_beam_is_data() -> None:
    search = options(beam_size=3, num_hypotheses=3)
    scorer = ToyScorer([11], vocab_size=12)
    states = states_of(scorer, 8, search)
    assert [state.position for state in states] == list(range(1, len(states) + 1))
    assert [state.stop is None for state in states] == [True] * (len(states) - 1) + [False]
    before: tuple[Hypothesis, ...] = (Hypothesis(),)
    ended = 0
    for state in states:
        assert [c.log_prob for c in state.candidates] == sorted((c.log_prob for c in state.candidates), reverse=True)
        assert len(state.candidates) == 6
        going_on = [c for c in state.candidates if c.fate == "live"]
        assert [(*before[c.parent].token_ids, c.token_id) for c in going_on] == [h.token_ids for h in state.live]
        assert tuple(c.parent for c in going_on) == state.parents
        assert len(state.live) == 3
        for rank, candidate in enumerate(state.candidates):
            assert candidate.log_prob == pytest.approx(
                before[candidate.parent].log_prob + candidate.token_log_prob, abs=1e-5
            )
            assert (candidate.fate == "finished") == (candidate.token_id == EOS and rank < 3)
        ended += sum(c.fate == "finished" for c in state.candidates)
        assert len(state.finished) == ended
        assert all(h.finished and h.token_ids[-1] == EOS for h in state.finished)
        before = state.live
    assert best_hypotheses(states[-1], search) == beam_search(ToyScorer([11], vocab_size=12), [8], search)[0]


def test_token_log_probs_are_those_of_the_scorer() -> None:
    scorer = ToyScorer([8])
    (found,) = beam_search(ToyScorer([8]), [10], options(num_hypotheses=4))
    for hypothesis in found:
        assert hypothesis.token_log_probs == pytest.approx(scorer.log_probs_of(0, hypothesis.token_ids), abs=1e-5)
        assert hypothesis.log_prob == pytest.approx(sum(hypothesis.token_log_probs))


@pytest.mark.parametrize("beam_size", [1, 4])
def test_an_empty_prefix_changes_nothing(beam_size: int) -> None:
    search = options(beam_size, num_hypotheses=beam_size)
    free = beam_search(ToyScorer([1, 2, 3]), [5, 8, 6], search)
    assert beam_search(ToyScorer([1, 2, 3]), [5, 8, 6], search, prefixes=[(), [], ()]) == free


@pytest.mark.parametrize("seed", range(8))
def test_any_beginning_of_the_greedy_translation_leads_to_it(seed: int) -> None:
    ((greedy,),) = beam_search(ToyScorer([seed]), [9], options(beam_size=1))
    for length in range(len(greedy.token_ids)):
        ((found,),) = beam_search(ToyScorer([seed]), [9], options(beam_size=1), prefixes=[greedy.token_ids[:length]])
        assert found.token_ids == greedy.token_ids
        assert found.score == pytest.approx(greedy.score, abs=1e-5)


@pytest.mark.parametrize("length_penalty", [0.0, 0.6, 2.0])
@pytest.mark.parametrize("prefix", [(4,), (5, 3)])
def test_behind_a_prefix_a_beam_as_wide_as_the_tree_is_exhaustive_search(
    prefix: tuple[int, ...], length_penalty: float
) -> None:
    limit = 4
    scorer = ToyScorer([3])
    search = options(beam_size=64, length_penalty=length_penalty, num_hypotheses=64)
    room = limit - len(prefix)
    endings = [(*prefix, *words, EOS) for length in range(room) for words in itertools.product(WORDS, repeat=length)]
    everything = sorted(
        ((sum(scorer.log_probs_of(0, ids)) / ((5 + len(ids)) / 6) ** length_penalty, ids) for ids in endings),
        reverse=True,
    )
    (found,) = beam_search(scorer, [limit], search, prefixes=[prefix])
    ended = [hypothesis for hypothesis in found if hypothesis.finished]
    assert [hypothesis.token_ids for hypothesis in ended] == [ids for _, ids in everything]
    assert [hypothesis.score for hypothesis in ended] == pytest.approx([score for score, _ in everything], abs=1e-5)
    assert all(
        hypothesis.token_log_probs == pytest.approx(scorer.log_probs_of(0, hypothesis.token_ids), abs=1e-5)
        for hypothesis in found
    )


def test_each_sentence_of_a_batch_has_a_prefix_of_its_own() -> None:
    seeds, limits, prefixes = [3, 1, 4, 1], [9, 8, 12, 5], [(4, 4, 5), (), (3,), (5, EOS)]
    search = options(3, num_hypotheses=3)
    together = beam_search(ToyScorer(seeds), limits, search, prefixes=prefixes)
    for seed, limit, prefix, found in zip(seeds, limits, prefixes, together, strict=True):
        assert close(found, beam_search(ToyScorer([seed]), [limit], search, prefixes=[prefix])[0])
        assert all(hypothesis.token_ids[: len(prefix)] == prefix for hypothesis in found)


def test_a_prefix_that_ends_is_only_scored() -> None:
    scorer = ToyScorer([6])
    (found,) = beam_search(scorer, [3], options(num_hypotheses=4), prefixes=[(3, 4, EOS)])
    assert [(hypothesis.token_ids, hypothesis.finished) for hypothesis in found] == [((3, 4, EOS), True)]
    assert found[0].token_log_probs == pytest.approx(scorer.log_probs_of(0, (3, 4, EOS)), abs=1e-5)


def test_the_states_of_forced_positions_have_one_candidate() -> None:
    states = [state for (state,) in beam_steps(ToyScorer([2]), [6], options(3), prefixes=[(5, 5)])]
    assert [[candidate.token_id for candidate in state.candidates] for state in states[:2]] == [[5], [5]]
    assert [state.position for state in states] == list(range(1, len(states) + 1))
    assert len(states[2].candidates) > 1


@pytest.mark.parametrize(
    ("prefix", "message"),
    [
        (
            (3, 4, 5),
            "the prefix has 3 tokens, which leaves no room for more: a translation of this text may have 3; "
            "shorten the prefix",
        ),
        ((3, 4, 5, EOS), "the prefix has 4 tokens, which leaves no room"),
        ((3, EOS, 4), "token 2 of the prefix ends the translation, but 1 more follow: remove them or it"),
        ((3, PAD), "token 2 of the prefix is 0, which is never generated: leave it out"),
        ((BOS,), "token 1 of the prefix is 1, which is never generated: leave it out"),
    ],
)
def test_a_prefix_that_no_translation_can_have(prefix: tuple[int, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        beam_search(ToyScorer([1, 1]), [9, 3], options(), prefixes=[(), prefix])


@pytest.mark.parametrize(
    ("eos_bonus", "limit", "beam_size", "stop"),
    [(50.0, 9, 4, "cannot_win"), (50.0, 9, 1, "beam_finished"), (-50.0, 3, 2, "limit")],
)
def test_a_search_says_why_it_stopped(eos_bonus: float, limit: int, beam_size: int, stop: str) -> None:
    assert states_of(ToyScorer([1], eos_bonus=eos_bonus), limit, options(beam_size))[-1].stop == stop


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
    monkeypatch.setattr(decoding, "MANY_VALUES", 0)
    generator = torch.Generator().manual_seed(size)
    for values in (
        torch.randn(2, 3, size, generator=generator),
        torch.arange(6.0 * size).view(2, 3, size),  # all of the greatest in what no whole block holds
        torch.randn(2, 3, size, generator=generator).masked_fill(
            torch.rand(2, 3, size, generator=generator) < 0.97, -torch.inf
        ),
    ):
        expected = values.topk(min(count, size)).values
        greatest, columns = decoding.top_k(values, min(count, size))
        assert torch.equal(greatest, expected)
        assert torch.equal(values.gather(-1, columns), expected)
        assert all(len(set(row)) == len(row) for row in columns.flatten(0, 1).tolist())
