import random
from collections import Counter
from collections.abc import Sequence
from itertools import islice, pairwise

import pytest
import torch
from torch import Tensor

from core.analysis.interventions import cut_search
from core.analysis.interventions.cut_search import CutSearch, find_cuts, first_order_effects
from core.analysis.interventions.cuts import Cut, apply_cuts, cut_translator
from core.text.tokenizer import SentencePieceTokenizer
from core.trace import Head, Kind
from core.translator import Translator
from tests.core.analysis.conftest import SOURCE, random_translator


@pytest.fixture(scope="module")
def target(translator: Translator) -> tuple[int, ...]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("core.decoding.limits.MAX_EXTRA_TOKENS", 4)
        return translator.translate(SOURCE, 1).hypotheses[0].token_ids[:8]


def logits_of(translator: Translator, target: tuple[int, ...], position: int, cuts: tuple[Cut, ...]) -> Tensor:
    """Of the tokens that a search may generate; the others have -inf."""
    source, fed, _ = translator.token_ids(SOURCE, target)
    with cut_translator(translator, cuts) as model:
        logits = model(torch.tensor([source]), torch.tensor([fed]))[0, position]
    logits[list(translator.setup.options().excluded)] = -torch.inf
    return logits


def top_token(translator: Translator, target: tuple[int, ...], position: int, cuts: tuple[Cut, ...]) -> int:
    return int(logits_of(translator, target, position, cuts).argmax())


@pytest.mark.parametrize("kinds", [("cross",), ("encoder_self", "decoder_self", "cross")])
@pytest.mark.parametrize("renormalise", [True, False])
def test_the_cuts_change_the_token_and_none_can_be_left_out(
    translator: Translator, target: tuple[int, ...], kinds: tuple[Kind, ...], renormalise: bool
):
    changed = 0
    for position in (0, 7):
        states = list(find_cuts(translator, SOURCE, target, position, kinds, renormalise))
        if not states or not states[-1].is_minimal:
            continue
        changed += 1
        cuts = states[-1].cuts
        assert {cut.head.kind for cut in cuts} <= set(kinds)
        assert top_token(translator, target, position, cuts) == states[-1].winner != target[position]
        for index in range(len(cuts)):
            fewer = cuts[:index] + cuts[index + 1 :]
            assert top_token(translator, target, position, fewer) == target[position]
        margins = [state.margin for state in states if not state.has_changed]
        assert margins == sorted(margins, reverse=True)
        for state in states:
            logits = logits_of(translator, target, position, state.cuts)
            own = float(logits[target[position]])
            logits[target[position]] = -torch.inf
            assert state.margin == pytest.approx(own - float(logits.max()), abs=1e-4)
    assert changed


def test_the_winner_is_a_token_that_a_search_generates(
    tokenizer: SentencePieceTokenizer, translator: Translator, target: tuple[int, ...]
):
    *_, last = find_cuts(translator, SOURCE, target, 0)
    assert last.has_changed
    other = random_translator(tokenizer, never_ids=(last.winner,))
    for state in find_cuts(other, SOURCE, target, 0):
        assert state.winner == top_token(other, target, 0, state.cuts) != last.winner


def test_the_order_of_the_kinds_does_not_matter(translator: Translator, target: tuple[int, ...]):
    for position in (0, 7):
        kinds: tuple[Kind, ...] = ("encoder_self", "decoder_self", "cross")
        one, other = (next(find_cuts(translator, SOURCE, target, position, order)) for order in (kinds, kinds[::-1]))
        assert one.cuts == other.cuts


