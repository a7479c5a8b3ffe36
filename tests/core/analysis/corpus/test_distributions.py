"""Distributions of heads compared with loops over passes of one sentence at a time, and the sample's properties."""

import math
from collections import Counter, defaultdict
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from core.analysis.attribution.forward_trace import trace_forward
from core.analysis.attribution.norms import head_norms
from core.analysis.corpus.collection import CorpusPass
from core.analysis.corpus.distribution_pass import UniformSample
from core.analysis.corpus.distributions import (
    DISTANCES,
    TOKEN_MEASURES,
    TOKEN_SIDES,
    WEIGHT_BINS,
    DistributionTable,
    TokenMeasure,
    least_occurrences,
    rounded,
)
from core.analysis.corpus.index import CorpusIndex
from core.text.byte_pieces import is_special
from core.text.text_files import Line
from core.trace import KINDS, Head
from core.translator import Translator
from tests.core.analysis.corpus.conftest import FACTS

HALF = Fraction(1, 2)


@pytest.fixture(scope="module")
def table(index: CorpusIndex) -> DistributionTable:
    return index.known_distributions()


class Loops:
    """All numbers of one head, by loops over rows and keys."""

    def __init__(self) -> None:
        self.strongest: dict[int, tuple[float, int, int]] = {}  # by line: strength, query and key
        self.weights, self.rows = Counter[int](), 0
        self.shares, self.diagonal = Counter[int](), Counter[int]()
        self.tokens: defaultdict[tuple[str, TokenMeasure, int], list[float]] = defaultdict(list)


@pytest.fixture(scope="module")
def loops(translator: Translator, lines: list[Line]) -> dict[Head, Loops]:
    found: defaultdict[Head, Loops] = defaultdict(Loops)
    for line in lines:
        trace = trace_forward(translator, line.source, line.target or "")
        source, fed, predicted = translator.token_ids(
            line.source, translator.codec.target_ids(line.target or "", line.source)
        )
        for kind in KINDS:
            places: dict[tuple[int, int], int] = {}  # of a cell beside the diagonal, the same for all heads
            for sublayer in trace.sublayers[kind]:
                attention, norms = sublayer.map, head_norms(sublayer)
                names = attention.row_tokens if kind == "cross" else attention.query_tokens
                ids = {"encoder_self": source, "decoder_self": fed, "cross": predicted}[kind]
                key_ids = fed if kind == "decoder_self" else source
                texts = [query for query, name in enumerate(names) if not is_special(name)]
                text_keys = [key for key, name in enumerate(attention.key_tokens) if not is_special(name)]
                for head in range(attention.num_heads):
                    of_head, largest = found[Head(kind, attention.layer, head)], -1.0
                    weights, strengths = attention.weights[head].tolist(), norms[head].tolist()
                    columns: dict[int, list[tuple[float, float]]] = {}
                    for query, row in enumerate(weights):
                        seen = [key for key in range(len(row)) if attention.visible[query, key]]
                        if len(seen) < 2:
                            continue
                        of_head.rows += query in texts
                        for measure, values in (("weight", row), ("strength", strengths[query])):
                            of_head.tokens["query", measure, ids[query]].append(max(values[key] for key in seen))
                        for key in seen:
                            columns.setdefault(key, []).append((row[key], strengths[query][key]))
                            known = of_head.strongest.get(line.number, (0.0,))
                            if strengths[query][key] > known[0]:
                                of_head.strongest[line.number] = strengths[query][key], query, key
                            if query not in texts or key not in text_keys:
                                continue
                            largest = max(largest, row[key])
                            of_head.shares[min(16, max(-16, key - query))] += row[key]
                            if (query, key) not in places:
                                slope = Fraction(len(text_keys), len(texts))
                                off = text_keys.index(key) + HALF - slope * (texts.index(query) + HALF)
                                places[query, key] = min(16, max(-16, math.floor(off + HALF)))
                            of_head.diagonal[places[query, key]] += row[key]
                    if largest >= 0:
                        of_head.weights[min(WEIGHT_BINS - 1, int(largest * WEIGHT_BINS))] += 1
                    for key, values in columns.items():
                        for number, measure in enumerate(TOKEN_MEASURES):
                            of_head.tokens["key", measure, key_ids[key]].append(max(each[number] for each in values))
    return found


def test_the_sample_of_a_small_corpus_has_the_strongest_pair_of_every_sentence(
    index: CorpusIndex, table: DistributionTable, loops: dict[Head, Loops]
):
    lines = [index.sentences[number].line for number in table.sentences]
    assert lines == sorted(lines)
    for row, head in enumerate(index.rows):
        strongest = loops[head].strongest
        assert lines == sorted(strongest)
        for at, line in enumerate(lines):
            strength, query, key = strongest[line]
            assert (table.queries[row, at], table.keys[row, at]) == (query, key), head
            assert table.strengths[row, at] == pytest.approx(strength, rel=1e-4)


def test_weights_and_distances_are_those_of_loops(
    index: CorpusIndex, table: DistributionTable, loops: dict[Head, Loops]
):
    for row, head in enumerate(index.rows):
        expected = loops[head]
        assert table.weights[row].tolist() == [expected.weights[place] for place in range(WEIGHT_BINS)], head
        shares = [expected.shares[distance] / expected.rows for distance in DISTANCES]
        np.testing.assert_allclose(table.distances[row], shares, rtol=1e-4, atol=1e-7)
        diagonal = [expected.diagonal[distance] / expected.rows * (head.kind == "cross") for distance in DISTANCES]
        np.testing.assert_allclose(table.diagonal[row], diagonal, rtol=1e-4, atol=1e-7)
        assert table.distances[row].sum() <= 1 + 1e-4


