"""Translator: translations, explanations of the same tokens, and use by many threads."""

import inspect
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
import torch

from core.capture import capture_attention
from core.decoding import SearchOptions, best_hypotheses
from core.decoding.limits import MAX_EXTRA_TOKENS
from core.formats.checkpoint import save_checkpoint
from core.model import Transformer
from core.model.preset_configs import PRESETS
from core.text.tokenizer import SentencePieceTokenizer
from core.translator import Translator

SENTENCE = "A dog runs through the green grass."


def test_hypotheses_come_best_first_with_all_that_was_found(translator: Translator, tokenizer: SentencePieceTokenizer):
    translation = translator.translate(SENTENCE, beam_size=3)
    assert translation.source == SENTENCE
    assert translation.source_tokens[-1] == "</s>"
    assert len(translation.hypotheses) == 3
    assert [h.score for h in translation.hypotheses] == sorted((h.score for h in translation.hypotheses), reverse=True)
    assert (translation.text, translation.log_prob) == (
        translation.hypotheses[0].text,
        translation.hypotheses[0].log_prob,
    )
    for hypothesis in translation.hypotheses:
        assert hypothesis.tokens == tuple(map(tokenizer.piece, hypothesis.token_ids))
        assert hypothesis.finished == (hypothesis.tokens[-1] == "</s>")
        assert hypothesis.text == tokenizer.decode([token_id for token_id in hypothesis.token_ids if token_id != 2])
        assert (
            len(hypothesis.token_log_probs)
            == len(hypothesis.token_ids)
            <= len(translation.source_tokens) + MAX_EXTRA_TOKENS
        )
        assert hypothesis.log_prob == pytest.approx(hypothesis.score * ((5 + len(hypothesis.token_ids)) / 6) ** 0.6)


def test_the_best_does_not_depend_on_how_many_are_returned(translator: Translator) -> None:
    [best] = translator.translate(SENTENCE, num_hypotheses=1).hypotheses
    of_four = translator.translate(SENTENCE, num_hypotheses=4).hypotheses[0]
    assert best.token_ids == of_four.token_ids
    assert best.token_log_probs == pytest.approx(of_four.token_log_probs, abs=1e-5)


def test_replaying_a_hypothesis_gives_the_log_probs_that_the_search_saw(translator: Translator) -> None:
    for hypothesis in translator.translate(SENTENCE, beam_size=2).hypotheses:
        log_probs = translator.explain(SENTENCE, hypothesis.token_ids).log_probs
        assert log_probs[: len(hypothesis.token_ids)] == pytest.approx(hypothesis.token_log_probs, abs=1e-4)


def test_replaying_a_hypothesis_gives_the_attention_that_the_search_saw(translator: Translator) -> None:
    """Log-probabilities of the search, position by position, equal those of one replayed pass."""
    seen: list[dict[str, torch.Tensor]] = []
    with translator.inspect() as model, capture_attention(model) as maps:
        for state in translator.search(SENTENCE, beam_size=1):
            seen.append(dict(maps))
            best = state.live + state.finished
    explanation = translator.explain(SENTENCE, best[0].token_ids)
    assert len(seen) >= 5
    for layer in range(2):
        for position, step in enumerate(seen):
            own = explanation.maps["decoder_self"][layer].weights[:, position, : position + 1]
            cross = explanation.maps["cross"][layer].weights[:, position]
            torch.testing.assert_close(step[f"decoder.layers.{layer}.self_attention"][0, :, 0], own, atol=1e-5, rtol=0)
            torch.testing.assert_close(
                step[f"decoder.layers.{layer}.cross_attention"][0, :, 0], cross, atol=1e-5, rtol=0
            )


def test_hooks_of_the_model_see_its_explanation(translator: Translator) -> None:
    seen: list[int] = []
    with translator.inspect() as model:
        handle = model.decoder.layers[0].feed_forward.register_forward_hook(
            lambda _module, _arguments, output: seen.append(output.size(1))
        )
        hooked = translator.explain(SENTENCE, "Ein Hund")
        handle.remove()
    plain = translator.explain(SENTENCE, "Ein Hund")
    assert seen == [len(hooked.fed_tokens)]
    assert hooked.log_probs == pytest.approx(plain.log_probs, abs=1e-5)
    for kind, layers in hooked.maps.items():
        for one, other in zip(layers, plain.maps[kind], strict=True):
            torch.testing.assert_close(one.weights, other.weights, atol=1e-5, rtol=0)


def test_search_makes_the_states_that_translate_reads(translator: Translator) -> None:
    *_, last = translator.search(SENTENCE, beam_size=3, length_penalty=1.0)
    options = translator.setup.options(3, 1.0, 3)
    found = translator.translate(SENTENCE, beam_size=3, length_penalty=1.0).hypotheses
    assert [h.token_ids for h in best_hypotheses(last, options)] == [h.token_ids for h in found]


def test_progress_is_reported_by_positions(translator: Translator) -> None:
    calls: list[tuple[int, int]] = []
    translation = translator.translate(SENTENCE, beam_size=1, progress=lambda done, of: calls.append((done, of)))
    limit = len(translation.source_tokens) + MAX_EXTRA_TOKENS
    assert calls == [(position, limit) for position in range(1, len(translation.hypotheses[0].token_ids) + 1)]


