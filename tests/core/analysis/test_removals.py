"""What a prediction rests on: in a model in which one head alone writes, and beside models that lack a layer."""

import copy
import math
import re
from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from core.analysis.heads.ablation import gate_effect, head_removals
from core.analysis.heads.head import attention_layers
from core.analysis.interventions.cuts import Cut, cut_effect
from core.analysis.lens.layer_removals import layer_removals
from core.analysis.removals import Removals
from core.files.shipped_files import shipped_checkpoint
from core.text.tokenizer import SentencePieceTokenizer
from core.trace import Head
from core.translator import Translator
from tests.core.analysis.conftest import SOURCE, TARGET, random_translator

HEAD = Head("cross", 1, 2)


def test_only_the_head_that_writes_has_an_effect_and_those_drawn_by_lot_have_none(
    tokenizer: SentencePieceTokenizer,
) -> None:
    translator = random_translator(tokenizer)
    for place, module in attention_layers(translator.model).items():
        columns = module.out_proj.weight.unflatten(1, (module.num_heads, -1))
        columns[:, [head for head in range(module.num_heads) if (*place, head) != HEAD]] = 0
    found = head_removals(translator, SOURCE, TARGET, 2)
    pairs = zip(found.parts, found.after, strict=True)
    assert [part for part, after in pairs if after != pytest.approx(found.before, rel=1e-4)] == [HEAD.title]
    effect = gate_effect(translator, SOURCE, TARGET, {HEAD: 0.0}, draws=5)
    cut = cut_effect(translator, SOURCE, TARGET, [Cut(HEAD)])
    assert cut.change == pytest.approx(effect.change, abs=1e-4)
    assert cut.drawn == pytest.approx([0] * 3, abs=1e-4)
    assert abs(cut.change) > 0.01
    assert {min(abs(each), abs(each - effect.change)) < 1e-4 for each in effect.drawn} == {True}
    assert "nats); with the same cuts in another head of the layer, 100%, the median of 3." in cut.answer()
    says = "With these heads changed, 25% of .* left .*; with as many drawn by lot, 100%, the median of 3 draws."
    assert re.fullmatch(says, replace(effect, changes=(math.log(0.25),), drawn=(-9.0, 0.0, 0.0)).answer())


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_a_layer_left_out_is_one_that_the_model_lacks(tokenizer: SentencePieceTokenizer, norm: str) -> None:
    translator = random_translator(tokenizer, norm=norm)
    source, fed, predicted = translator.token_ids(SOURCE, TARGET)
    expected = dict[str, float]()
    for stack in ("encoder", "decoder"):
        for layer in range(len(getattr(translator.model, stack).layers)):
            model = copy.deepcopy(translator.model)
            del getattr(model, stack).layers[layer]
            with torch.inference_mode():
                logits = model(torch.tensor([source]), torch.tensor([fed]))[0, 4]
            expected[f"{stack.capitalize()} L{layer + 1}"] = float(logits.softmax(-1)[predicted[4]])
    found = layer_removals(translator, SOURCE, TARGET, 4)
    assert found.instead == ""  # as the token is not the most probable one
    assert dict(zip(found.parts, found.after, strict=True)) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("removals", [head_removals, layer_removals])
def test_a_part_decides_if_another_token_is_the_most_probable_without_it(removals: Callable[..., Removals]) -> None:
    translator = Translator.from_checkpoint(shipped_checkpoint())
    source = "The man is feeding the horse because it is too old."
    best = translator.translate(source).hypotheses[0]
    position = best.tokens.index("\u2581es")
    found = removals(translator, source, best.token_ids, position)
    assert found.decisive == found.after.index(min(found.after))
    assert f"and \u201c{found.instead}\u201d is the most probable" in found.answer()
    assert found.instead != "es"
