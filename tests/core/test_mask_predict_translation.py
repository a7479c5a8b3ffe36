"""Translation with a model without causal mask."""

from pathlib import Path

import pytest
import torch

from core.capture import capture_attention
from core.cli.commands import main
from core.decoding.limits import MAX_EXTRA_TOKENS
from core.export import load_explanation
from core.mask_predict_translation import explain_iteration, mask_predict_states
from core.translator import Translator

SENTENCE = "A dog runs through the green grass."
SENTENCES = [SENTENCE, "Where is the nearest station?", "Nobody knows."]


@pytest.fixture(scope="module")
def translator(mask_predict_checkpoint: Path) -> Translator:
    return Translator.from_checkpoint(mask_predict_checkpoint, "cpu")


def test_one_hypothesis_for_each_length_best_score_first(translator: Translator) -> None:
    translation = translator.translate(SENTENCE, beam_size=3)
    lengths = [len(hypothesis.token_ids) for hypothesis in translation.hypotheses]
    assert len(set(lengths)) == 3
    scores = [hypothesis.score for hypothesis in translation.hypotheses]
    assert scores == sorted(scores, reverse=True)
    for hypothesis in translation.hypotheses:
        assert hypothesis.finished
        assert not {0, 1, 2, 3} & {*hypothesis.token_ids[:-1]}
        assert 2 <= len(hypothesis.token_ids) <= len(translation.source_tokens) + MAX_EXTRA_TOKENS
    states = [state for step in mask_predict_states(translator, SENTENCE, length_candidates=3) for state in step]
    last = {state.candidate: state.token_ids for state in states}
    assert {hypothesis.token_ids for hypothesis in translation.hypotheses} == set(last.values())
    assert translator.translate(SENTENCE, 3, num_hypotheses=1).hypotheses == translation.hypotheses[:1]


def test_a_batch_is_translated_as_each_sentence(translator: Translator) -> None:
    found = translator.translate_batch(SENTENCES, beam_size=2, iterations=3)
    for sentence, translation in zip(SENTENCES, found, strict=True):
        (alone,) = translator.translate(sentence, beam_size=2, num_hypotheses=1, iterations=3).hypotheses
        assert translation.hypotheses[0].token_ids == alone.token_ids
        assert translation.hypotheses[0].score == pytest.approx(alone.score, abs=1e-5)


@torch.inference_mode()
def test_the_first_iteration_predicts_every_token_from_the_masked_target(translator: Translator) -> None:
    (first,), *_ = mask_predict_states(translator, SENTENCE, length_candidates=1)
    source = translator.batch([translator.codec.source_ids(SENTENCE)])
    logits = translator.model(source, torch.tensor([first.fed_ids]))[0]
    logits[:, [0, 1, 2, 3]] = -torch.inf
    assert logits.argmax(-1)[:-1].tolist() == [*first.token_ids[:-1]]
    log_probs = translator.model.length_logits(translator.model.encode(source), translator.model.source_mask(source))
    shortest = 2 + MAX_EXTRA_TOKENS - source.size(1)  # class of a token and `</s>`
    best = shortest + int(log_probs[0, shortest:].argmax())
    assert first.length.tokens == source.size(1) + best - MAX_EXTRA_TOKENS
    assert first.length.log_prob == pytest.approx(float(log_probs[0].log_softmax(-1)[best]), abs=1e-5)