def test_white_space_makes_no_difference(translator: Translator) -> None:
    plain = translator.translate(SENTENCE, beam_size=1)
    odd = translator.translate(f"\n {SENTENCE.replace(' ', chr(9) + ' ')}\r\n", beam_size=1)
    assert odd.hypotheses == plain.hypotheses
    assert odd.source_tokens == translator.explain(odd.source, odd.text).source_tokens == plain.source_tokens


def test_learned_positions_bound_source_and_translation(tokenizer: SentencePieceTokenizer) -> None:
    torch.manual_seed(0)
    config = replace(PRESETS["tiny"], vocab_size=tokenizer.vocab_size, positions="learned", max_positions=20)
    translator = Translator(Transformer(config).requires_grad_(False), tokenizer)
    found = translator.translate("Where?", beam_size=1).hypotheses[0]
    assert len(found.token_ids) < 20
    assert translator.explain("Where?", found.token_ids).log_probs[: len(found.token_ids)] == pytest.approx(
        found.token_log_probs, abs=1e-4
    )
    with pytest.raises(ValueError, match="at most 20 can be translated at once"):
        translator.translate("x" * 40)


def test_a_model_that_changes_is_searched_as_it_is_now(tokenizer: SentencePieceTokenizer) -> None:
    torch.manual_seed(0)
    model = Transformer(replace(PRESETS["tiny"], vocab_size=tokenizer.vocab_size)).requires_grad_(False)
    translator = Translator(model, tokenizer)
    before = translator.translate(SENTENCE, beam_size=2).hypotheses[0]
    for parameter in model.decoder.parameters():
        parameter.mul_(-0.7)
    after = translator.translate(SENTENCE, beam_size=2).hypotheses[0]
    assert after.token_ids != before.token_ids
    assert translator.explain(SENTENCE, after.token_ids).log_probs[: len(after.token_ids)] == pytest.approx(
        after.token_log_probs, abs=1e-4
    )


def test_from_checkpoint(tiny_checkpoint, translator: Translator) -> None:
    loaded = Translator.from_checkpoint(tiny_checkpoint)
    assert loaded.training["preset"] == "tiny"
    assert loaded.translate(SENTENCE, beam_size=1).hypotheses == translator.translate(SENTENCE, beam_size=1).hypotheses


def test_threads_get_what_each_gets_alone(translator: Translator, parallel_text: list[tuple[str, str]]) -> None:
    pairs = parallel_text[:3]
    serial = [
        (translator.translate(source, beam_size=2), translator.explain(source, target)) for source, target in pairs
    ]
    start = threading.Barrier(4)

    def work(thread: int) -> list[tuple[object, object]]:
        start.wait()
        order = pairs if thread % 2 else pairs[::-1]
        found = {
            source: (translator.explain(source, target), translator.translate(source, beam_size=2))[::-1]
            if thread < 2
            else (translator.translate(source, beam_size=2), translator.explain(source, target))
            for source, target in order
        }
        return [found[source] for source, _ in pairs]

    with ThreadPoolExecutor(4) as pool:
        for result in pool.map(work, range(4)):
            for (translation, explanation), (expected_translation, expected_explanation) in zip(
                result, serial, strict=True
            ):
                assert [h.token_ids for h in translation.hypotheses] == [
                    h.token_ids for h in expected_translation.hypotheses
                ]
                assert explanation.log_probs == pytest.approx(expected_explanation.log_probs, abs=1e-5)
                for kind, layers in expected_explanation.maps.items():
                    for layer, expected in zip(explanation.maps[kind], layers, strict=True):
                        torch.testing.assert_close(layer.weights, expected.weights, atol=1e-5, rtol=0)


def test_a_search_left_half_way_does_not_hold_the_model(translator: Translator) -> None:
    states = translator.search(SENTENCE)
    next(states)
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(translator.translate, "No.", 1).result(timeout=30).text is not None
    assert next(states).position == 2


def test_a_half_precision_file_translates(tmp_path, tiny_model: Transformer, tokenizer: SentencePieceTokenizer) -> None:
    save_checkpoint(tmp_path / "half.safetensors", tiny_model, tokenizer, dtype=torch.float16)
    assert Translator.from_checkpoint(tmp_path / "half.safetensors").translate(SENTENCE, beam_size=1).hypotheses


def test_the_search_is_by_default_that_of_the_paper() -> None:
    """A beam of 4, a length penalty of 0.6, and 50 tokens more than the source has (6.1)."""
    options = SearchOptions(bos_id=1, eos_id=2, never=())
    assert (options.beam_size, options.length_penalty, MAX_EXTRA_TOKENS) == (4, 0.6, 50)
    searches = 0
    for _, method in inspect.getmembers(Translator, inspect.isfunction):
        parameters = inspect.signature(method).parameters
        for name, value in (("beam_size", 4), ("length_penalty", 0.6)):
            assert name not in parameters or parameters[name].default in (value, inspect.Parameter.empty)
        searches += {"beam_size", "length_penalty"} <= parameters.keys()
    assert searches > 3
