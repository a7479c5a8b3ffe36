"""Tables of the position figures; positions, dimensions and tokens are counted from 0."""

from collections.abc import Sequence
from functools import cache

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from core.analysis.positions import Measure, position_similarity, rotated, similarity_by_distance, wavelengths
from core.analysis.score_decomposition import ScoreParts
from core.analysis.tokens.words import readable
from core.files.shipped_files import shipped_folder
from core.model import sinusoidal_encoding


def encoding_table(encoding: Tensor) -> pd.DataFrame:
    """Return a row for each position, a column for each dimension."""
    table = pd.DataFrame(encoding.numpy(), columns=[str(dimension) for dimension in range(encoding.size(1))])
    return table.rename_axis("position").reset_index()


def sinusoids_table(dimensions: Sequence[int], num_positions: int, d_model: int) -> pd.DataFrame:
    """Return a row for each position of each selected dimension, with its period."""
    encoding, periods = sinusoidal_encoding(num_positions, d_model), wavelengths(d_model)
    rows = [
        (dimension, periods[dimension // 2].item(), position, encoding[position, dimension].item())
        for dimension in dimensions
        for position in range(num_positions)
    ]
    return pd.DataFrame(rows, columns=["dimension", "period", "position", "value"])


def similarity_table(encoding: Tensor, measure: Measure = "dot") -> pd.DataFrame:
    """Return a row and a column for each position."""
    similarity = position_similarity(encoding, measure)
    table = pd.DataFrame(similarity.numpy(), columns=[str(position) for position in range(len(encoding))])
    return table.rename_axis("position").reset_index()


def rotation_table(position: int, offset: int, d_model: int) -> pd.DataFrame:
    """Return a row for each dimension: its value at a position, `offset` later, and the rotated value.

    The last two agree: the encoding at `position + offset` is a rotation of that at `position`.
    """
    encoding = sinusoidal_encoding(position + offset + 1, d_model)
    degrees = 360 * offset / wavelengths(d_model)
    return pd.DataFrame(
        {
            "dimension": np.arange(d_model),
            "turned_by_degrees": np.repeat(degrees.numpy(), 2)[:d_model],
            f"position_{position}": encoding[position].numpy(),
            f"position_{position}_turned": rotated(encoding[position : position + 1], offset)[0].numpy(),
            f"position_{position + offset}": encoding[position + offset].numpy(),
        }
    )


def by_distance_table(learned: Tensor) -> pd.DataFrame:
    """Return a row for each distance: cosines of learned and of sinusoidal positions that far apart."""
    least, mean, most = similarity_by_distance(learned)
    sinusoidal = similarity_by_distance(sinusoidal_encoding(*learned.shape))[1]
    columns = torch.stack((least, mean, most, sinusoidal), 1).numpy()
    table = pd.DataFrame(columns, columns=["learned_least", "learned_mean", "learned_most", "sinusoidal"])
    return table.rename_axis("distance").reset_index()


@cache
def extrapolation_table() -> pd.DataFrame:
    """Return what `docs/measurements/extrapolation.py` measured: the share of `exact` answers by `preset`, `seed` and
    number of `letters`, and whether there were texts of this length `in_training`.
    """
    return pd.read_csv(shipped_folder("docs/measurements") / "extrapolation.csv")


def score_table(decomposition: ScoreParts, head: int) -> pd.DataFrame:
    """Return a row for each query and visible key: the parts of the score, their sum, and the model's score."""
    queries, keys = (places.numpy() for places in decomposition.allowed.nonzero(as_tuple=True))
    names = np.array([readable(token) for token in decomposition.tokens], dtype=object)
    table = pd.DataFrame({"query_position": queries, "query": names[queries], "key_position": keys, "key": names[keys]})
    for name, part in decomposition.parts.items():
        table[name] = part[head].numpy()[queries, keys]
    table["sum"] = decomposition.total[head].numpy()[queries, keys]
    table["score"] = decomposition.scores[head].numpy()[queries, keys]
    return table
