"""Translations with a forced prefix, and scores of given ones."""

import pytest

from core.decoding import best_hypotheses
from core.decoding.limits import MAX_TARGET_TOKENS
from core.translator import Translator

SENTENCE = "A dog runs through the green grass."


@pytest.mark.usefixtures("short_translations")
@pytest.mark.parametrize("beam_size", [1, 3])
def test_a_prefix_begins_the_translation_and_the_whole_is_scored(
    translator: Translator, parallel_text: list[tuple[str, str]], beam_size: int
) -> None:
    for source, target in parallel_text[:2]:
        prefix = target[: len(target) // 2].strip()
        translation = translator.translate(source, beam_size, prefix=prefix)
        for found in translation.hypotheses:
            assert found.text.startswith(prefix)
            forced = translator.score(source, found.token_ids)
            assert (forced.text, forced.token_ids, forced.tokens, forced.finished) == (
                found.text,
                found.token_ids,
                found.tokens,
                found.finished,
            )
            assert forced.token_log_probs == pytest.approx(found.token_log_probs, abs=1e-4)
            assert forced.score == pytest.approx(found.score, abs=1e-4)
        *_, last = translator.search(source, beam_size, prefix=prefix)
        assert (
            best_hypotheses(last, translator.setup.options(beam_size, 0.6, 1))[0].token_ids
            == translation.hypotheses[0].token_ids
        )


@pytest.mark.usefixtures("short_translations")
@pytest.mark.parametrize("beam_size", [1, 3])
def test_a_prefix_may_end_anywhere(translator: Translator, beam_size: int) -> None:
    target = "Zwo\u0308 \U0001f436, \u20ac d"
    for stop in range(len(target) + 1):
        for found in translator.translate(SENTENCE, beam_size, prefix=target[:stop]).hypotheses:
            ended = target[:stop].endswith(" ") and not found.finished
            assert f"{found.text} ".startswith(target[:stop] if ended else target[:stop].rstrip())
    with pytest.raises(ValueError, match="samples begin with whole tokens, and a text may end inside a word, which"):
        translator.sample(SENTENCE, prefix="Ein Hun")  # type: ignore[arg-type]


@pytest.mark.usefixtures("short_translations")
def test_the_beginning_of_the_model_s_own_translation_leads_to_it(translator: Translator) -> None:
    own = translator.translate(SENTENCE, beam_size=1).hypotheses[0]
    for length in (0, 1, len(own.token_ids) // 2, len(own.token_ids) - 1):
        again = translator.translate(SENTENCE, beam_size=1, prefix=own.token_ids[:length]).hypotheses[0]
        assert again.token_ids == own.token_ids
        assert again.token_log_probs == pytest.approx(own.token_log_probs, abs=1e-5)


@pytest.mark.usefixtures("short_translations")
def test_a_batch_has_a_prefix_for_each(translator: Translator, parallel_text: list[tuple[str, str]]) -> None:
    sources, prefixes = [source for source, _ in parallel_text[:3]], ["Ein Hund", "", "Die Frau im"]
    together = translator.translate_batch(sources, 2, prefixes=prefixes)
    for source, prefix, translation in zip(sources, prefixes, together, strict=True):
        alone = translator.translate(source, 2, num_hypotheses=1, prefix=prefix)
        assert [h.token_ids for h in alone.hypotheses] == [h.token_ids for h in translation.hypotheses]
        assert translation.text.startswith(prefix)


@pytest.mark.parametrize("target", ["Ein Hund läuft durch das grüne Gras.", "", "  zwei \n Zeilen ", "🐕"])
def test_any_target_is_scored_as_one_pass_scores_it(translator: Translator, target: str) -> None:
    scored = translator.score(SENTENCE, target, length_penalty=1.0)
    assert scored.text == " ".join(target.split())
    assert scored.finished
    for explained in (target, scored.token_ids):
        assert scored.token_log_probs == pytest.approx(translator.explain(SENTENCE, explained).log_probs, abs=1e-4)
    assert scored.score == pytest.approx(scored.log_prob / ((5 + len(scored.tokens)) / 6))


def test_the_beginning_of_a_target_is_scored_without_an_end(translator: Translator) -> None:
    ids = translator.score(SENTENCE, "Ein Hund").token_ids
    whole, part = translator.score(SENTENCE, ids), translator.score(SENTENCE, ids[:-1])
    assert whole.finished
    assert not part.finished
    assert part.token_log_probs == pytest.approx(whole.token_log_probs[:-1], abs=1e-5)


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("x " * 600, rf"the target has \d+ tokens, at most {MAX_TARGET_TOKENS} can be scored: shorten it"),
        ([7, 400], "the target has the token id 400, this model has 0 to 399: it belongs to another model"),
        ([-1], "the target has the token id -1"),
        ("half \ud83d", r"the text has a lone surrogate"),
    ],
)
def test_a_target_that_cannot_be_scored_is_refused_with_the_reason(
    translator: Translator, target: str | list[int], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        translator.score(SENTENCE, target)


@pytest.mark.parametrize(
    ("prefix", "message"),
    [
        (
            "so " * 60,
            r"the prefix has \d+ tokens, which leaves no room for more: a translation of this text may have \d+; "
            r"shorten the prefix",
        ),
        ([400], "the target has the token id 400, this model has 0 to 399"),
        ([0], "token 1 of the prefix is 0, which is never generated"),
        ("half \ud83d", r"the text has a lone surrogate"),
    ],
)
def test_a_prefix_that_cannot_be_is_refused_with_the_reason(
    translator: Translator, prefix: str | list[int], message: str
) -> None:
    for call in (
        lambda: translator.translate("Where?", prefix=prefix),
        lambda: translator.search("Where?", prefix=prefix),
        lambda: translator.setup.prefix_ids("Where?", prefix),
        lambda: translator.translate_batch(["Where?"], prefixes=[prefix]),
    ):
        with pytest.raises(ValueError, match=message):
            call()