def test_with_any_margins_each_round_takes_the_best_cut_and_no_cut_is_left_that_is_not_needed(
    translator: Translator, target: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
):
    """Cuts that act together in any way: the margin under each set of them is a random number."""
    all_cuts = [Cut(Head("cross", 0, 0), range(row, row + 1), range(1)) for row in range(6)]
    generator, margins = random.Random(0), dict[frozenset[Cut], float]()
    taken_back, outcomes = 0, Counter[bool]()

    def margin(cuts: Sequence[Cut]) -> float:
        """Each cut lowers it on average, but one or two never change the token, as the search would find them first."""
        is_changed = len(cuts) > 2 and generator.random() < 0.2
        drawn = -generator.random() if is_changed else len(all_cuts) - len(cuts) + generator.uniform(0, 2)
        return margins.setdefault(frozenset(cuts), drawn)

    def candidates(cuts: Sequence[Cut], *_: object) -> list[Cut]:
        return [cut for cut in all_cuts if cut not in cuts]

    monkeypatch.setattr(
        cut_search._Goal, "measured", lambda _, tried: [CutSearch(tuple(cuts), margin(cuts), 0) for cuts in tried]
    )
    monkeypatch.setattr(cut_search._Goal, "candidates", lambda _, *state: candidates(*state))
    for _ in range(100):
        margins.clear()
        states = [
            CutSearch((), margin(()), 0),
            *islice(find_cuts(translator, SOURCE, target, 0), 2 * len(all_cuts) + 1),
        ]
        for before, state in pairwise(states):
            if state.is_minimal:
                assert (state.cuts, state.margin) == (before.cuts, before.margin)
            elif before.has_changed:
                assert state.margin == min(map(margin, without_one(before.cuts))) < 0
            else:
                assert state.margin == min(margin((*before.cuts, cut)) for cut in candidates(before.cuts))
                assert state.margin < before.margin
            assert state.margin == margin(state.cuts)
        last = states[-1]
        taken_back = max(taken_back, *(len(state.cuts) - len(last.cuts) for state in states))
        outcomes[last.is_minimal] += 1
        if last.is_minimal:
            assert all(margin(fewer) >= 0 for fewer in without_one(last.cuts))
        else:
            assert all(margin((*last.cuts, cut)) >= last.margin >= 0 for cut in candidates(last.cuts))
    assert outcomes[True]
    assert outcomes[False]
    assert taken_back > 1


def without_one(cuts: tuple[Cut, ...]) -> list[tuple[Cut, ...]]:
    return [cuts[:index] + cuts[index + 1 :] for index in range(len(cuts))]


@pytest.mark.parametrize("renormalise", [True, False])
def test_the_first_order_effects_by_finite_differences(renormalise: bool):
    """A small share of each weight is cut, and the output is a smooth function of the weights."""
    random = torch.Generator().manual_seed(4)
    weights = torch.rand(2, 3, 4, generator=random, dtype=torch.float64).softmax(-1)
    slope, step = torch.randn(2, 3, 4, generator=random, dtype=torch.float64), 1e-6
    found = first_order_effects(weights, slope, renormalise)
    for head in range(2):
        for row in range(3):
            for key in range(4):
                old = float(weights[head, row, key])
                cut = Cut(Head("cross", 0, head), range(row, row + 1), range(key, key + 1), 0.0, renormalise)
                whole = apply_cuts(weights[head], [cut], torch.ones(3, 4, dtype=torch.bool))
                part = weights[head] + step * (whole - weights[head])
                change = float(((part - weights[head]) * slope[head]).sum()) / step
                assert float(found[head, row, key]) == pytest.approx(change, abs=1e-6), old


def test_what_cannot_be_searched_is_refused(translator: Translator, target: tuple[int, ...]):
    with pytest.raises(ValueError, match="position 99 is not one of the 9 predicted tokens: give 0 to 8"):
        list(find_cuts(translator, SOURCE, target, 99))
    other = (target[0] + 1, *target[1:])
    with pytest.raises(ValueError, match="token 1 is not the most probable one here, so no cut is needed"):
        list(find_cuts(translator, SOURCE, other, 0))


def test_a_limit_ends_the_search(translator: Translator, target: tuple[int, ...]):
    for position in (1, 2):
        states = list(find_cuts(translator, SOURCE, target, position, max_cuts=1))
        assert all(len(state.cuts) <= 1 for state in states)
