"""Heads that tell the sentences of a pair apart, and heads that do not, made so."""

import copy

import pytest
import torch

from core.analysis.heads.head import attention_layers
from core.analysis.interventions.control_pairs import PAIRS, Control, ControlPair, Side, control, pair_for
from core.analysis.interventions.minimal_pairs import first_proposal, minimal_pairs
from core.analysis.tokens.words import spelled_words
from core.files.shipped_files import shipped_checkpoint
from core.trace import Head, record
from core.translator import Translator

PAIR = ControlPair(("The dog ran as it was old.", "The dog ran as it was wet."), 4, 1)
HEAD = Head("encoder_self", 0, 1)


def made(translator: Translator, on_key: float, on_changed: float) -> Translator:
    """The model with a head that has these scores on "dog" and on "wet", and 0 on all other tokens, in every row."""
    made, inputs, scores = Translator(copy.deepcopy(translator.model), translator.tokenizer), list[torch.Tensor](), []
    for ids in (made.token_ids(text, "").source for text in PAIR.texts):
        with made.inspect() as model, record(model, ["encoder.input"]) as recorded:
            model.encode(made.batch([ids]))
        inputs.append(recorded["encoder.input"][0])
        score = torch.zeros(len(ids), 1)
        for group, word in spelled_words(made.codec.source_pieces(ids)):
            score[group.start : group.stop] = {"dog": on_key, "wet": on_changed}.get(word, 0)
        scores.append(score)
    attention, d_k = attention_layers(made.model)[HEAD[:2]], made.config.encoder_heads.d_k
    first = HEAD.head * d_k
    for projection in (attention.q_proj, attention.k_proj):
        projection.weight[first : first + d_k], projection.bias[first : first + d_k] = 0, 0
    attention.k_proj.weight[first] = torch.linalg.pinv(torch.cat(inputs)).matmul(torch.cat(scores))[:, 0]
    attention.q_proj.bias[first] = d_k**0.5
    return made


@pytest.mark.parametrize(("scores", "weights"), [((20, 40), (1, 0)), ((20, 0), (1, 1))])
def test_a_head_that_follows_the_deciding_word_tells_the_sentences_apart(
    translator: Translator, scores: tuple[float, float], weights: tuple[float, float]
) -> None:
    found = control(made(translator, *scores), HEAD, PAIR)
    assert [each.weight for each in found.sides] == pytest.approx(weights, abs=1e-3)
    assert [each.changed for each in found.sides] == ["old", "wet"]
    assert found.tells_apart == (weights[1] == 0)
    assert ("does not tell" in found.answer()) != found.tells_apart


@pytest.mark.parametrize("head", [Head("encoder_self", 1, 0), Head("cross", 1, 0)], ids=str)
def test_the_translations_without_a_head_are_those_of_a_model_that_does_not_read_it(
    translator: Translator, head: Head
) -> None:
    without, found = Translator(copy.deepcopy(translator.model), translator.tokenizer), control(translator, head, PAIR)
    attention_layers(without.model)[head[:2]].out_proj.weight[:, : translator.config.encoder_heads.d_v] = 0
    for text, side in zip(PAIR.texts, found.sides, strict=True):
        assert (side.translation, side.without) == (translator.translate(text).text, without.translate(text).text)


def test_words_that_change_are_named_themselves() -> None:
    sides = Side("never", "never", 0.9, "", ""), Side("often", "often", 0.85, "", "x")
    assert Control(HEAD, sides).answer() == (
        "L1 H2 gives \u201cnever\u201d 0.90 and \u201coften\u201d 0.85: it does not tell them apart. Without it, the "
        "translation with \u201coften\u201d changes, the other one stays."
    )


def test_two_pairs_of_each_phenomenon_can_be_patched_and_are_proposed_first() -> None:
    shipped = Translator.from_checkpoint(shipped_checkpoint())
    for name, pairs in PAIRS.items():
        proposed = [minimal_pairs(shipped, pair.texts[0]) for pair in pairs]
        firsts = [(each[0].contrast, first_proposal(each)) for each in proposed]
        assert len({*firsts} & {(name, pair.texts[1]) for pair in pairs}) >= 2
    words = PAIRS["coreference"][0].texts[0].split()
    assert [words[place] for place in PAIRS["coreference"][0][1:]] == ["it", "animal"]


def test_a_link_has_the_pair_of_its_sentence_or_of_its_phenomenon() -> None:
    one, two = PAIRS["coreference"][1].texts
    assert pair_for("encoder_self", two, (6, "it"), (4, "milk")) == ControlPair((two, one), 6, 4)
    assert pair_for("encoder_self", "Her dog ran.", (0, "Her"), (1, "dog")) == PAIRS["coreference"][0]
    assert pair_for("cross", "It is not here.", (0, "nicht"), (2, "not")) == PAIRS["negation"][0]
    assert pair_for("cross", "It is here.", (0, "es"), (0, "It")) is None


@pytest.mark.parametrize(
    ("head", "second", "message"),
    [
        (Head("decoder_self", 0, 0), PAIR.texts[1], "decoder L1 H1 reads the translation: a pair of sentences needs"),
        (HEAD, "The dog ran.", "the sentences have 7 and 3 words: change words, but not their number"),
        (HEAD, "The dog ran as it was old!", "both sentences have the same words: change a word of the second one"),
    ],
)
def test_what_cannot_be_compared_is_refused(translator: Translator, head: Head, second: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        control(translator, head, ControlPair((PAIR.texts[0], second), 4, 1))
