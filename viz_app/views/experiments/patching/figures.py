"""Effects of patches as grids and tables."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import torch

from core.analysis.heads.head import Head
from core.analysis.interventions.pair_runs import COMPONENTS, Component, PairRuns, side_of
from core.analysis.interventions.patch import PatchedComponents, PatchedPaths, position_tokens
from core.analysis.interventions.patching import Effects, Into
from core.analysis.pictures import Cell, Grid
from core.analysis.tokens.words import readable
from core.capture import KINDS, Kind
from core.trace import Stack
from viz_app.drawing.display_text import decimal
from viz_app.language import marked, tr

if TYPE_CHECKING:
    import pandas as pd

COMPONENT_NAMES: dict[Component, str] = {
    "encoder_self": marked("Self-attention"),
    "encoder_feed_forward": marked("Feed-forward"),
    "encoder_state": marked("State after the layer"),
    "decoder_self": marked("Self-attention"),
    "cross": marked("Cross-attention"),
    "decoder_feed_forward": marked("Feed-forward"),
    "decoder_state": marked("State after the layer"),
}
SHARE_NAMES: dict[Into, str] = {
    "corrupted": marked("share of the difference that the patch recovers"),
    "clean": marked("share of the difference that the patch destroys"),
}
SMALLEST = 0.05  # smaller shares leave a cell empty, of a scale up to 1
LEAST_LIMIT = 0.02  # a smaller scale would show noise


CELL_TITLES: dict[Component, str] = {
    "encoder_self": marked("Encoder self-attention L{layer}"),
    "encoder_feed_forward": marked("Encoder feed-forward L{layer}"),
    "encoder_state": marked("Encoder state after the layer L{layer}"),
    "decoder_self": marked("Decoder self-attention L{layer}"),
    "cross": marked("Cross-attention L{layer}"),
    "decoder_feed_forward": marked("Decoder feed-forward L{layer}"),
    "decoder_state": marked("Decoder state after the layer L{layer}"),
}
GRID_NAMES: dict[Stack, str] = {
    "encoder": marked("Effects of patches in the encoder"),
    "decoder": marked("Effects of patches in the decoder"),
}
KIND_NAMES: dict[Kind, str] = {
    "encoder_self": marked("Encoder"),
    "decoder_self": marked("Decoder"),
    "cross": marked("Cross-attention"),
}


class PatchedCell(NamedTuple):
    """A component of a layer at a position, counted from 0."""

    component: Component
    layer: int
    position: int


def components_of(side: Stack) -> list[Component]:
    """Return the components of one side, in the order of the columns."""
    return [component for component in COMPONENTS if side_of(component) == side]


def cell_title(cell: PatchedCell) -> str:
    """Return the name of a cell without its token: `Encoder self-attention L3`."""
    return tr(CELL_TITLES[cell.component], layer=cell.layer + 1)


def position_names(pairs: Sequence[PairRuns], component: Component) -> list[str]:
    """Return the token at each position, or both where the sentences differ: `girl | boy`."""
    names: list[str] = []
    for clean, corrupted in zip(*position_tokens(pairs, component), strict=True):
        others = "/".join(map(readable, corrupted.split("/"))) if "/" in corrupted else readable(corrupted)
        names.append(readable(clean) if clean == corrupted else f"{readable(clean)} | {others}")
    return names


def share_cell(share: float, *, limit: float = 1.0, head: Head | None = None) -> Cell:
    """Return a cell for a share on a diverging linear scale from -limit to limit; NaN is not measured yet."""
    if share != share:
        return Cell(text="", says=tr("not measured yet"), shade=0.0, head=head)
    text = decimal(share, 2 if limit == 1 else 3) if abs(share) >= SMALLEST * limit else ""
    return Cell(text=text, says=decimal(share, 3, sign=True), shade=share / limit, head=head)


def share_grid(
    title: str,
    into: Into,
    columns: Sequence[str],
    rows: Sequence[tuple[str, Sequence[Cell | None]]],
    limit: float = 1.0,
    width: int = 4,
    groups: Sequence[tuple[str, int]] = (),
) -> Grid:
    """Return a grid of such cells."""
    end = decimal(limit, 0 if limit == 1 else 3)
    return Grid(
        title=title,
        legend=tr(SHARE_NAMES[into]),
        ends=(f"\u2212{end}", end),
        scale="diverging",
        columns=columns,
        rows=rows,
        groups=groups,
        width=width,
    )


def side_grid(effects: Mapping[Component, Effects], pairs: Sequence[PairRuns], side: Stack, into: Into) -> Grid:
    """Return a grid of one side, with a row for each position, and a column for each layer of each component."""
    components = components_of(side)
    shares = torch.cat([effects[component].moved(into) for component in components])  # [components x layers, positions]
    layers = len(shares) // len(components)
    rows = [
        (token, [share_cell(share) for share in of_position])
        for token, of_position in zip(position_names(pairs, components[0]), shares.T.tolist(), strict=True)
    ]
    columns = [f"L{layer + 1}" for layer in range(layers)] * len(components)
    groups = [(tr(COMPONENT_NAMES[component]), layers) for component in components]
    return share_grid(tr(GRID_NAMES[side]), into, columns, rows, groups=groups)


def grid_cell(place: tuple[int, int], side: Stack, layers: int) -> PatchedCell:
    """Return the component, layer and position of a cell of `side_grid`."""
    position, column = place
    return PatchedCell(components_of(side)[column // layers], column % layers, position)


def place_of(cell: PatchedCell, layers: int) -> tuple[int, int]:
    """Return the row and the column of a component, layer and position in the grid of its side."""
    components = components_of(side_of(cell.component))
    return cell.position, components.index(cell.component) * layers + cell.layer


def heads_grid(effects: Effects, kind: Kind, layer: int, into: Into) -> Grid:
    """Return a grid with one row: the effect of each head of a layer."""
    shares = effects.moved(into).tolist()
    cells = [share_cell(share, head=Head(kind, layer, head)) for head, share in enumerate(shares)]
    columns = [f"H{head + 1}" for head in range(len(cells))]
    return share_grid(tr("Effects of single heads"), into, columns, [(f"L{layer + 1}", cells)], width=5)


def senders_grid(senders: Sequence[Head], effects: Effects, into: Into) -> Grid:
    """Return a grid with a row for each layer: the effect of each of its heads through the paths to a receiver.

    Args:
        effects: [senders, 1]
    """
    shares = dict(zip(senders, effects.moved(into)[:, 0].tolist(), strict=True))
    limit = shares_limit(list(shares.values()))
    kinds: list[Kind] = [kind for kind in KINDS if any(head.kind == kind for head in senders)]
    heads = range(max((head.head for head in senders), default=0) + 1)

    def cell(head: Head) -> Cell | None:
        return share_cell(shares[head], limit=limit, head=head) if head in shares else None

    return share_grid(
        tr("Effects of heads through the paths to the receiver"),
        into,
        [f"H{head + 1}" for head in heads] * len(kinds),
        [
            (f"L{layer + 1}", [cell(Head(kind, layer, head)) for kind in kinds for head in heads])
            for layer in sorted({head.layer for head in senders})
        ],
        limit,
        6,
        [(tr(KIND_NAMES[kind]), len(heads)) for kind in kinds],
    )


def positions_grid(effects: Effects, names: Sequence[str], into: Into) -> Grid:
    """Return a grid with one row: the effect of a head's output by position, through the paths to a receiver.

    Args:
        effects: [1, positions]
    """
    shares = effects.moved(into)[0].tolist()
    limit = shares_limit(shares)
    cells = [share_cell(share, limit=limit) for share in shares]
    return share_grid(tr("Effects by position of the sender"), into, list(names), [("", cells)], limit, 7)


def shares_limit(shares: Sequence[float]) -> float:
    """Return the end of a scale for the effects of paths, which are small: the largest of them."""
    return max(LEAST_LIMIT, *(abs(share) for share in shares if share == share), 0.0)


def map_table(pairs: Sequence[PairRuns], effects: Mapping[Component, Effects], side: Stack) -> "pd.DataFrame":
    """Return a row for each component, layer and position of one side, as `python -m core patch` prints them."""
    import pandas as pd

    shown: dict[Component, Effects] = {component: effects[component] for component in components_of(side)}
    return pd.DataFrame(PatchedComponents(pairs, shown).table())


def heads_table(effects: Effects) -> "pd.DataFrame":
    """Return a row for each head, counted from 0."""
    import pandas as pd

    values, shares = effects.values.tolist(), effects.recovered.tolist()
    return pd.DataFrame({"head": range(len(values)), "metric": values, "recovered": shares})


def paths_table(senders: Sequence[Head], effects: Effects) -> "pd.DataFrame":
    """Return a row for each sender, as `python -m core patch --paths-to` prints them."""
    import pandas as pd

    return pd.DataFrame(PatchedPaths((), senders, effects).table())


def positions_table(effects: Effects, names: Sequence[str]) -> "pd.DataFrame":
    """Return a row for each position of a sender."""
    import pandas as pd

    values, shares = effects.values[0].tolist(), effects.recovered[0].tolist()
    return pd.DataFrame({"position": range(len(names)), "token": names, "metric": values, "recovered": shares})
