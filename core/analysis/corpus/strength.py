"""Strength of a head at a query and a key, and places to search for examples.

The strength is the norm of the vector that the head writes for one key in one row,

    s_ij = ||a_ij f(x_j)||,        f(x) = (x W_V + b_V) W_O,

in the units of the hidden states (Kobayashi et al. 2020, "Attention is Not Only a Weight"). The weight a_ij alone would
rank resting places highest: heads often put a weight near 1 on `</s>` or a comma, whose vector is short, and write next
to nothing.

Most heads are strongest where they always attend, which one example shows as well as ten. So the strongest pair of a
sentence is also searched at each place alone, such as the previous token, and `elsewhere`: at keys that are neither
special, the first token or punctuation nor at distance -1, 0 or 1. A sentence gives at most one example of a head at a
place, its strongest. Rows with a single visible key are left out, as in score-cards.
"""

import torch
from torch import Tensor

from core.analysis.corpus.index import PLACES
from core.analysis.heads.scorer import MeasuredRows
from core.capture import AttentionMap

USUAL = ("sink_end", "sink_start", "sink_punctuation", "previous", "same_position", "following")


def place_masks(rows: MeasuredRows, promoting: dict[str, Tensor] | None = None) -> Tensor:
    """Keys at each place of `PLACES`: boolean [P, H or 1, R, K].

    Those of `copies` and `translates` are `promoting`, [H, Q, K], see `promotion.promotes`; none without.
    """
    places = {
        "any": rows.visible,
        "elsewhere": rows.visible & ~torch.stack([rows.places[name] for name in USUAL]).any(0),
        **{name: place & rows.visible for name, place in rows.places.items()},
    }
    places |= {name: keys[:, rows.rows] for name, keys in (promoting or {}).items()}
    nowhere, heads = torch.zeros_like(rows.visible), rows.weights.size(0) if promoting else 1
    return torch.stack([places.get(name, nowhere).expand(heads, *nowhere.shape) for name in PLACES])


def strongest(strengths: Tensor, masks: Tensor) -> tuple[Tensor, Tensor]:
    """The strongest pair of each head and place, of strengths [H, R, K] where masks [P, H or 1, R, K] allow it.

    Returns:
        Strengths [H, P], 0 where there is none, and the index of each among the R * K pairs.
    """
    best = (strengths * masks).flatten(2).max(-1)  # [P, H]
    return best.values.T, best.indices.T


def map_strengths(attention: AttentionMap, norms: Tensor) -> Tensor:
    """s_ij of one layer, [H, Q, K], by the norms ||f(x_j)||, [H, K]."""
    return attention.weights * norms[:, None, : attention.weights.size(-1)]
