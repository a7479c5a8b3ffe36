"""What a head does in all sentences of a corpus, not only where it is strongest.

All but the sample and the tokens is counted **between tokens of the text**: from and to tokens that are not special, in
rows with at least two visible keys. A head with nothing to do attends to `</s>`; how far away that is means nothing.

- The strongest weight of each sentence, in `WEIGHT_BINS` equal bins from 0 to 1.
- The weight at each signed distance, key minus query, as a share of all weight of these rows; the outermost bins take
  all that is farther. In cross-attention, whose positions are of two sentences, also against the diagonal of the map,
  j + 1/2 - (i + 1/2) S / T, as in `heads.attention_distance`, rounded.
- The tokens from which and to which the head attends most, special ones included: the largest weight, or strength, in
  the row of a query or the column of a key, mean over the token's occurrences; see `least_occurrences`.
- The strongest pair of each sentence of a sample, the same for all heads, in which every sentence of the corpus is with
  the same probability. Its tenths by strength, deciles, show the usual examples beside the extreme ones.
"""

import dataclasses
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from core.analysis.corpus.index_arrays import Arrays, CorpusIndexError, array_of, check_places

SAMPLE_SIZE = 300
WEIGHT_BINS = 50
FARTHEST = 16  # tokens: distances beyond are counted with it
DISTANCES = tuple(range(-FARTHEST, FARTHEST + 1))
TOP_TOKENS = 20
DECILES = 10
EXAMPLES_OF_DECILE = 10

TokenSide = Literal["query", "key"]
TokenMeasure = Literal["weight", "strength"]
TOKEN_SIDES: tuple[TokenSide, ...] = ("query", "key")
TOKEN_MEASURES: tuple[TokenMeasure, ...] = ("weight", "strength")