@pytest.mark.parametrize("side", TOKEN_SIDES)
@pytest.mark.parametrize("measure", TOKEN_MEASURES)
def test_top_tokens_have_the_largest_means_of_loops(
    index: CorpusIndex, table: DistributionTable, loops: dict[Head, Loops], side: str, measure: TokenMeasure
):
    for row, head in enumerate(index.rows):
        means = {
            token_id: sum(values) / len(values)
            for (its_side, its_measure, token_id), values in loops[head].tokens.items()
            if (its_side, its_measure) == (side, measure)
        }
        found = table.top_tokens(row, side, measure)  # type: ignore[arg-type]
        assert len(found) == min(20, len(means))
        assert len(dict(found)) == len(found)
        for token_id, value in found:
            assert value == pytest.approx(means[token_id], rel=1e-4)
        least = min(value for _, value in found)
        assert all(value <= least * (1 + 1e-4) for token_id, value in means.items() if token_id not in dict(found))


def test_rare_tokens_are_not_among_the_top_ones(translator: Translator, lines: list[Line]):
    assert [least_occurrences(number) for number in (1, 50, 51, 499, 500, 5_000)] == [1, 1, 2, 10, 10, 10]
    repeated = [Line(number, f"{lines[0].source} {'a' * number}", lines[0].target) for number in range(1, 52)]
    corpus = CorpusPass(translator, repeated)
    list(corpus.steps())
    index = corpus.index(FACTS)
    counts = Counter(
        token for line in repeated for token in translator.token_ids(line.source, line.target or "").source
    )
    table = index.known_distributions()
    for row, head in enumerate(index.rows):
        if head.kind != "decoder_self":
            assert all(counts[token] >= 2 for token, _ in table.top_tokens(row, "key", "weight"))


def test_a_sample_does_not_depend_on_the_order_of_reading_and_has_all_of_a_small_corpus():
    small, large = UniformSample(3, 10), UniformSample(200, 10)
    for number in range(3):
        small.add(number)
    assert set(small.kept) == {0, 1, 2}
    for number in range(200):
        large.add(number)
    again = UniformSample(200, 10)
    for number in reversed(range(200)):
        again.add(number)
    assert set(large.kept) == set(again.kept)
    assert len(large.kept) == 10


def test_every_sentence_is_sampled_with_the_same_probability_at_any_time():
    """Chi-square over 40 sentences; its mean is 39 with these counts, and over 80 is one in ten thousand."""
    population, size, trials = 60, 10, 3_000
    for read in (40, population):
        counts = Counter[int]()
        for seed in range(trials):
            sample = UniformSample(population, size, seed)
            for number in range(read):
                sample.add(number)
            counts.update(sample.kept.keys())
        expected = trials * size / read
        spread = expected * (1 - size / read)
        chi_square = sum((counts[number] - expected) ** 2 for number in range(read)) / spread * (read - 1) / read
        assert chi_square < 1.8 * read
        assert chi_square > 0.4 * read


def test_deciles_are_tenths_by_strength(index: CorpusIndex, table: DistributionTable):
    strengths = np.random.default_rng(0).permutation(300).astype(np.float32)  # with one of 0, which is none
    one = replace(table, strengths=strengths[None])
    assert sum(len(one.decile(0, decile)) for decile in range(1, 11)) == 100
    for decile in range(1, 11):
        found = strengths[one.decile(0, decile)].tolist()
        assert found == sorted(found, reverse=True)
        assert len(set(found)) == 10
        tenth = [number for number, part in enumerate(np.array_split(np.arange(1, 300), 10), 1) if found[0] in part]
        assert tenth == [decile]
        assert all(each in np.array_split(np.arange(1, 300), 10)[decile - 1] for each in found)
    for wrong in (0, 11):
        with pytest.raises(ValueError, match=f"there is no decile {wrong}, expected 1 to 10"):
            table.decile(0, wrong)
    head = next(iter(index.rows))
    of_all = [example for decile in range(1, 11) for example in index.decile_examples(head, decile)]
    assert sorted(each.sentence.line for each in of_all) == [index.sentences[number].line for number in table.sentences]
    assert index.decile_examples(head, 10)[0].strength == index.head_examples(head)[0].strength


def test_rounded_numbers_are_exact_to_a_part_in_65000_and_stay_in_order():
    values = np.sort(np.exp(np.random.default_rng(0).normal(size=5_000) * 5)).astype(np.float32)
    found = rounded(values)
    assert (np.abs(found / values - 1) < 2.0**-16 * 1.001).all()
    assert (np.diff(found) >= 0).all()
    assert (found.view(np.uint32) % 256 == 0).all()
    assert (rounded(found) == found).all()


def test_an_index_of_an_earlier_version_says_what_is_missing(index: CorpusIndex):
    old = replace(index, distributions=None)
    with pytest.raises(
        ValueError, match="deciles, weights, distances and top tokens are missing; make it anew with "
    ) as found:
        old.known_distributions()
    assert "--checkpoint tiny.safetensors --input tiny.corpus.npz -o tiny.corpus.npz" in str(found.value)
