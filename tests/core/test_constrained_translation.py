"""Constraints and samples of a whole translator: its fast search, batches and modules comply alike."""

from collections.abc import Callable
from pathlib import Path

import pytest

from core.decoding import Constraints, Forbidden, Sampling, best_hypotheses
from core.formats.importing import import_checkpoint
from core.speculative_translation import translate_with_draft
from core.translator import Translator
from tests.core.formats import bart_models, fsmt_models
from tests.core.formats.marian_models import Pairs, write_model

SENTENCES = ["A dog runs through the green grass.", "Where is the nearest station?", "Nobody knows."]


pytestmark = pytest.mark.usefixtures("short_translations")


@pytest.mark.parametrize("beam_size", [1, 3])
def test_a_forbidden_token_is_replaced_and_the_rest_searched_again(translator: Translator, beam_size: int) -> None:
    for sentence in SENTENCES:
        own = translator.translate(sentence, beam_size).hypotheses[0]
        position = len(own.token_ids) // 2
        limits = Constraints(min_length=3, forbidden=(Forbidden(own.token_ids[position], position),))
        found = translator.translate(sentence, beam_size, constraints=limits, prefix=own.token_ids[:position])
        for each in found.hypotheses:
            assert each.token_ids[:position] == own.token_ids[:position]
            assert each.token_ids[position] != own.token_ids[position]
            assert len(each.token_ids) - each.finished >= 3
            scored = translator.score(sentence, each.token_ids)
            assert each.token_log_probs == pytest.approx(scored.token_log_probs, abs=1e-4)
        search = translator.search(sentence, beam_size, constraints=limits, prefix=own.token_ids[:position])
        *_, last = search
        options = translator.setup.options(beam_size, 0.6, constraints=limits)
        assert [each.token_ids for each in best_hypotheses(last, options)] == [
            each.token_ids for each in found.hypotheses
        ]


def test_a_batch_and_a_draft_comply_as_each_sentence(translator: Translator) -> None:
    first = translator.translate(SENTENCES[0], 1).hypotheses[0].token_ids[0]
    limits = Constraints(min_length=5, forbidden=(Forbidden(first, 0), Forbidden(first + 1)))
    for beam_size in (1, 2):
        together = translator.translate_batch(SENTENCES, beam_size, constraints=limits)
        for sentence, found in zip(SENTENCES, together, strict=True):
            alone = translator.translate(sentence, beam_size, num_hypotheses=1, constraints=limits)
            assert found.hypotheses[0].token_ids == alone.hypotheses[0].token_ids
            if beam_size == 1:
                drafted = translate_with_draft(translator, sentence, translator, constraints=limits)
                assert drafted.hypotheses[0].token_ids == alone.hypotheses[0].token_ids
    text = translator.translate_text(" ".join(SENTENCES), 1, constraints=limits)
    assert len(text.sentences) == 3
    assert all(first not in each.hypotheses[0].token_ids[:1] for each in text.sentences)


def test_samples_have_the_log_probs_of_the_model(translator: Translator) -> None:
    sampling = Sampling(num_samples=5, temperature=0.5, top_p=0.8)
    samples = translator.sample(SENTENCES[0], sampling)
    for sample in samples:
        scored = translator.score(SENTENCES[0], sample.token_ids)
        assert sample.token_log_probs == pytest.approx(scored.token_log_probs, abs=1e-4)
        assert sample.score == pytest.approx(scored.score, abs=1e-4)
    again = translator.sample(SENTENCES[0], Sampling(num_samples=2, temperature=0.5, top_p=0.8))
    assert [each.token_ids for each in again] == [each.token_ids for each in samples[:2]]
    begun = translator.sample(SENTENCES[0], sampling, prefix=samples[0].token_ids[:3])
    assert {each.token_ids[:3] for each in begun} == {samples[0].token_ids[:3]}
    greedy = translator.translate(SENTENCES[0], 1).hypotheses[0].token_ids
    assert {each.token_ids for each in translator.sample(SENTENCES[0], Sampling(top_k=1))} == {greedy}


def test_an_imported_model_complies(tmp_path: Path, parallel_text: Pairs) -> None:
    write_model(tmp_path, parallel_text)
    checkpoint = import_checkpoint(tmp_path)
    translator = Translator(checkpoint.model, checkpoint.tokenizer, checkpoint.training)
    own = translator.translate("A dog.", 2).hypotheses[0].token_ids
    limits = Constraints(min_length=3, forbidden=(Forbidden(own[0], 0),))
    for found in translator.translate("A dog.", 2, constraints=limits).hypotheses:
        assert found.token_ids[0] != own[0]
        assert len(found.token_ids) - found.finished >= 3
    for found in translator.sample("A dog.", constraints=limits):
        assert found.token_ids[0] != own[0]


@pytest.mark.parametrize("write", [write_model, fsmt_models.write_model, bart_models.write_model])
def test_an_imported_model_completes_a_word(
    tmp_path: Path, parallel_text: Pairs, write: Callable[[Path, Pairs], object]
) -> None:
    write(tmp_path, parallel_text)
    checkpoint = import_checkpoint(tmp_path)
    translator = Translator(checkpoint.model, checkpoint.tokenizer, checkpoint.training)
    for text in ("Ein", "Ein Hu", "Ein Hund, d", "Ein Hund "):
        for found in translator.translate("A dog.", 2, prefix=text).hypotheses:
            assert f"{found.text} ".startswith(text)


def test_what_does_not_fit_together_is_refused(translator: Translator, mask_predict_checkpoint: Path) -> None:
    limit = translator.limits.of_translation(translator.codec.source_ids("No."))
    with pytest.raises(ValueError, match=rf"^min_length \({limit}\) leaves no room for the end: .*most {limit - 1}$"):
        translator.translate("No.", constraints=Constraints(min_length=limit))
    longer = translator.limits.of_translation(translator.codec.source_ids(SENTENCES[0]))
    with pytest.raises(ValueError, match=rf"^sentence 2: min_length \({longer - 1}\) leaves no room"):
        translator.translate_batch([SENTENCES[0], "No."], constraints=Constraints(min_length=longer - 1))
    vocab_size = translator.config.target_size
    with pytest.raises(
        ValueError, match=rf"^the token id {vocab_size} is forbidden, this model has 0 to {vocab_size - 1}"
    ):
        translator.translate("No.", constraints=Constraints(forbidden=(Forbidden(vocab_size),)))
    at_once = Translator.from_checkpoint(mask_predict_checkpoint, "cpu")
    with pytest.raises(ValueError, match=r"^a minimum length or a forbidden token does not apply to this model"):
        at_once.translate("No.", constraints=Constraints(min_length=2))
    with pytest.raises(ValueError, match=r"^sampling one token after the other does not apply to this model"):
        at_once.sample("No.")
