"""Beam search over toy scorers, against results by hand or by enumeration."""

from dataclasses import replace

import pytest
from torch import Tensor

from core.decoding import Hypothesis, SearchOptions, beam, beam_search, beam_steps, best_hypotheses, greedy_search
from tests.core.decoding.toy_scorer import BOS, EOS, PAD, ToyScorer, all_endings, close, options, states_of


@pytest.mark.parametrize("length_penalty", [0.0, 0.6, 1.0, 2.0])
@pytest.mark.parametrize("seed", range(5))
def test_a_beam_as_wide_as_the_tree_is_exhaustive_search(seed: int, length_penalty: float) -> None:
    scorer = ToyScorer([seed])
    everything = all_endings(scorer, 3, length_penalty)
    assert len(everything) == 13, "all translations of up to two of three words"
    search = options(beam_size=64, length_penalty=length_penalty, num_hypotheses=13)
    (found,) = beam_search(scorer, [3], search)
    assert [hypothesis.token_ids for hypothesis in found] == [ids for _, ids in everything]
    assert [hypothesis.score for hypothesis in found] == pytest.approx([score for score, _ in everything], abs=1e-5)


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


def test_only_the_last_sentences_of_a_batch_change_places() -> None:
    """Their keys and values are copied, those of the others stay."""
    scorer = ToyScorer(range(1, 8), eos_bonus=-50, vocab_size=20)
    kept: list[list[int]] = []

    def next_logits(token_ids: Tensor, parents: Tensor, sentences: Tensor | None) -> Tensor:
        kept.append([] if sentences is None else sentences.tolist())
        return scorer(token_ids, parents, sentences)

    beam_search(next_logits, [5, 2, 5, 2, 5, 5, 3], options())
    assert kept == [[], [], [0, 5, 2, 6, 4], [0, 1, 2, 4], []]


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
    judge = beam._stop

    def only_at_the_end(position, live, finished, limit, options):
        reason = judge(position, live, finished, limit, options)
        return None if reason == "cannot_win" and live else reason

    monkeypatch.setattr(beam, "_stop", only_at_the_end)
    late = beam_search(ToyScorer(seeds), limits, search)
    steps_late = sum(len(states_of(ToyScorer([seed]), 12, search)) for seed in seeds)
    assert all(close(a, b) for a, b in zip(early, late, strict=True))
    assert steps_early < steps_late if num_hypotheses == 1 else steps_early <= steps_late


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


@pytest.mark.parametrize(
    ("eos_bonus", "limit", "beam_size", "stop"),
    [(50.0, 9, 4, "cannot_win"), (50.0, 9, 1, "beam_finished"), (-50.0, 3, 2, "limit")],
)
def test_a_search_says_why_it_stopped(eos_bonus: float, limit: int, beam_size: int, stop: str) -> None:
    assert states_of(ToyScorer([1], eos_bonus=eos_bonus), limit, options(beam_size))[-1].stop == stop


def test_a_search_stops_when_enough_hypotheses_have_finished_even_if_a_better_one_is_missed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Some of the searches that go on while anything is live end with a better translation, and none with a worse."""
    search, gains = options(2, length_penalty=2.0), list[float]()

    def only_at_the_limit(position, live, finished, limit, options):
        return "limit" if position >= limit or not live else None

    for seed in range(20):
        *before, last = states_of(ToyScorer([seed], 1.0), 9, search)
        assert all(len(state.finished) < 2 for state in before)
        if last.stop == "beam_finished":
            with monkeypatch.context() as patch:
                patch.setattr(beam, "_stop", only_at_the_limit)
                *_, whole = states_of(ToyScorer([seed], 1.0), 9, search)
            gains.append(whole.finished[0].score - last.finished[0].score)
    assert min(gains) == 0 < max(gains)
