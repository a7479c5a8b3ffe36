"""Word scores against forced decoding of single sentences, and files that cannot be read."""

import math

import pytest

from core.analysis.word_scores.scored_lines import ScoredLine, app_query, score_lines, word_scores, worst_words
from core.model import Transformer
from core.results import ScoredText
from core.text.text_files import Line, parse_lines
from core.text.tokenizer import SentencePieceTokenizer
from core.translator import Translator

TEXT = "Where is it?\n\nA dog runs.\tEin Hund läuft.\r\nThe sea.\t\n"


@pytest.fixture
def translator(tiny_model: Transformer, tokenizer: SentencePieceTokenizer) -> Translator:
    return Translator(tiny_model, tokenizer)


def test_lines_with_and_without_a_translation() -> None:
    assert parse_lines(TEXT) == [
        Line(1, "Where is it?"),
        Line(3, "A dog runs.", "Ein Hund läuft."),
        Line(4, "The sea."),
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "there is no sentence: expected one per line"),
        ("\n \n", "there is no sentence"),
        ("a\n\nb\tc\td\te", "line 3 has 4 columns, expected a source, or a source and its translation with one tab"),
        ("a\n\tHund", "line 2 has a translation but no source"),
    ],
)
def test_a_file_that_is_not_understood_is_refused_by_line(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        parse_lines(text)


def test_given_translations_are_scored_and_others_searched(translator: Translator, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("core.decoding.limits.MAX_EXTRA_TOKENS", 3)
    first, given, third = score_lines(translator, parse_lines(TEXT), beam_size=2, length_penalty=0.5)
    assert [each.number for each in (first, given, third)] == [1, 3, 4]
    assert given.target == translator.score("A dog runs.", "Ein Hund läuft.", 0.5)
    for found in (first, third):
        assert found.target.token_ids == translator.translate(found.source, 2, 0.5).hypotheses[0].token_ids


def test_every_token_counts_in_one_word_and_the_least_probable_word_is_first(translator: Translator) -> None:
    lines = list(score_lines(translator, [Line(1, "A dog.", "Ein Hund läuft."), Line(2, "The sea.", "Das Meer")]))
    for line in lines:
        words = word_scores(line)
        assert [position for each in words for position in each.tokens] == list(range(len(line.target.tokens)))
        assert math.fsum(each.log_prob for each in words) == pytest.approx(line.target.log_prob)
        assert [each.number for each in words] == list(range(1, len(words) + 1))
        assert words[-1].text == "</s>"
    worst = worst_words(lines)
    assert sorted(worst, key=lambda each: each.probability) == worst
    assert len(worst) == sum(len(word_scores(line)) for line in lines)


def test_a_word_has_the_product_of_the_probabilities_of_its_tokens() -> None:
    target = ScoredText("Hunde .", (7, 8, 9, 2), ("▁Hund", "e", "▁.", "</s>"), (-1.0, -2.0, -0.5, 0.0), -1.0)
    words = word_scores(ScoredLine(4, "Dogs.", target))
    assert [(each.text, each.probability) for each in words] == [
        ("Hunde", pytest.approx(math.exp(-3))),
        (".", pytest.approx(math.exp(-0.5))),
        ("</s>", 1.0),
    ]
    query = app_query(words[1], "0123456789abcdef")
    assert query == "text=Dogs.&target=7.8.9.2&model=01234567&word=target.2"


@pytest.mark.parametrize("target", [None, "Hund"])
def test_a_sentence_that_is_too_long_is_named_by_its_line(translator: Translator, target: str | None) -> None:
    with pytest.raises(ValueError, match=r"line 7: the text has .* tokens, at most 512 can be translated"):
        list(score_lines(translator, [Line(7, "very " * 600, target)]))
    with pytest.raises(ValueError, match=r"line 8: the target has .* tokens"):
        list(score_lines(translator, [Line(8, "very", "zu lang " * 600)]))
