"""Heads planted in a model are found, and in untrained models nothing is."""

import copy
from collections.abc import Iterator
from dataclasses import replace
from statistics import median

import pytest
import torch
from torch import Tensor

from core import PRESETS, Transformer, Translator
from core.analysis.alignment.first_head import cards_of
from core.analysis.corpus.behaviours import BEHAVIOURS
from core.analysis.discoveries import search
from core.analysis.discoveries.facts import Discoveries
from core.analysis.discoveries.search import LOT, SOUGHT, TWINS, Ruler, chance_limits, discover
from core.analysis.heads.ablation import gate_effect
from core.analysis.heads.gated_translation import translate_gated
from core.analysis.heads.head import attention_layers, head_matrices
from core.analysis.sample_sentences import EVERYDAY
from core.text.tokenizer import SentencePieceTokenizer
from core.trace import Edit, Head, attention_place, edit

SAMPLE = EVERYDAY[:6]
PREVIOUS, FIRST, WITHOUT_EFFECT = Head("encoder_self", 0, 1), Head("cross", 2, 3), Head("encoder_self", 1, 2)

pytestmark = pytest.mark.usefixtures("short_translations")


def planted(head: Head) -> Edit:
    """Attention to the token before, or in cross-attention to the first one."""

    def function(weights: Tensor) -> Tensor:
        queries = torch.arange(weights.size(-2))
        keys = torch.zeros_like(queries) if head.kind == "cross" else (queries - 1).clamp_min(0)
        own = weights.clone()
        own[:, head.head] = torch.nn.functional.one_hot(keys, weights.size(-1)).to(weights)
        return own

    return function


@pytest.fixture(scope="module")
def made(translator: Translator) -> Iterator[Translator]:
    """A model with three planted heads, of which one writes nothing."""
    model = copy.deepcopy(translator.model)
    head_matrices(attention_layers(model)["encoder_self", 1])[:, WITHOUT_EFFECT.head] = 0
    heads = PREVIOUS, FIRST, WITHOUT_EFFECT
    with edit(model, {attention_place(head.kind, head.layer, "weights"): planted(head) for head in heads}):
        yield Translator(model, translator.tokenizer)


@pytest.fixture(scope="module")
def states(made: Translator) -> list[Discoveries]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("core.decoding.limits.MAX_EXTRA_TOKENS", 4)
        return list(discover(made, SAMPLE))


def test_planted_heads_are_found_with_what_changes_without_them(states: list[Discoveries], made: Translator) -> None:
    assert [states[0].facts, states[-1].done] == [(), states[-1].total]
    facts = {fact.head: fact for fact in states[-1].facts}
    assert facts.keys() == {PREVIOUS, FIRST}
    assert (facts[FIRST].behaviour, facts[PREVIOUS].behaviour) == ("first", "previous")
    assert facts[FIRST].share == pytest.approx(1)
    assert all(fact.limit < fact.low <= fact.share <= fact.high for fact in facts.values())
    fact = facts[FIRST]  # the same by searches
    pairs = [[translate_gated(made, text, {FIRST: gate}, 1).token_ids for gate in (1.0, 0.0)] for text in SAMPLE]
    assert fact.changed == sum(before != after for before, after in pairs)
    before, after = (made.tokenizer.target.decode(ids) for ids in pairs[SAMPLE.index(fact.source)])
    assert (fact.before, fact.after) == (before, after)
    assert before != after
    effects = [gate_effect(made, text, ids, {FIRST: 0.0}) for text, (ids, _) in zip(SAMPLE, pairs, strict=True)]
    *_, last = states
    assert last.answer().startswith("2 heads do more of something than random weights, and change translations: most ")
    assert last.answer().endswith(f"without a head drawn by lot, {median(last.by_lot):g}, the median of {LOT}.")
    assert fact.change == pytest.approx(sum(each.change for each in effects) / len(SAMPLE), abs=1e-3)


@pytest.mark.parametrize("seed", [1001, 1002, 1003])
def test_an_untrained_model_yields_nothing(seed: int, tokenizer: SentencePieceTokenizer) -> None:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = Transformer(replace(PRESETS["tiny"], vocab_size=tokenizer.vocab_size)).eval()
    *_, found = discover(Translator(model, tokenizer), SAMPLE)
    assert found.facts == ()
    assert found.answer() == "No head does more of anything than random weights and changes a translation."


def test_shares_are_those_of_score_cards(translator: Translator) -> None:
    explained = translator.explain("A dog, a cat, and a dog.", "Ein Hund, eine Katze und ein Hund.").maps
    for found, card in zip(Ruler(explained).shares(explained).tolist(), cards_of([explained]), strict=True):
        expected = [BEHAVIOURS[key].score(card) for key in SOUGHT]
        distance = SOUGHT.index("distance")
        if abs(card.offset) < 2 and not found[distance]:  # or as often at a larger one
            expected[distance] = 0
        assert found == pytest.approx(expected, abs=1e-5, nan_ok=True)


def test_one_model_of_a_hundred_exceeds_a_limit() -> None:
    """Largest shares of many kinds and behaviours, skewed as maxima are; one is not defined."""
    generator, exceeding = torch.Generator().manual_seed(0), 0
    for _ in range(50):
        shares = torch.rand(TWINS + 40, 3, 8, 16, generator=generator).pow(8).amax(-1)
        shares[:, 0, 7] = torch.nan
        exceeding += int((shares[TWINS:] > chance_limits(shares[:TWINS])).flatten(1).any(1).sum())
    assert 0 < exceeding <= 0.05 * 50 * 40


def test_what_cannot_be_searched_is_refused(made: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="sentence 2: there is nothing to translate"):
        next(discover(made, ["A dog.", " "]))
    monkeypatch.setattr(search, "random_twin", lambda *_: None)
    with pytest.raises(ValueError, match="too large to be compared with random weights: look into a smaller one"):
        list(discover(made, SAMPLE[:1]))
