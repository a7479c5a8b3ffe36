from dataclasses import replace

import pytest
import torch

from core.analysis.heads.gating import gated
from core.analysis.interventions.cut_translation import translate_cut
from core.analysis.interventions.cuts import Cut, apply_cuts, cut_effect, cut_translator, parse_cut
from core.capture import attention_path, capture_attention, full_mask
from core.text.tokenizer import SentencePieceTokenizer
from core.trace import Head
from core.translator import Translator
from tests.core.analysis.conftest import SOURCE, TARGET, random_translator
from tests.core.tiny_models import LIKE_T5
from tests.margins import assert_equal_to_rounding

HEAD = Head("cross", 1, 2)
WEIGHTS = torch.tensor([[0.5, 0.3, 0.2], [0.1, 0.0, 0.9]])
ALL = torch.ones(2, 3, dtype=torch.bool)


@pytest.mark.parametrize(
    ("cuts", "expected"),
    [
        ([Cut(HEAD, range(1), range(1))], [[0.0, 0.3, 0.2], [0.1, 0.0, 0.9]]),
        ([Cut(HEAD, range(1), range(1), 0.0, True)], [[0.0, 0.6, 0.4], [0.1, 0.0, 0.9]]),
        ([Cut(HEAD, range(1), range(1), 0.25, True)], [[0.25, 0.45, 0.3], [0.1, 0.0, 0.9]]),
        ([Cut(HEAD, keys=range(2, 3))], [[0.5, 0.3, 0.0], [0.1, 0.0, 0.0]]),
        ([Cut(HEAD, range(1, 2))], [[0.5, 0.3, 0.2], [0.0, 0.0, 0.0]]),
        ([Cut(HEAD, range(1), range(2), 0.4)], [[0.25, 0.15, 0.2], [0.1, 0.0, 0.9]]),  # in their old proportion
        ([Cut(HEAD, range(1, 2), range(1, 2), 0.5, True)], [[0.5, 0.3, 0.2], [0.05, 0.5, 0.45]]),  # from 0
        ([Cut(HEAD, range(1), range(1), 0.0, True), Cut(HEAD, range(1), range(1, 2))], [[0, 0, 1.0], [0.1, 0, 0.9]]),
        ([Cut(HEAD, range(1), None, 0.0, True)], [[0.0, 0.0, 0.0], [0.1, 0.0, 0.9]]),  # nothing is left to scale
        ([Cut(HEAD)], [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]),
        ([Cut(HEAD, range(1), range(9, 10))], [[0.5, 0.3, 0.2], [0.1, 0.0, 0.9]]),  # beyond a pass
    ],
)
def test_weights_are_set(cuts: list[Cut], expected: list[list[float]]):
    assert torch.allclose(apply_cuts(WEIGHTS, cuts, ALL), torch.tensor(expected))


def test_cuts_to_zero_with_the_rest_scaled_are_masks_before_the_softmax():
    """The attention knockout of Geva et al. 2023: scores of minus infinity."""
    scores, head = torch.randn(1, 3, 6, generator=torch.Generator().manual_seed(0)), Head("cross", 0, 0)
    masked = scores.clone()
    masked[0, 1, 2:4] = masked[0, 2, :] = -torch.inf
    masked[0, 2, 5] = 0
    cuts = [Cut(head, range(1, 2), range(2, 4), renormalise=True), Cut(head, range(2, 3), range(5), renormalise=True)]
    visible = torch.ones(3, 6, dtype=torch.bool)
    assert torch.allclose(apply_cuts(scores.softmax(-1), cuts, visible), masked.softmax(-1), atol=1e-6)
    unscaled = apply_cuts(scores.softmax(-1), [replace(cut, renormalise=False) for cut in cuts], visible)
    assert (unscaled.sum(-1)[0, 1:] < 0.99).all()


def test_keys_that_are_masked_stay_zero():
    weights = torch.tensor([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.2, 0.3, 0.5]])
    visible = full_mask("decoder_self", 3, 3)
    found = apply_cuts(weights, [Cut(HEAD, None, range(1, 3), 0.6, True)], visible)
    assert torch.allclose(found, torch.tensor([[1.0, 0.0, 0.0], [0.4, 0.6, 0.0], [0.4, 0.225, 0.375]]))


def test_the_rest_of_the_pass_is_computed_again(post_or_pre: Translator):
    """The same by replacing the weights where they are captured."""
    cuts = [Cut(HEAD, range(2, 4), range(1, 2), 0.3, True), Cut(Head("encoder_self", 0, 1), None, range(3))]
    found = cut_effect(post_or_pre, SOURCE, TARGET, cuts)
    before = found.before.maps

    def replaced(path: str, weights: torch.Tensor) -> torch.Tensor | None:
        for cut in cuts:
            if path == attention_path(cut.head.kind, cut.head.layer):
                weights = weights.clone()
                for row in range(weights.size(2)) if cut.rows is None else cut.rows:
                    line = weights[0, cut.head.head, row]
                    if cut.value:
                        line *= (1 - cut.value) / (1 - line[1])
                        line[1] = cut.value
                    else:
                        line[:3] = 0
                return weights
        return None

    source, fed, predicted = post_or_pre.token_ids(SOURCE, TARGET)
    with post_or_pre.inspect() as model, capture_attention(model, replaced) as maps:
        logits = model(torch.tensor([source]), torch.tensor([fed]))[0]
    expected = logits.log_softmax(-1).gather(1, torch.tensor(predicted)[:, None]).squeeze(1)
    assert found.after.log_probs == pytest.approx(expected.tolist(), abs=1e-5)
    assert torch.allclose(found.after.maps["cross"][1].weights, maps["decoder.layers.1.cross_attention"][0], atol=1e-6)
    assert torch.equal(found.before.maps["encoder_self"][0].weights[0], before["encoder_self"][0].weights[0])
    assert found.change == pytest.approx(sum(found.after.log_probs) - sum(found.before.log_probs))