@torch.inference_mode()
def test_the_explanation_is_of_the_last_iteration_under_the_models_own_mask(translator: Translator) -> None:
    best = translator.translate(SENTENCE, beam_size=3, iterations=4).hypotheses[0]
    explanation = explain_iteration(translator, SENTENCE, best)
    assert best.fed_ids is not None
    assert explanation.fed_tokens == translator.codec.pieces(best.fed_ids)
    assert explanation.predicted_tokens == best.tokens
    assert explanation.log_probs == best.token_log_probs
    assert explanation.target == best.text
    count = len(best.token_ids)
    for layer in explanation.maps["decoder_self"]:
        assert layer.visible.all()
        assert (layer.weights > 0).all()
        torch.testing.assert_close(layer.weights.sum(-1), torch.ones(layer.num_heads, count))
    source = translator.batch([translator.codec.source_ids(SENTENCE)])
    with capture_attention(translator.model) as captured:
        logits = translator.model(source, torch.tensor([best.fed_ids]))[0]
    torch.testing.assert_close(
        captured["decoder.layers.1.self_attention"][0], explanation.maps["decoder_self"][1].weights
    )
    masked = [n for n, token_id in enumerate(best.fed_ids) if token_id == 3]
    assert masked
    of_pass = logits.log_softmax(-1)
    for position in masked:
        assert best.token_log_probs[position] == pytest.approx(
            float(of_pass[position, best.token_ids[position]]), abs=1e-4
        )
        assert dict(explanation.alternatives[position])


def test_what_predicts_one_token_after_the_other_is_refused(translator: Translator, tiny_checkpoint: Path) -> None:
    advice = r" does not apply to this model, which predicts all tokens at once \(mask-predict\): use an autoregressive"
    with pytest.raises(ValueError, match="^a search for one token after the other" + advice):
        translator.search(SENTENCE)
    with pytest.raises(ValueError, match="^scoring a given target" + advice):
        translator.score(SENTENCE, "Ein Hund.")
    with pytest.raises(ValueError, match="^predicting each token of a given target from those before it" + advice):
        translator.explain(SENTENCE, "Ein Hund.")
    with pytest.raises(ValueError, match="^a forced beginning" + advice):
        translator.translate(SENTENCE, prefix="Ein")
    searched = Translator.from_checkpoint(tiny_checkpoint, "cpu").translate(SENTENCE, 1).hypotheses[0]
    with pytest.raises(ValueError, match=r"^the hypothesis has no fed_ids: explain_iteration is for hypotheses of mas"):
        explain_iteration(translator, SENTENCE, searched)
    with pytest.raises(ValueError, match=r"^this model predicts one token after the other and has no mask token"):
        mask_predict_states(Translator.from_checkpoint(tiny_checkpoint, "cpu"), SENTENCE)


def test_the_command_line_translates_and_explains(
    mask_predict_checkpoint: Path, tiny_checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "in.txt").write_text("".join(f"{sentence}\n" for sentence in SENTENCES), encoding="utf-8")

    def run(checkpoint: Path, *options: str) -> int:
        files = "--input", str(tmp_path / "in.txt"), "--output", str(tmp_path / "out.txt")
        return main(["translate", "--checkpoint", str(checkpoint), *files, "--workers", "1", *options])

    assert run(mask_predict_checkpoint, "--iterations", "3", "--length-candidates", "2") == 0
    expected = Translator.from_checkpoint(mask_predict_checkpoint).translate_batch(SENTENCES, 2, iterations=3)
    lines = (tmp_path / "out.txt").read_text(encoding="utf-8").splitlines()
    assert lines == [translation.text for translation in expected]
    capsys.readouterr()
    for checkpoint, option, kind, advice in (
        (
            mask_predict_checkpoint,
            "--beam-size",
            "a model without causal mask, for mask-predict",
            "--iterations and --len",
        ),
        (tiny_checkpoint, "--iterations", "an autoregressive model", "--beam-size and --length-penalty, or another"),
    ):
        assert run(checkpoint, option, "2") == 1
        assert f"{option} does not apply to {checkpoint.name}, which is {kind}: use {advice}" in capsys.readouterr().err
    target = tmp_path / "explained.json"
    command = ["explain", "--checkpoint", str(mask_predict_checkpoint), "--text", SENTENCE, "-o", str(target)]
    assert main([*command, "--target", "Ein Hund."]) == 1
    assert "--target does not apply to this model" in capsys.readouterr().err
    assert main(command) == 0
    assert all(layer.visible.all() for layer in load_explanation(target).explanation.maps["decoder_self"])
