"""Charts of one head over all sentences, compared with the index."""

import pytest

from core.analysis.corpus.distributions import DISTANCES
from core.analysis.corpus.head_charts import sampled_strengths, strongest_weights, weight_by_distance
from core.analysis.corpus.index import CorpusIndex
from core.trace import Head

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
