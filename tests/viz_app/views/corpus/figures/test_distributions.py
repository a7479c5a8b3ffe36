"""Small charts of one head over all sentences, compared with the index."""

from dataclasses import replace

import numpy as np
import pytest

from core.analysis.corpus.distributions import DISTANCES, TOKEN_SIDES, WEIGHT_BINS, TokenMeasure
from core.analysis.corpus.index import CorpusIndex
from core.analysis.heads.head import Head
from core.analysis.tokens.words import readable
from core.translator import Translator
from viz_app.drawing.theme import LIGHT
from viz_app.views.corpus.figures import distributions as figures

CROSS, DECODER = Head("cross", 1, 2), Head("decoder_self", 0, 1)


def test_charts_have_the_numbers_of_their_tables_in_every_format(index: CorpusIndex) -> None:
    table = index.known_distributions()
    weights = figures.weights_figure(index, CROSS, LIGHT)
    assert list(weights.data[0].y) == table.weights[index.rows[CROSS]].tolist()
    assert sum(weights.data[0].y) == 20
    assert figures.weights_table(index, CROSS)["to"][-1] == 1
    assert weights.data[0].text[WEIGHT_BINS - 1].startswith("sentences with a strongest weight of 0.98 to 1.00: ")
    for diagonal, shares in ((False, table.distances), (True, table.diagonal)):
        figure = figures.distances_figure(index, CROSS, LIGHT, diagonal)
        assert list(figure.data[0].x) == list(DISTANCES)
        assert list(figure.data[0].y) == pytest.approx((100 * shares[index.rows[CROSS]]).tolist())
    decoder = figures.distances_figure(index, DECODER, LIGHT, diagonal=True)  # which has no other diagonal
    assert list(decoder.data[0].y) == pytest.approx((100 * table.distances[index.rows[DECODER]]).tolist())
    assert sum(decoder.data[0].y[DISTANCES.index(1) :]) == 0  # masked
    assert decoder.data[0].text[0].startswith("distance \u2264 \u221216: ")
    assert figures.distances_table(index, DECODER).keys() == {"distance", "share"}


def test_the_lines_of_a_decile_are_at_its_ends(index: CorpusIndex) -> None:
    table = figures.strengths_table(index, CROSS)
    assert table["decile"] == [number for number in range(1, 11) for _ in range(2)]
    assert table["strength"] == sorted(table["strength"])
    figure = figures.strengths_figure(index, CROSS, LIGHT, 3)
    assert sum(figure.data[0].y) == 20
    width = max(table["strength"]) / figures.STRENGTH_BINS
    ends = [(shape.x0 + 0.5) * width for shape in figure.layout.shapes]
    assert sorted(ends) == pytest.approx(table["strength"][4:6])
    assert not figures.strengths_figure(index, CROSS, LIGHT).layout.shapes
    for line, query, key, strength in zip(*(table[name] for name in ("line", "query", "key", "strength")), strict=True):
        examples = [each for decile in range(1, 11) for each in index.decile_examples(CROSS, decile)]
        (example,) = [each for each in examples if each.sentence.line == line]
        assert (example.query, example.key, example.strength) == (query, key, strength)


@pytest.mark.parametrize("measure", ["weight", "strength"])
def test_top_tokens_are_named_as_in_their_sentences(
    stepped: Translator, index: CorpusIndex, measure: TokenMeasure
) -> None:
    for head in (CROSS, DECODER, Head("encoder_self", 1, 0)):
        table = figures.tokens_table(stepped, index, head, measure)
        names = {
            side: {name for name, each in zip(table["token"], table["side"], strict=True) if each == side}
            for side in TOKEN_SIDES
        }
        known: dict[str, set[str]] = {"query": set(), "key": set()}
        for sentence in index.sentences:
            (attention, *_) = stepped.explain(sentence.source, sentence.target).maps[head.kind]
            known["query"] |= {*map(readable, attention.row_tokens if head.kind == "cross" else attention.query_tokens)}
            known["key"] |= {*map(readable, attention.key_tokens)}
        assert names["query"] <= known["query"]
        assert names["key"] <= known["key"]
        assert [rank for rank, side in zip(table["rank"], table["side"], strict=True) if side == "key"] == list(
            range(1, 21)
        )


def test_tokens_of_another_vocabulary_are_refused(stepped: Translator, index: CorpusIndex) -> None:
    table = index.known_distributions()
    other = replace(index, distributions=replace(table, token_ids=np.full_like(table.token_ids, 10**6)))
    with pytest.raises(
        ValueError, match=r"the index has the token id 1,000,000, the vocabulary \d+ tokens: it belongs"
    ):
        figures.tokens_table(stepped, other, CROSS, "weight")