def test_a_whole_head_is_the_gate_of_zero(post_or_pre: Translator):
    with gated(post_or_pre, {HEAD: 0.0}):
        expected = post_or_pre.explain(SOURCE, TARGET).log_probs
    assert cut_effect(post_or_pre, SOURCE, TARGET, [Cut(HEAD)]).after.log_probs == pytest.approx(expected, abs=1e-6)


def test_rows_of_a_batch_have_their_own_cuts(translator: Translator):
    cuts = [[Cut(HEAD, range(1, 2), range(2, 3))], [], [Cut(Head("decoder_self", 0, 0), None, range(1), 0.5, True)]]
    source, fed, predicted = translator.token_ids(SOURCE, TARGET)
    with cut_translator(translator, *cuts) as model:
        logits = model(torch.tensor([source] * 3), torch.tensor([fed] * 3))
    log_probs = logits.log_softmax(-1).gather(2, torch.tensor(predicted)[None, :, None].expand(3, -1, 1)).squeeze(2)
    for row, of_row in enumerate(cuts):
        expected = cut_effect(translator, SOURCE, TARGET, of_row).after.log_probs
        assert_equal_to_rounding(log_probs[row], expected, translator.model)


@pytest.mark.parametrize("changes", [{}, LIKE_T5])
@pytest.mark.usefixtures("short_translations")
def test_a_translation_without_cuts_is_the_models_own(tokenizer: SentencePieceTokenizer, changes: dict[str, object]):
    other, calls = random_translator(tokenizer, **changes), list[tuple[int, int]]()
    found = translate_cut(other, "A dog runs.", [], 3, progress=lambda *call: calls.append(call))
    own = other.translate("A dog runs.", 3).hypotheses[0]
    assert found.token_ids == own.token_ids
    assert found.log_prob == pytest.approx(own.log_prob, abs=1e-4)
    assert calls[0][0] == 1


@pytest.mark.usefixtures("short_translations")
def test_a_translation_under_cuts_is_the_best_under_them(translator: Translator):
    cuts = [Cut(Head("cross", layer, head)) for layer in (1, 2) for head in range(4)]
    found = translate_cut(translator, "A dog runs.", cuts, 1)
    effect = cut_effect(translator, "A dog runs.", found.token_ids, cuts)
    assert effect.after.log_probs[: len(found.token_ids)] == pytest.approx(found.token_log_probs, abs=1e-4)
    assert found.log_prob != pytest.approx(translator.translate("A dog runs.", 1).log_prob, abs=0.1)


@pytest.mark.parametrize(
    "cut",
    [
        Cut(HEAD),
        Cut(HEAD, range(3, 4), range(1, 2)),
        Cut(HEAD, range(3, 6), None, 0.25, True),
        Cut(Head("encoder_self", 0, 9), None, range(4), 1.0),
        Cut(Head("decoder_self", 11, 0), range(99, 100), range(9, 12), 0.0, True),
    ],
)
def test_a_name_is_parsed_to_the_same_cut(cut: Cut):
    assert parse_cut(str(cut)) == cut


def test_names_count_from_one():
    assert str(Cut(HEAD, range(3, 4), range(1, 3), 0.5, True)) == "cross L2 H3 row 4 column 2-3 to 0.5 rest"


@pytest.mark.parametrize("name", ["", "cross", "cross L0 H1", "cross L1 H1 row 0", "cross L1 H1 to x", "<b>"])
def test_other_names_are_refused(name: str):
    with pytest.raises(ValueError, match="is not a cut: expected a head with a row and a column, counted from 1"):
        parse_cut(name)


@pytest.mark.parametrize("name", ["cross L1 H1 to 1.5", "cross L1 H1 row 4-3"])
def test_values_and_ranges_that_cannot_be_are_refused(name: str):
    with pytest.raises(ValueError, match=r"expected a number from 0 to 1|expected positions from 0 on, at least one"):
        parse_cut(name)


def test_a_cut_of_another_model_or_sentence_is_refused(translator: Translator):
    with pytest.raises(ValueError, match="this model has no head cross L9 H1"):
        cut_effect(translator, "A dog.", "Ein Hund.", [Cut(Head("cross", 8, 0))])
    with pytest.raises(ValueError, match=r"has column 99, but cross L2 H3 has \d+ columns in this sentence: remove"):
        cut_effect(translator, "A dog.", "Ein Hund.", [Cut(HEAD, None, range(98, 99))])


def test_the_gap_is_between_the_weights_and_their_numbers(translator: Translator):
    cuts = [Cut(HEAD, range(2, 4), range(1, 3), 0.3, True), Cut(Head("decoder_self", 0, 0), None, range(2, 3))]
    effect = cut_effect(translator, SOURCE, TARGET, cuts)
    assert effect.gap(cuts) < 1e-6
    assert effect.gap([Cut(HEAD, range(2, 4), range(1, 3), 0.5)]) == pytest.approx(0.2, abs=1e-6)
    assert effect.gap([Cut(HEAD, range(2, 4), range(1, 3), 0.5), *cuts]) < 1e-6  # a later cut has set the weights
