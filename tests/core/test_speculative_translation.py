"""Greedy translation with a draft model."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from core.cli.commands import main
from core.model import Transformer
from core.speculative_translation import translate_with_draft
from core.text.tokenizer import SentencePieceTokenizer
from core.translator import Translator

SENTENCES = ["A dog runs through the green grass.", "Where is the nearest station?", "Nobody knows."]


def translator_of(model: Transformer, tokenizer: SentencePieceTokenizer) -> Translator:
    return Translator(model.eval().requires_grad_(False), tokenizer)


@pytest.mark.parametrize(("draft_tokens", "neighbourhood"), [(1, None), (9, None), (4, 3)])
def test_the_translation_is_the_greedy_one(
    tiny_model: Transformer, tokenizer: SentencePieceTokenizer, draft_tokens: int, neighbourhood: int | None
) -> None:
    model = Transformer(replace(tiny_model.config, neighbourhood=neighbourhood))
    model.load_state_dict(tiny_model.state_dict())
    translator = translator_of(model, tokenizer)
    torch.manual_seed(3)
    bad = translator_of(Transformer(replace(tiny_model.config, num_decoder_layers=1)), tokenizer)
    for sentence in SENTENCES[1:]:
        (greedy,) = translator.translate(sentence, beam_size=1).hypotheses
        for draft in (translator, translator_of(tiny_model, tokenizer), bad):
            (found,) = translate_with_draft(translator, sentence, draft, draft_tokens).hypotheses
            assert (found.token_ids, found.text, found.finished) == (greedy.token_ids, greedy.text, greedy.finished)
            assert found.token_log_probs == pytest.approx(greedy.token_log_probs, abs=1e-4)
            assert found.score == pytest.approx(greedy.score, abs=1e-4)


def test_models_that_cannot_draft_are_refused(
    tiny_model: Transformer, tokenizer: SentencePieceTokenizer, tree_checkpoint: Path, mask_predict_checkpoint: Path
) -> None:
    translator = translator_of(tiny_model, tokenizer)
    with pytest.raises(ValueError, match=r"^the draft model has another vocabulary: train one with `python"):
        translate_with_draft(translator, SENTENCES[0], Translator.from_checkpoint(tree_checkpoint, "cpu"))
    with pytest.raises(ValueError, match=r"^speculative decoding does not apply to this model, which predicts"):
        translate_with_draft(translator, SENTENCES[0], Translator.from_checkpoint(mask_predict_checkpoint, "cpu"))
    forced = translator_of(Transformer(replace(tiny_model.config, forced_first_id=9)), tokenizer)
    with pytest.raises(ValueError, match=r"^speculative decoding is not possible with a forced first token"):
        translate_with_draft(forced, SENTENCES[0], translator)


def test_the_command_line_drafts(
    tiny_checkpoint: Path, mask_predict_checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "in.txt").write_text("".join(f"{sentence}\n" for sentence in SENTENCES), encoding="utf-8")

    def run(checkpoint: Path, *options: str) -> str:
        (tmp_path / "out.txt").unlink(missing_ok=True)
        files = "--input", str(tmp_path / "in.txt"), "--output", str(tmp_path / "out.txt")
        status = main(["translate", "--checkpoint", str(checkpoint), *files, "--workers", "1", *options])
        messages = capsys.readouterr().err
        return (tmp_path / "out.txt").read_text(encoding="utf-8") if status == 0 else messages

    draft = "--draft", str(tiny_checkpoint)
    assert run(tiny_checkpoint, *draft) == run(tiny_checkpoint, "--beam-size", "1") != ""
    message = "--draft with --beam-size 4: speculative decoding has the result of greedy search only; leave out one"
    assert message in run(tiny_checkpoint, *draft, "--beam-size", "4")
    assert "--draft does not apply to this model, which predicts all tokens" in run(mask_predict_checkpoint, *draft)
