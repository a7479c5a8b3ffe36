"""Searches with a forced beginning."""

import itertools
from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import pytest

from core.decoding import Beginning, Constraints, Forbidden, beam_search, beam_steps
from core.decoding.constraints import Surfaces
from core.text.tokenizer import Tokenizer
from tests.core.decoding.toy_scorer import BOS, EOS, PAD, WORDS, ToyScorer, all_endings, close, options


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
    scorer = ToyScorer([3])
    search = options(beam_size=64, length_penalty=length_penalty, num_hypotheses=64)
    everything = all_endings(scorer, 4, length_penalty, prefix)
    (found,) = beam_search(scorer, [4], search, prefixes=[prefix])
    ended = [hypothesis for hypothesis in found if hypothesis.finished]
    assert [hypothesis.token_ids for hypothesis in ended] == [ids for _, ids in everything]
    assert [hypothesis.score for hypothesis in ended] == pytest.approx([score for score, _ in everything], abs=1e-5)
    assert all(
        hypothesis.token_log_probs == pytest.approx(scorer.log_probs_of(0, hypothesis.token_ids), abs=1e-5)
        for hypothesis in found
    )


def spelled(*words: bytes) -> Surfaces:
    """A vocabulary whose words have these surfaces."""
    of_token = [b"", b"", b"", *words]
    tokenizer = SimpleNamespace(vocab_size=len(of_token), surface=of_token.__getitem__)
    return Surfaces(cast("Tokenizer", tokenizer))


@pytest.mark.parametrize("text", [b"ab", b"aba", b"abab"])
def test_behind_a_text_too_whatever_its_pieces(text: bytes) -> None:
    limit, scorer, surfaces = 4, ToyScorer([3]), spelled(b"a", b"ab", b"b")
    assert len(WORDS) == 3
    search = options(beam_size=64, length_penalty=0.6, num_hypotheses=64)
    spellings = {ids: b"".join(surfaces.of_token[each] for each in ids[:-1]) for _, ids in all_endings(scorer, limit)}
    endings = [ids for ids, spelling in spellings.items() if spelling.startswith(text)]
    (found,) = beam_search(scorer, [limit], search, prefixes=[Beginning((), text, surfaces)])
    ended = [hypothesis.token_ids for hypothesis in found if hypothesis.finished]
    assert ended == endings[: len(ended)]
    assert len(ended) == min(64, len(endings))
    ((greedy,),) = beam_search(scorer, [limit], options(beam_size=1), prefixes=[Beginning((), text, surfaces)])
    assert greedy.token_ids in endings or not greedy.finished


def test_a_text_is_refused_that_does_not_fit_or_that_the_constraints_forbid() -> None:
    surfaces = spelled(b"a", b"ab", b"b")
    beginning = Beginning((4,), b"abab", surfaces)  # two more tokens
    assert beginning.least_tokens == 3
    beam_search(ToyScorer([5]), [4], options(2), prefixes=[beginning])
    with pytest.raises(ValueError, match=r"the prefix has 3 tokens, which leaves no room for more: .* may have 3;"):
        beam_search(ToyScorer([5]), [3], options(2), prefixes=[beginning])
    limits = Constraints(forbidden=(Forbidden(3), Forbidden(4, 1)))
    with pytest.raises(ValueError, match="no token at position 2 goes on with the beginning 'abab': the constraints"):
        beam_search(ToyScorer([5]), [9], replace(options(2), constraints=limits), prefixes=[beginning])


def test_only_the_last_word_is_a_text() -> None:
    surfaces = spelled(b" Ein", b" Hun", b"d", b".")
    assert Beginning.of_text((3, 4, 5), surfaces, is_ended=False) == Beginning((3,), b" Hund")
    assert Beginning.of_text((3, 4, 5), surfaces, is_ended=True) == Beginning((3, 4, 5), b" ")
    assert Beginning.of_text((3, 1, 5), surfaces, is_ended=False) == Beginning((3, 1), b"d")  # behind `<unk>`
    ends = spelled(b"Ein ", b"Hun", b"d ")
    assert Beginning.of_text((3, 4), ends, is_ended=False) == Beginning((3,), b"Hun")
    assert Beginning.of_text((3, 4, 5), ends, is_ended=False) == Beginning((3,), b"Hund")
    assert Beginning.of_text((3, 4, 5), ends, is_ended=True) == Beginning((3, 4, 5), b"")
    assert Beginning.of_text((3, 4), surfaces, is_ended=False).complete((3, 4, 5, 6)) == (3, 4)
    assert Beginning.of_text((), surfaces, is_ended=True) == Beginning()


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
    log_probs = ToyScorer([2]).log_probs_of(0, (5, 5))
    for position, state in enumerate(states[:2], start=1):
        assert state.candidates[0].token_log_prob == pytest.approx(log_probs[position - 1], abs=1e-5)
        assert state.candidates[0].log_prob == pytest.approx(sum(log_probs[:position]), abs=1e-5)
    assert [state.position for state in states] == list(range(1, len(states) + 1))
    assert len(states[2].candidates) > 1


def test_a_certain_first_token_costs_nothing_and_the_next_forced_one_does() -> None:
    search = replace(options(3), first_is_certain=True)
    first, second = (
        state for (state,) in itertools.islice(beam_steps(ToyScorer([2]), [6], search, prefixes=[(5, 5)]), 2)
    )
    assert (first.candidates[0].token_log_prob, first.candidates[0].log_prob) == (0, 0)
    expected = ToyScorer([2]).log_probs_of(0, (5, 5))[1]
    assert second.candidates[0].log_prob == pytest.approx(expected, abs=1e-5)


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
