"""Distributions of heads as arrays of the file of an index, and back, checked.

sample_sentences  [n] uint16
sample_strengths  [heads, n] float32;  sample_queries, sample_keys  likewise uint16
weight_counts     [heads, WEIGHT_BINS] uint32
distance_shares   [heads, DISTANCES] float32;  diagonal_shares  likewise
token_ids         [heads, 2, 2, TOP_TOKENS] int32;  token_values  likewise float32
"""

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.analysis.corpus.distributions import DISTANCES, TOP_TOKENS, WEIGHT_BINS, DistributionTable
from core.analysis.corpus.index_arrays import Arrays, CorpusIndexError, array_of, check_places

FIELDS: dict[str, str] = dict(
    zip(
        (
            "sample_sentences",
            "sample_strengths",
            "sample_queries",
            "sample_keys",
            "weight_counts",
            "distance_shares",
            "diagonal_shares",
            "token_ids",
            "token_values",
        ),
        (field.name for field in dataclasses.fields(DistributionTable)),
        strict=True,
    )
)
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
