"""Test sets, and their translations by two models."""

import pytest

from core import Translator
from core.analysis.signs.pair_signs import pair_signs
from core.analysis.two_models.translated_lines import TestPair, parse_pairs, translate_pairs
from core.files.shipped_files import shipped_checkpoint


@pytest.fixture(scope="module")
def multi30k() -> Translator:
    return Translator.from_checkpoint(shipped_checkpoint("multi30k"))


@pytest.fixture(scope="module")
def distilled() -> Translator:
    return Translator.from_checkpoint(shipped_checkpoint("multi30k-distilled"))


def test_references_stand_after_a_tab_or_in_a_text_of_their_own() -> None:
    expected = [TestPair(1, "A dog.", "Ein Hund."), TestPair(3, "The sea.", "Das Meer.")]
    assert parse_pairs("A dog.\tEin Hund.\n\n The sea. \tDas Meer.\n") == expected
    assert parse_pairs("A dog.\n\nThe sea.\n", "Ein Hund.\n\nDas Meer.\n") == expected


@pytest.mark.parametrize(
    ("sources", "references", "said"),
    [
        ("A dog.\tEin Hund.\nThe sea.", None, "line 2 has no reference: put a tab and its reference after the source"),
        ("A dog.\nThe sea.", "Ein Hund.\n\n", "line 2 has no reference"),
        ("A dog.\n\n", "Ein Hund.\nDas Meer.\n", "line 2 has a reference but no source"),
        ("A dog.\tEin Hund.\tUn chien.\n", None, "line 1 has 3 columns, expected a source, or a source and its refere"),
        ("A dog.\nThe sea.", "Ein Hund.", "there are 2 sources and 1 references: expected one reference per source"),
        ("A dog.\tx\n", "Ein Hund.", "source 1 has a tab: give references after a tab, or in a text of their own"),
        ("A dog.\n", "Ein\tHund.", "reference 1 has a tab"),
        ("\n", None, "there is no sentence"),
    ],
)
def test_what_is_no_test_set_is_refused(sources: str, references: str | None, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        parse_pairs(sources, references)


def test_translations_are_those_of_each_model(multi30k: Translator, distilled: Translator) -> None:
    pairs = [TestPair(number, f"A dog runs {where}.", "Ein Hund läuft.") for number, where in enumerate("ab" * 9, 1)]
    lines = list(translate_pairs(multi30k, distilled, pairs, beam_size=2))
    assert [line.pair for line in lines] == pairs
    for line in (lines[0], lines[-1]):  # of two windows
        for side, model in ((line.first, multi30k), (line.second, distilled)):
            best = model.translate(line.pair.source, 2).hypotheses[0]
            assert side == (best.token_ids, best.text)
        for values, model, (ids, _) in zip(line.signs, (multi30k, distilled), (line.first, line.second), strict=True):
            (expected,) = pair_signs(model, [(line.pair.source, ids)])
            assert values == pytest.approx({name: sign.value for name, sign in expected.items()}, abs=1e-4)
    whole = next(translate_pairs(multi30k, multi30k, [TestPair(1, "A dog.", lines[0].texts[0])]))
    assert whole.difference == 0
    assert whole.chrf[0] < 100


def test_a_sentence_that_is_too_long_names_its_line(multi30k: Translator) -> None:
    pairs = [TestPair(1, "A dog.", "Ein Hund."), TestPair(7, "very " * 600, "sehr")]
    with pytest.raises(ValueError, match=r"line 7: the text has 6.. tokens, at most 512 can be translated"):
        list(translate_pairs(multi30k, multi30k, pairs))
