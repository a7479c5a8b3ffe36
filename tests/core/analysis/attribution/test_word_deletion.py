"""The word without which a prediction falls, on a model in which the answer is known."""

import re
from dataclasses import replace

import pytest
import torch

from core.analysis.attribution.attribute import attribute_contrast
from core.analysis.attribution.contrast_methods import ContrastMethod
from core.analysis.attribution.word_deletion import WordDeletions, word_deletions
from core.translator import Translator

SENTENCE, TARGET = "A dog runs fast.", "Ein Hund"
METHODS: tuple[ContrastMethod, ...] = ("occlusion", "attention")


@pytest.fixture
def deletions(translator: Translator) -> WordDeletions:
    return word_deletions(attribute_contrast(translator, SENTENCE, TARGET, 1, methods=METHODS))


def test_each_word_is_left_out_of_the_text(deletions: WordDeletions, translator: Translator) -> None:
    """As the model itself predicts from the ids of the shorter source."""
    contrast = deletions.attribution.contrast
    assert [row.name for row in deletions.words] == ["A", "dog", "runs", "fast"]
    indices = [range(0), *(row.indices for row in deletions.words)]
    for row, expected in zip(indices, (deletions.before, *deletions.after), strict=True):
        ids = [each for index, each in enumerate(contrast.source_ids) if index not in row]
        with torch.inference_mode(), translator.inspect() as model:
            logits = model(torch.tensor([ids]), torch.tensor([contrast.prefix_ids]))[0, -1]
        assert expected == pytest.approx(logits.softmax(-1)[contrast.token].item(), rel=1e-4)


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        (
            0.9,
            (0.8, 0.02, 0.88, 0.7),
            "Without “dog”, the probability of “·H” after “E” falls from 0.90 to 0.02; .* by lot, to 0.80, .* other 3",
        ),
        (
            0.9,
            (0.5, 0.6, 0.9, 0.7),
            "No single word decides: .* is 0.90, and without “A” still 0.50; .* by lot, 0.70, .* other 3",
        ),
    ],
)
def test_the_answer_names_the_word_that_decides_and_says_where_none_does(
    deletions: WordDeletions, before: float, after: tuple[float, ...], says: str
) -> None:
    made = replace(deletions, before=before, after=after)
    name = deletions.attribution._names()[0]
    assert re.search(says.replace("·H", re.escape(name)), made.answer())
    assert (made.agreement() is None) == ("No single" in says)


def test_the_answer_of_one_word_has_no_control_and_of_none_says_so(deletions: WordDeletions) -> None:
    alone = replace(deletions, words=deletions.words[1:2], before=0.5, after=(0.1,))
    assert re.fullmatch("Without “dog”, .* is 0.10 instead of 0.50.", alone.answer())
    assert replace(deletions, words=(), after=()).answer() == "The source has no word to leave out."


def test_agreement_is_of_the_sums_of_words(deletions: WordDeletions) -> None:
    place = deletions.words[1].indices.start
    scores = {method: torch.zeros(len(deletions.attribution.contrast.tokens)) for method in METHODS}
    for each in scores.values():
        each[place] = 1
    made = replace(
        deletions, after=(0.9, 0.0, 0.9, 0.9), before=0.9, attribution=replace(deletions.attribution, scores=scores)
    )
    assert made.agreement() == "All 2 methods rank “dog” first of the source."
    scores["attention"][deletions.words[3].indices.start] = 2
    assert made.agreement() == "1 of 2 methods rank “dog” first of the source; Attention: “fast”."
