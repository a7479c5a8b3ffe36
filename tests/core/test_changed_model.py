"""A change of `core.model` changes all that is shown: translations, scores, attention and every declared analysis."""

import argparse
import copy
import io
import re
from pathlib import Path
from typing import Any

import pytest
from torch import Tensor

from core import Translator
from core.analysis.corpus import head_description as description
from core.analysis.declaration import Analysis
from core.analysis.subject import NOTHING
from core.cli import commands as cli
from core.export.files import load_explanation
from core.formats.checkpoint import save_checkpoint
from core.images.line_reader import LineReader
from core.images.picture import line_image
from core.images.rendering import Style, render
from core.inference.cpu_inference import packable
from core.mask_predict_translation import mask_predict_states
from core.native import library
from core.parsing.parser import Parser
from core.results import Explanation, Translation
from core.speculative_translation import translate_speculatively, translate_with_draft
from core.text.tokenizer import SentencePieceTokenizer
from tests.changed_modules import CHANGES, FACTOR, change, change_weights
from tests.core.analysis.conftest import random_translator

SENTENCE = "Two children are playing with a red ball."


pytestmark = pytest.mark.usefixtures("short_translations")


def searches_otherwise(translator: Translator, changed: str) -> bool:
    """Whether the faster search has no such module: fused attention has no softmax, compiled layers have no module."""
    return changed == "softmax" or (library.library() is not None and packable(translator.model))


def maps_of(explanation: Explanation) -> list[Tensor]:
    return [layer.weights for layers in explanation.maps.values() for layer in layers]


def assert_other_maps(before: Explanation, after: Explanation) -> None:
    pairs = zip(maps_of(before), maps_of(after), strict=True)
    assert max(float((one - other).abs().max()) for one, other in pairs) > 1e-2


def assert_another(before: tuple[Translation, Explanation], after: tuple[Translation, Explanation]) -> None:
    """Other scores of a translation, and other maps of the same target."""
    assert after[0].log_prob != pytest.approx(before[0].log_prob, abs=1e-2)
    assert after[1].predicted_tokens == before[1].predicted_tokens
    assert after[1].log_probs != pytest.approx(before[1].log_probs, abs=1e-2)
    assert any(
        (one - other).abs().max() > 1e-2 for one, other in zip(*map(maps_of, (before[1], after[1])), strict=True)
    )


@pytest.mark.parametrize("changed", CHANGES)
def test_in_python(checkpoint_of_any_kind: Path, changed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    translator = Translator.from_checkpoint(checkpoint_of_any_kind, "cpu")
    translation = translator.translate(SENTENCE)
    target = translation.hypotheses[0].token_ids
    explanation, scored = translator.explain(SENTENCE, target), translator.score(SENTENCE, target)
    [in_batch] = translator.translate_batch([SENTENCE])
    assert in_batch.text == translation.text
    assert not translation.by_modules
    assert not in_batch.by_modules
    change(changed, monkeypatch)  # of a model that has been packed, if it can be
    after = translator.translate(SENTENCE)
    assert_another((translation, explanation), (after, translator.explain(SENTENCE, target)))
    assert translator.score(SENTENCE, target).log_prob != pytest.approx(scored.log_prob, abs=1e-2)
    [in_batch] = translator.translate_batch([SENTENCE])
    assert in_batch.text == after.text
    assert after.by_modules == in_batch.by_modules == searches_otherwise(translator, changed)
    for hypothesis in after.hypotheses:
        same = translator.score(SENTENCE, hypothesis.token_ids)
        assert hypothesis.token_log_probs == pytest.approx(same.token_log_probs, abs=1e-4)


@pytest.mark.parametrize("changed", CHANGES)
def test_on_the_command_line(
    checkpoint_of_any_kind: Path,
    changed: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def translated() -> str:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(f"{SENTENCE}\n".encode())))
        assert cli.main(["translate", "--checkpoint", str(checkpoint_of_any_kind)]) == 0
        return capsys.readouterr().out

    def explained(target: str) -> Explanation:
        path = tmp_path / "found.json"
        options = ["--checkpoint", str(checkpoint_of_any_kind), "--target", target, "--output", str(path)]
        assert cli.main(["explain", *options, "--text", SENTENCE]) == 0
        return load_explanation(path).explanation

    text = translated()
    before = explained(text.strip())
    change(changed, monkeypatch)
    assert translated() != text
    after = explained(text.strip())
    assert after.log_probs != pytest.approx(before.log_probs, abs=1e-2)
    assert_other_maps(before, after)