@dataclass(frozen=True, eq=False)
class DistributionTable:
    """Distributions of all heads, in the order of the index's cards: N heads, n sampled sentences."""

    sentences: NDArray[np.uint16]  # [n] of the sample, in the order of `CorpusIndex.sentences`
    strengths: NDArray[np.float32]  # [N, n] of the strongest pair of each; 0 where a head has no row that counts
    queries: NDArray[np.uint16]  # [N, n] positions of this pair, with `keys`
    keys: NDArray[np.uint16]
    weights: NDArray[np.uint32]  # [N, WEIGHT_BINS] number of sentences by their strongest weight
    distances: NDArray[np.float32]  # [N, len(DISTANCES)] share of the weight; what lacks to 1 is on special tokens
    diagonal: NDArray[np.float32]  # the same, against the diagonal; 0 in self-attention
    token_ids: NDArray[np.int32]  # [N, 2, 2, TOP_TOKENS] top tokens by `TOKEN_SIDES` and `TOKEN_MEASURES`; -1 if fewer
    token_values: NDArray[np.float32]  # their mean weight or strength

    def decile(self, row: int, decile: int) -> list[int]:
        """Places in the sample of the examples of a head's decile, from 1, the weakest; strongest first, evenly taken.

        Raises:
            ValueError: there is no such decile.
        """
        if not 1 <= decile <= DECILES:
            raise ValueError(f"there is no decile {decile}, expected 1 to {DECILES}")
        strengths = self.strengths[row]
        order = strengths.argsort(kind="stable")
        part = np.array_split(order[strengths[order] > 0], DECILES)[decile - 1][::-1]
        count = min(len(part), EXAMPLES_OF_DECILE)
        return [int(part[place * len(part) // count]) for place in range(count)]

    def top_tokens(self, row: int, side: TokenSide, measure: TokenMeasure) -> list[tuple[int, float]]:
        """Ids of the top tokens of a head with their mean weight or strength, largest first."""
        at = row, TOKEN_SIDES.index(side), TOKEN_MEASURES.index(measure)
        found = zip(self.token_ids[at].tolist(), self.token_values[at].tolist(), strict=True)
        return [(token_id, value) for token_id, value in found if token_id >= 0]


def least_occurrences(num_sentences: int) -> int:
    """How often a token must occur to be among the top ones: ten times, or once for every fifty sentences if that is
    less. Ones that are rarer have large means by chance.
    """
    return min(10, -(-num_sentences // 50))


def rounded(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Values with 15 bits after the first, exact to 1 part in 65,000: files with them are a quarter smaller."""
    bits = np.ascontiguousarray(values).view(np.uint32)
    return ((bits + np.uint32(0x7F) + (bits >> 8 & 1)) & np.uint32(0xFFFFFF00)).view(np.float32)


# --- Arrays of the file of an index ---------------------------------------------------------------------------------
# sample_sentences  [n] uint16
# sample_strengths  [heads, n] float32;  sample_queries, sample_keys  likewise uint16
# weight_counts     [heads, WEIGHT_BINS] uint32
# distance_shares   [heads, DISTANCES] float32;  diagonal_shares  likewise
# token_ids         [heads, 2, 2, TOP_TOKENS] int32;  token_values  likewise float32
_ARRAYS = (
    *("sample_sentences", "sample_strengths", "sample_queries", "sample_keys", "weight_counts", "distance_shares"),
    *("diagonal_shares", "token_ids", "token_values"),
)
FIELDS = dict(zip(_ARRAYS, (field.name for field in dataclasses.fields(DistributionTable)), strict=True))
NAMES = frozenset(FIELDS)
MAX_SAMPLE = 10_000


def distribution_arrays(table: DistributionTable) -> Arrays:
    """Arrays by their names in the file."""
    return {name: getattr(table, field) for name, field in FIELDS.items()}


def read_distributions(arrays: Arrays, lengths: NDArray[Any], sides: NDArray[Any]) -> DistributionTable:
    """Check the arrays of a file, by lengths [N, 2] of sentences and by sides [heads, 1, 2] of queries and keys.

    Raises:
        CorpusIndexError: they are not distributions of these heads and sentences.
    """
    heads, sampled = len(sides), array_of(arrays, "sample_sentences", np.uint16, None)
    if not 1 <= len(sampled) <= MAX_SAMPLE:
        raise CorpusIndexError(f"its sample has {len(sampled)} sentences, expected 1 to {MAX_SAMPLE}")
    shapes: dict[str, tuple[type[np.generic], tuple[int, ...]]] = {
        "sample_strengths": (np.float32, (heads, len(sampled))),
        "sample_queries": (np.uint16, (heads, len(sampled))),
        "sample_keys": (np.uint16, (heads, len(sampled))),
        "weight_counts": (np.uint32, (heads, WEIGHT_BINS)),
        "distance_shares": (np.float32, (heads, len(DISTANCES))),
        "diagonal_shares": (np.float32, (heads, len(DISTANCES))),
        "token_ids": (np.int32, (heads, 2, 2, TOP_TOKENS)),
        "token_values": (np.float32, (heads, 2, 2, TOP_TOKENS)),
    }
    checked = {"sample_sentences": sampled}
    for name, (dtype, shape) in shapes.items():
        checked[name] = array = array_of(arrays, name, dtype, shape)
        if dtype is np.float32 and not (np.isfinite(array) & (array >= 0)).all():
            raise CorpusIndexError(f"{name} has values that are negative or not finite")
    if checked["token_ids"].min() < -1:
        raise CorpusIndexError(f"it has the token id {checked['token_ids'].min()}, expected -1 or more")
    if (sampled >= len(lengths)).any():
        raise CorpusIndexError(f"its sample has a sentence beyond its {len(lengths)} sentences")
    places = np.broadcast_to(sampled, (heads, len(sampled)))
    check_places(
        checked["sample_strengths"], places, lengths, sides, (checked["sample_queries"], checked["sample_keys"])
    )
    return DistributionTable(**{FIELDS[name]: array for name, array in checked.items()})
