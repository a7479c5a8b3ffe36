"""Properties of positional encodings (3.5), sinusoidal or learned."""

import math
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor

from core.analysis.correlation import spearman
from core.analysis.declaration import Columns
from core.files.extras import needs
from core.files.shipped_files import shipped_folder
from core.files.tabular import as_columns
from core.model import Transformer, sinusoidal_encoding

if TYPE_CHECKING:
    import pandas as pd

Measure = Literal["dot", "cosine", "distance"]
CHANGE = 0.1  # of a dimension that is drawn, from its smallest value to its largest; sinusoids have 2 at most


def model_positions(model: Transformer, num_positions: int) -> Tensor:
    """Positional encodings of a model: [num_positions, D].

    Fewer rows if the model has learned fewer positions; zeros if its positions are relative.
    """
    if model.config.positions == "learned":
        num_positions = min(num_positions, model.config.max_positions)
    with torch.no_grad():
        return model.embedding.positions(0, num_positions).float().cpu().clone()


def changing_waves(encoding: Tensor) -> list[int]:
    """Sines, the even dimensions, then cosines of the pairs that change over these positions; all if none does."""
    pairs = (encoding.amax(0) - encoding.amin(0)).view(-1, 2).amax(1)
    sines = [2 * pair for pair, change in enumerate(pairs.tolist()) if change > CHANGE]
    sines = sines or list(range(0, encoding.size(1), 2))
    return [*sines, *(sine + 1 for sine in sines)]


def position_similarity(encoding: Tensor, measure: Measure = "dot") -> Tensor:
    """Similarity of all pairs of positions.

    For sinusoids it depends only on the distance between the two: the dot product is the sum over pairs of dimensions
    of cos(distance * frequency), d_model / 2 for a position with itself. Every sinusoidal encoding has length
    sqrt(d_model / 2), so the cosine is the dot product divided by d_model / 2. The distance is the Euclidean one.

    Args:
        encoding: [positions, d_model], sinusoidal or learned.

    Returns:
        [positions, positions], symmetric.
    """
    if measure == "distance":
        return torch.cdist(encoding.double(), encoding.double(), compute_mode="donot_use_mm_for_euclid_dist").to(
            encoding
        )
    if measure == "cosine":
        encoding = torch.nn.functional.normalize(encoding, dim=1)
    return encoding @ encoding.T


def correlation_with_sinusoids(encoding: Tensor) -> float:
    """Rank correlation, over all pairs of positions, of their cosine with that of sinusoids: [positions, d_model].

    Sinusoids at the same distance are equally similar: rounding must not give them different ranks.
    """
    mine, paper = (position_similarity(each, "cosine") for each in (encoding, sinusoidal_encoding(*encoding.shape)))
    above = mine.new_ones(mine.shape).triu(1).bool()
    return spearman(mine[above], paper[above].round(decimals=4))


def wavelengths(d_model: int) -> Tensor:
    """Wavelength of each sine-cosine pair, in positions, from 2 pi to almost 10000 * 2 pi: [d_model / 2] (3.5)."""
    return 2 * math.pi * 10000.0 ** (torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)


def rotated(encoding: Tensor, offset: int) -> Tensor:
    """Rotate each sine-cosine pair by offset * frequency (3.5).

    PE(pos + k) is a linear function of PE(pos): by the addition theorems, sin(wp + wk) = sin(wp) cos(wk) + cos(wp)
    sin(wk) and cos(wp + wk) = cos(wp) cos(wk) - sin(wp) sin(wk), a rotation of each pair that does not depend on p.

    Args:
        encoding: [positions, d_model], sines in the even columns, cosines in the odd ones.
        offset: k, in positions; may be negative.

    Returns:
        [positions, d_model]: the encodings of the positions shifted by `offset`.
    """
    angle = offset * 2 * math.pi / wavelengths(encoding.size(1))  # [d_model / 2]
    sine, cosine = encoding[:, ::2].double(), encoding[:, 1::2].double()
    pairs = sine * angle.cos() + cosine * angle.sin(), cosine * angle.cos() - sine * angle.sin()
    return torch.stack(pairs, dim=-1).flatten(1).to(encoding)


def rotation_error(num_positions: int, d_model: int, offset: int) -> float:
    """Largest deviation of PE(pos) rotated by `offset` from PE(pos + offset), over all dimensions and positions."""
    encoding = sinusoidal_encoding(num_positions + offset, d_model)
    return float((rotated(encoding[:num_positions], offset) - encoding[offset:]).abs().max())


def similarity_by_distance(encoding: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Minimum, mean and maximum cosine by distance from 0: [positions] each."""
    similarity = position_similarity(encoding, "cosine")
    diagonals = [similarity.diagonal(distance) for distance in range(len(encoding))]
    extremes = ((diagonal.min(), diagonal.mean(), diagonal.max()) for diagonal in diagonals)
    minimum, mean, maximum = map(torch.stack, zip(*extremes, strict=True))
    return minimum, mean, maximum


# --- Tables; positions and dimensions are counted from 0 --------------------------------------------------------------


def by_position(values: Tensor) -> Columns:
    """A row for each position, and a column for each dimension of an encoding, or each other position."""
    columns = {str(number): column for number, column in enumerate(values.T.tolist())}
    return {"position": list(range(len(values))), **columns}


def sinusoid_columns(dimensions: Sequence[int], num_positions: int, d_model: int) -> Columns:
    """A row for each position of each selected dimension, with its period."""
    encoding, periods = sinusoidal_encoding(num_positions, d_model), wavelengths(d_model)
    rows = (
        (dimension, periods[dimension // 2].item(), position, encoding[position, dimension].item())
        for dimension in dimensions
        for position in range(num_positions)
    )
    return as_columns(("dimension", "period", "position", "value"), rows)


def rotation_columns(position: int, offset: int, d_model: int) -> Columns:
    """A row for each dimension: its value at a position, rotated, and at the position `offset` later.

    The last two agree: the encoding at `position + offset` is a rotation of that at `position`.
    """
    encoding = sinusoidal_encoding(position + offset + 1, d_model)
    return {
        "dimension": list(range(d_model)),
        "turned_by_degrees": (360 * offset / wavelengths(d_model)).repeat_interleave(2)[:d_model].tolist(),
        f"position_{position}": encoding[position].tolist(),
        f"position_{position}_turned": rotated(encoding[position : position + 1], offset)[0].tolist(),
        f"position_{position + offset}": encoding[position + offset].tolist(),
    }


def distance_columns(learned: Tensor) -> Columns:
    """A row for each distance: cosines of learned and of sinusoidal positions that far apart."""
    least, mean, most = (cosines.tolist() for cosines in similarity_by_distance(learned))
    _, sinusoidal, _ = similarity_by_distance(sinusoidal_encoding(*learned.shape))
    names = ("distance", "learned_least", "learned_mean", "learned_most", "sinusoidal")
    return dict(zip(names, (list(range(len(learned))), least, mean, most, sinusoidal.tolist()), strict=True))


@cache
def extrapolation_table() -> "pd.DataFrame":
    """Return what `docs/measurements/extrapolation.py` measured: the share of `exact` answers by `preset`, `seed` and
    number of `letters`, and whether there were texts of this length `in_training`.
    """
    with needs("app", "the table of extrapolation"):
        import pandas as pd

    return pd.read_csv(shipped_folder("docs/measurements") / "extrapolation.csv")
