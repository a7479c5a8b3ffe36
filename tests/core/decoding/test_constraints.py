"""A minimum length and forbidden tokens, against enumeration over a small vocabulary."""

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core import decoding
from core.native import library as native
from core.text.tokenizer import SentencePieceTokenizer
from tests.core.decoding.test_speculative import Chain
from tests.core.decoding.toy_scorer import EOS, VOCAB_SIZE, WORDS, ToyScorer, all_endings, close, options

LIMIT = 3
somewhere = st.builds(decoding.Forbidden, st.sampled_from((*WORDS, EOS)), st.one_of(st.none(), st.integers(0, LIMIT)))
constraints = st.builds(
    lambda min_length, forbidden: decoding.Constraints(min_length=min_length, forbidden=tuple(forbidden)),
    st.integers(0, LIMIT - 1),
    st.lists(somewhere, max_size=2),
)


def constrained(own: decoding.Constraints, **sizes: int) -> decoding.SearchOptions:
    return replace(options(**sizes), constraints=own)


def complies(token_ids: tuple[int, ...], own: decoding.Constraints) -> bool:
    """Whether a translation may be written, a token at a time."""
    return all(
        (token_id, None) not in own.forbidden
        and (token_id, position) not in own.forbidden
        and not (token_id == EOS and position < own.min_length)
        for position, token_id in enumerate(token_ids)
    )


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), constraints)
def test_a_wide_beam_finds_all_that_comply_with_the_model_s_log_probs(seed: int, own: decoding.Constraints) -> None:
    scorer = ToyScorer([seed])
    expected = [(score, ids) for score, ids in all_endings(scorer, LIMIT) if complies(ids, own)]
    (found,) = decoding.beam_search(scorer, [LIMIT], constrained(own, beam_size=64, num_hypotheses=64))
    finished = [hypothesis for hypothesis in found if hypothesis.finished]
    assert [hypothesis.token_ids for hypothesis in finished] == [ids for _, ids in expected]
    assert [hypothesis.score for hypothesis in finished] == pytest.approx([score for score, _ in expected], abs=1e-5)
    assert all(complies(hypothesis.token_ids, own) for hypothesis in found)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), constraints, st.integers(1, 4))
def test_all_searches_comply_alike(seed: int, own: decoding.Constraints, draft_tokens: int) -> None:
    limits, search = [LIMIT, 8, 5], constrained(own, beam_size=1)
    greedy = decoding.greedy_search(ToyScorer([seed, seed + 1, seed + 2]), limits, search)
    beam = decoding.beam_search(ToyScorer([seed, seed + 1, seed + 2]), limits, search)
    assert [each.token_ids for each in greedy] == [best.token_ids for (best,) in beam]
    for number, (limit, alone) in enumerate(zip(limits, greedy, strict=True)):
        chain = Chain(seed + number, 0.0), Chain(seed + number, 0.0, 0.5)
        *_, last = decoding.speculative_steps(*chain, limit, search, draft_tokens)
        assert last.hypothesis.token_ids == alone.token_ids
        assert complies(alone.token_ids, own)


@pytest.mark.parametrize("beam_size", [1, 3])
def test_the_compiled_search_complies_like_the_general_one(beam_size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    own = decoding.Constraints(min_length=4, forbidden=(decoding.Forbidden(3), decoding.Forbidden(4, 1)))
    search = constrained(own, beam_size=beam_size, num_hypotheses=beam_size)
    compiled = decoding.beam_search(ToyScorer([1, 2, 3]), [9, 7, 8], search)
    monkeypatch.setattr(native, "library", lambda: None)
    general = decoding.beam_search(ToyScorer([1, 2, 3]), [9, 7, 8], search)
    assert all(close(one, other) for one, other in zip(compiled, general, strict=True))


def test_a_prefix_complies_too() -> None:
    search = constrained(decoding.Constraints(min_length=2, forbidden=(decoding.Forbidden(4, 1),)), beam_size=2)
    (found,) = decoding.beam_search(ToyScorer([5]), [6], search, prefixes=[(4, 3)])
    assert found[0].token_ids[:2] == (4, 3)
    for prefix in ((3, 4), (3, EOS)):
        with pytest.raises(ValueError, match=rf"^token 2 of the prefix is {prefix[1]}, which the constraints forbid"):
            decoding.beam_search(ToyScorer([5]), [6], search, prefixes=[prefix])


def test_constraints_that_leave_nothing_are_refused() -> None:
    for search in (decoding.greedy_search, decoding.beam_search):
        with pytest.raises(ValueError, match=r"^min_length \(6\) leaves no room for the end: .* have 6 tokens with it"):
            search(ToyScorer([5]), [9, 6], constrained(decoding.Constraints(min_length=6)))
        everything = tuple(decoding.Forbidden(token_id, 1) for token_id in range(VOCAB_SIZE))
        with pytest.raises(ValueError, match=r"^every token is forbidden at position 2: allow one$"):
            search(ToyScorer([5], -50), [6], constrained(decoding.Constraints(forbidden=everything)))
    with pytest.raises(ValueError, match=r"^min_length \(9\) leaves no room for the end"):
        next(
            decoding.speculative_steps(
                Chain(0, 0.0), Chain(0, 0.0), 9, constrained(decoding.Constraints(min_length=9), beam_size=1)
            )
        )


@pytest.mark.parametrize("length", [-1, True, 2.0])
def test_values_are_checked(length: int) -> None:
    with pytest.raises(ValueError, match=rf"^min_length \({length}\) must be an integer from 0 to 10.15$"):
        decoding.Constraints(min_length=length)
    for wrong in (decoding.Forbidden(-1), decoding.Forbidden(3, -1)):
        with pytest.raises(
            ValueError, match=rf"^the forbidden token {wrong.token_id} at position .* from 0 on, or None"
        ):
            decoding.Constraints(forbidden=(wrong,))


def test_a_token_is_named_by_its_piece_or_its_text(tokenizer: SentencePieceTokenizer) -> None:
    word = next(each for each in range(4, tokenizer.vocab_size) if tokenizer.encode(tokenizer.decode([each])) == [each])
    name = tokenizer.decode([word])
    assert decoding.forbidden_token(name, tokenizer) == decoding.Forbidden(word)
    assert decoding.forbidden_token(f"12:{name}", tokenizer) == decoding.Forbidden(word, 11)
    inside = next(
        each
        for each in range(tokenizer.vocab_size)
        if not tokenizer.piece(each).startswith(("\u2581", "<")) and len(tokenizer.encode(tokenizer.piece(each))) > 1
    )
    assert decoding.forbidden_token(tokenizer.piece(inside), tokenizer) == decoding.Forbidden(inside)
    several = "a dog, a cat"
    count = len(tokenizer.encode(several))
    with pytest.raises(ValueError, match=rf"^'{re.escape(several)}' has {count} tokens .* give one of them$"):
        decoding.forbidden_token(several, tokenizer)
