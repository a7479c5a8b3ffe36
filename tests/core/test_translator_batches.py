"""Many sentences at once: the same translations as one by one, in batches of bounded size."""

import pytest

from core.model import Transformer
from core.text.sentences import space_after
from core.text.tokenizer import SentencePieceTokenizer
from core.translator import Translator

SENTENCE = "A dog runs through the green grass."


def test_a_batch_gives_each_sentence_what_it_gets_alone(translator: Translator, parallel_text: list[tuple[str, str]]):
    sources = [source for source, _ in parallel_text[:6]] + ["No."]
    together = translator.translate_batch(sources, beam_size=3, num_hypotheses=3)
    assert [translation.source for translation in together] == sources
    compared = 0
    for source, translation in zip(sources, together, strict=True):
        alone = translator.translate(source, beam_size=3)
        scores = [h.score for h in alone.hypotheses]
        assert scores == pytest.approx([h.score for h in translation.hypotheses], abs=1e-4)
        for index, (one, other) in enumerate(zip(alone.hypotheses, translation.hypotheses, strict=True)):
            # no tie to rounding
            if all(abs(one.score - score) > 1e-3 for score in scores[:index] + scores[index + 1 :]):
                assert one.token_ids == other.token_ids
                compared += 1
    assert compared >= len(sources)


def test_batches_are_limited_by_tokens(translator: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.translator.BATCH_TOKENS", 60)
    sizes: list[tuple[int, int]] = []
    encode = translator.model.embedding.register_forward_hook(
        lambda _module, arguments, _output: sizes.append(tuple(arguments[0].shape)) if len(arguments) == 1 else None
    )
    checked: list[bool] = []
    monkeypatch.setattr(translator.check, "of_model", lambda *_: ((), checked.append(True) or True))
    translator.translate_batch([SENTENCE[:length] for length in (3, 35, 9, 6, 21, 12)], beam_size=1)
    encode.remove()
    assert len(sizes) == len(checked) > 1
    assert all(rows * length <= 60 or rows == 1 for rows, length in sizes)
    assert [length for _, length in sizes] == sorted((length for _, length in sizes), reverse=True)
    assert sum(rows for rows, _ in sizes) == 6


def test_a_batch_of_given_targets_has_the_scores_of_each_alone(
    translator: Translator, parallel_text: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = translator.codec.target_ids(parallel_text[1][1])
    pairs = [
        *parallel_text[:6],
        ("No.", ""),
        (SENTENCE, ids),
        (SENTENCE, [*ids, translator.config.eos_id]),
        ("No.", []),
    ]
    monkeypatch.setattr("core.inference.shared_model.SCORED_TOKENS", 90)
    monkeypatch.setattr("core.inference.shared_model.CHUNK_LOGITS", 3 * translator.config.vocab_size)
    together = translator.score_batch(pairs, 0.7)
    assert translator.score_batch([]) == []
    for (source, target), found in zip(pairs, together, strict=True):
        alone = translator.score(source, target, 0.7)
        assert (found.text, found.token_ids, found.tokens, found.finished) == (
            alone.text,
            alone.token_ids,
            alone.tokens,
            alone.finished,
        )
        assert found.token_log_probs == pytest.approx(alone.token_log_probs, abs=1e-4)
        assert found.score == pytest.approx(alone.score, abs=1e-4)


def test_a_pair_that_cannot_be_scored_is_named(translator: Translator) -> None:
    with pytest.raises(ValueError, match="sentence 2: the target has the token id 400"):
        translator.score_batch([(SENTENCE, "Ein Hund."), (SENTENCE, [400])])
    with pytest.raises(ValueError, match="sentence 1: there is nothing to translate"):
        translator.score_batch([(" ", "Ein Hund.")])


def test_no_texts_no_translations(translator: Translator) -> None:
    assert translator.translate_batch([]) == []


def test_progress_is_reported_by_texts(translator: Translator) -> None:
    calls: list[tuple[int, int]] = []
    translator.translate_batch([SENTENCE, "No."], beam_size=1, progress=lambda done, of: calls.append((done, of)))
    assert calls[-1] == (2, 2)


def test_a_text_is_translated_sentence_by_sentence(translator: Translator) -> None:
    translation = translator.translate_text("  It rains. We stay.\n\nWhere is the sea? ", beam_size=1)
    assert [sentence.source for sentence in translation.sentences] == ["It rains.", "We stay.", "Where is the sea?"]
    assert translation.separators == ("  ", " ", "\n\n", " ")
    parts = [
        translator.translate(source, beam_size=1).text for source in ("It rains.", "We stay.", "Where is the sea?")
    ]
    assert translation.text == f"  {parts[0]} {parts[1]}\n\n{parts[2]} "


def test_translations_have_a_space_between_them_though_their_sentences_have_none(translator: Translator) -> None:
    translation = translator.translate_text("It rains。We stay。", beam_size=1)
    assert [sentence.source for sentence in translation.sentences] == ["It rains。", "We stay。"]
    assert translation.text == f"{translation.sentences[0].text} {translation.sentences[1].text}"
    assert [space_after(text) for text in ("Es regnet.", "下雨了。", "「はい。」")] == [" ", "", ""]


def test_a_batch_has_no_more_hypotheses_than_the_budget(
    tiny_model: Transformer, tokenizer: SentencePieceTokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three sentences at a time, with the results of all at once."""
    texts = ["A dog.", "Two children.", "It rains.", "Nobody knows.", "The old house.", "A cup of tea.", "Where?"]
    expected = Translator(tiny_model, tokenizer).translate_batch(texts)
    translator = Translator(tiny_model, tokenizer)
    monkeypatch.setattr(translator.limits, "most_hypotheses", lambda _: 4 * 3 + 1)
    done: list[int] = []
    found = translator.translate_batch(texts, progress=lambda count, _: done.append(count))
    assert done == [3, 6, 7]
    assert [each.text for each in found] == [each.text for each in expected]
