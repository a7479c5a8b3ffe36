import pytest
import torch

from core.analysis.heads.head import Head
from core.analysis.interventions.cut_search import find_cuts, first_order_effects
from core.analysis.interventions.cuts import Cut, apply_cuts, cut_translator
from core.capture import Kind
from core.translator import Translator
from tests.core.analysis.conftest import SOURCE


@pytest.fixture(scope="module")
def target(translator: Translator) -> tuple[int, ...]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("core.text_codec.MAX_EXTRA_TOKENS", 4)
        return translator.translate(SOURCE, 1).hypotheses[0].token_ids[:8]


def top_token(translator: Translator, target: tuple[int, ...], position: int, cuts: tuple[Cut, ...]) -> int:
    source, fed, _ = translator.token_ids(SOURCE, target)
    with cut_translator(translator, cuts) as model:
        return int(model(torch.tensor([source]), torch.tensor([fed]))[0, position].argmax())


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
    assert changed


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