@pytest.mark.parametrize("changed", CHANGES)
def test_in_a_notebook(checkpoint_of_any_kind: Path, changed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    translator = Translator.from_checkpoint(checkpoint_of_any_kind, "cpu")

    def shown() -> tuple[list[dict[str, Any]], object]:
        view = translator.show(SENTENCE)
        return view.hypotheses.get_state()["_data"]["hypotheses"], view.heads.get_state()["_data"]["kinds"]

    (before, maps), _ = shown(), change(changed, monkeypatch)
    after, others = shown()
    assert after[0]["numbers"] != before[0]["numbers"]
    assert others != maps


@pytest.mark.parametrize("changed", CHANGES)
def test_searches_that_are_shown_step_by_step(
    tiny_checkpoint: Path, mask_predict_checkpoint: Path, changed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, at_once = (Translator.from_checkpoint(path, "cpu") for path in (tiny_checkpoint, mask_predict_checkpoint))

    def found() -> list[float]:
        return [
            list(model.search(SENTENCE, 2))[-1].candidates[0].log_prob,
            list(translate_speculatively(model, SENTENCE, model))[-1].hypothesis.log_prob,
            translate_with_draft(model, SENTENCE, model).log_prob,
            list(mask_predict_states(at_once, SENTENCE))[-1][0].hypothesis.log_prob,
            at_once.translate(SENTENCE).log_prob,
            at_once.translate_batch([SENTENCE])[0].log_prob,
        ]

    before, _ = found(), change(changed, monkeypatch)
    after = found()
    assert all(other != pytest.approx(one, abs=1e-2) for one, other in zip(before, after, strict=True))
    assert after[2] == pytest.approx(after[1], abs=1e-4)  # the same greedy search


@pytest.mark.parametrize("changed", CHANGES)
def test_trees_and_lines_of_text(
    tree_checkpoint: Path, line_checkpoint: Path, changed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    parser = Parser(Translator.from_checkpoint(tree_checkpoint, "cpu"))
    reader = LineReader(Translator.from_checkpoint(line_checkpoint, "cpu"))
    image = line_image(render("The sea", Style()), 24)

    def found() -> list[float]:
        words = "She sees a cat ."
        [in_batch] = parser.parse_batch([words])
        parse = parser.parse(words)
        assert (in_batch.tree, in_batch.log_prob) == (parse.tree, pytest.approx(parse.log_prob, abs=1e-4))
        return [parse.log_prob, reader.read(image).log_prob]

    before, _ = found(), change(changed, monkeypatch)
    assert all(other != pytest.approx(one, abs=1e-2) for one, other in zip(before, found(), strict=True))
    assert parser.parse("She sees a cat .").by_modules == searches_otherwise(parser.translator, changed)


# --- Every declared analysis ----------------------------------------------------------------------------------------

FILES = {
    "sentence": "The old house is cold.\n",
    "sentences": "The old house is cold.\nA dog runs.\nWhere is the sea?\n",
    "sample": "A dog.\nThe sea.\nA cat runs.\nIt is cold.\nWe see.\nA boat.\nShe reads.\nTwo men.\n",
    "translations": "Das alte Haus ist kalt.\nEin Hund.\nWo ist das Meer?\n",
    "pairs": "The old house is cold.\tDas alte Haus.\nA dog runs.\tEin Hund.\n",
    "links": "0-0 1-1 2-2\n0-0 1-1\n0-0 1-1\n",
}
VALUES = {  # of the options of every analysis
    "text": "The old house is cold.",
    "target": "Das alte Haus",
    "token": "2",
    "query": "3",
    "key": "2",
    "beam_size": "1",
    "input": "sentences",
}
OPTIONS: dict[str, dict[str, str]] = {  # of single ones
    "align": {"source": "sentences", "target": "translations", "gold": "links"},
    "attribute": {"methods": "gradient_x_input value_zeroing attention norms rollout alti"},
    "compare": {"input": "pairs", "samples": "20"},
    "cut": {"cut": "cross L2 H1 row 2 column 1"},
    "faithfulness": {"input": "sentence", "methods": "occlusion alti"},
    "lexicon": {"head": "L2 H1"},
    "pair": {"query": "target.2", "key": "source.1"},
    "patch": {"corrupted": "The old train is cold."},
    "paths": {"strongest": "2"},
    "score": {"input": "pairs"},
    "score-components": {"head": "cross L2 H1"},
    "sign-thresholds": {"input": "sample", "output": "thresholds"},
    "training-step": {"step": "1"},  # whose rate is so small that no weight changes by more than rounding
}
ANALYSES = {each.name: each for each in cli.ANALYSES if each.subject is not NOTHING}  # which have a model
AT_ONCE = {"without norms": ("softmax", "head", "feed-forward network"), "norms": ("norm",)}
# `step` has the formulas of the paper; the others split norms by their parameters
SPLITTING = ("attribute", "contributions", "faithfulness", "lexicon", "score-components")
REFUSED = {("step", each) for each in AT_ONCE} | {(each, "norms") for each in SPLITTING}
NUMBER = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, tokenizer: SentencePieceTokenizer) -> Path:
    """Files to analyse; checkpoints and histories of a model, as it is and with the weights of changed modules."""
    folder = tmp_path_factory.mktemp("analyses")
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    model = random_translator(tokenizer, num_encoder_layers=1, num_decoder_layers=2).model
    for name, changes in ({"plain": ()} | AT_ONCE).items():
        other = copy.deepcopy(model)
        for each in changes:
            change_weights(each, other)
        (folder / name / "history").mkdir(parents=True)
        save_checkpoint(folder / f"{name}.safetensors", other, tokenizer)
        for step in (0, 100):
            path = folder / name / "history" / f"step-{step:08d}.safetensors"
            save_checkpoint(path, other, tokenizer, {"preset": "tiny", "steps": step})
    return folder


def arguments_of(analysis: Analysis, model: str) -> list[str]:
    """Arguments of the command of an analysis of a model of `folder`."""
    parser = argparse.ArgumentParser()
    analysis.add_arguments(parser)
    models = {"checkpoint": f"{model}.safetensors", "other": f"{model}.safetensors", "history": model}
    values, arguments = {**VALUES, **models, **OPTIONS.get(analysis.name, {})}, [analysis.name]
    for action in parser._actions:
        if action.dest in values:
            value = values[action.dest]
            arguments += [action.option_strings[-1], *(value.split() if action.nargs and action.choices else [value])]
        assert action.dest in values or not action.required, f"give an example of --{action.dest} of {analysis.name}"
    return arguments


@pytest.mark.parametrize("name", ANALYSES)
def test_every_analysis_is_that_of_the_changed_model(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With another module, it prints what it prints of the unchanged one with weights that compute the same."""
    analysis = ANALYSES[name]
    monkeypatch.chdir(folder)
    if analysis is description.HEADS:  # random weights of changed modules would be others: always the same maps
        twin = description.random_twin(Translator.from_checkpoint("plain.safetensors"))
        assert twin
        by_chance = twin.explain(VALUES["text"], VALUES["target"])
        monkeypatch.setattr(twin, "explain", lambda *_: by_chance)
        monkeypatch.setattr(description, "random_twin", lambda _: twin)

    def printed(model: str) -> tuple[str, list[float]]:
        status = cli.main(arguments_of(analysis, model))
        text, errors = capsys.readouterr()
        assert status == 0, errors
        text = re.sub(r"&model=\w+", "", text)  # the digest of a checkpoint, in links to the app
        return NUMBER.sub("#", text), [float(each) for each in NUMBER.findall(text)]

    before = printed("plain")
    for changed, modules in AT_ONCE.items():
        with monkeypatch.context() as patch:
            for each in modules:
                change(each, patch)
            if (name, changed) in REFUSED:
                assert cli.main(arguments_of(analysis, "plain")) == 1
                assert re.search(
                    r": the analysis computes \S+, the model \S+, expected .* undo", capsys.readouterr().err
                )
                continue
            words, numbers = printed("plain")
        if name == "score-components" and "softmax" in modules:  # scores are what goes into the softmax
            numbers = [FACTOR * each for each in numbers]
        expected_words, expected = printed(changed)
        assert words == expected_words, changed
        assert numbers == pytest.approx(expected, rel=1e-3, abs=1e-4), changed
        assert words != before[0] or numbers != pytest.approx(before[1], rel=1e-2, abs=1e-3), changed
