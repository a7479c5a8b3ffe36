"""Charts of one head over all sentences, compared with the index."""

from dataclasses import replace

import numpy as np
import pytest

from core.analysis.corpus.distributions import DISTANCES, TOKEN_SIDES, TokenMeasure
from core.analysis.corpus.head_charts import sampled_strengths, strongest_weights, tokens_table, weight_by_distance
from core.analysis.corpus.index import CorpusIndex
from core.analysis.tokens.words import readable
from core.trace import Head
from core.translator import Translator

CROSS, DECODER = Head("cross", 1, 2), Head("decoder_self", 0, 1)


def test_charts_have_the_numbers_of_the_index(index: CorpusIndex) -> None:
    table = index.known_distributions()
    weights = strongest_weights(index, CROSS)
    assert weights.picture.curves[0].values == table.weights[index.rows[CROSS]].tolist()
    assert (sum(weights.table()["sentences"]), weights.table()["to"][-1]) == (12, 1)
    for diagonal, shares in ((False, table.distances), (True, table.diagonal)):
        (curve,) = weight_by_distance(index, CROSS, diagonal).picture.curves
        assert (curve.places, curve.values) == (DISTANCES, shares[index.rows[CROSS]].tolist())
    decoder = weight_by_distance(index, DECODER, diagonal=True)  # which has no other diagonal
    assert decoder.picture.curves[0].values == table.distances[index.rows[DECODER]].tolist()
    assert sum(decoder.table()["share"][DISTANCES.index(1) :]) == 0  # masked
    assert decoder.table().keys() == {"distance", "share"}
    assert [str(name) for _, name in decoder.picture.names][::16] == ["\u2264 -16", "0", "\u2265 +16"]


def test_the_bars_of_a_decile_are_among_those_of_all(index: CorpusIndex) -> None:
    found = sampled_strengths(index, CROSS, 1)
    table = found.table()
    assert (sorted(set(table["decile"])), len(table["decile"])) == ([*range(1, 11)], 12)
    assert table["strength"] == sorted(table["strength"])
    everything, decile = found.picture.curves
    assert (sum(everything.values), sum(decile.values)) == (12, 2)
    assert all(part <= whole for part, whole in zip(decile.values, everything.values, strict=True))
    assert everything.places[-1] == pytest.approx(max(table["strength"]) * 59 / 60)
    (alone,) = sampled_strengths(index, CROSS).picture.curves
    assert alone.values == everything.values
    for line, query, key, strength in zip(*(table[name] for name in ("line", "query", "key", "strength")), strict=True):
        examples = [each for decile in range(1, 11) for each in index.decile_examples(CROSS, decile)]
        (example,) = [each for each in examples if each.sentence.line == line]
        assert (example.query, example.key, example.strength) == (query, key, strength)


@pytest.mark.parametrize("measure", ["weight", "strength"])
def test_top_tokens_are_named_as_in_their_sentences(
    translator: Translator, index: CorpusIndex, measure: TokenMeasure
) -> None:
    for head in (CROSS, DECODER, Head("encoder_self", 1, 0)):
        table = tokens_table(translator, index, head, measure)
        names = {
            side: {name for name, each in zip(table["token"], table["side"], strict=True) if each == side}
            for side in TOKEN_SIDES
        }
        known: dict[str, set[str]] = {"query": set(), "key": set()}
        for sentence in index.sentences:
            (attention, *_) = translator.explain(sentence.source, sentence.target).maps[head.kind]
            known["query"] |= {*map(readable, attention.row_tokens if head.kind == "cross" else attention.query_tokens)}
            known["key"] |= {*map(readable, attention.key_tokens)}
        assert names["query"] <= known["query"]
        assert names["key"] <= known["key"]
        assert [rank for rank, side in zip(table["rank"], table["side"], strict=True) if side == "key"] == list(
            range(1, 21)
        )


def test_tokens_of_another_vocabulary_are_refused(translator: Translator, index: CorpusIndex) -> None:
    table = index.known_distributions()
    other = replace(index, distributions=replace(table, token_ids=np.full_like(table.token_ids, 10**6)))
    with pytest.raises(ValueError, match=r"the index has the token id 1,000,000, the vocabulary \d+ tokens: it belong"):
        tokens_table(translator, other, CROSS, "weight")
