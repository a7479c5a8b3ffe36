"""Effects of patches as grids and tables."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from core.analysis.heads.head import Head
from core.analysis.interventions.pair_runs import COMPONENTS, Component, PairRuns, side_of
from core.analysis.interventions.patch import PatchedComponents, PatchedPaths, position_tokens
from core.analysis.interventions.patching import Effects, Into
from core.analysis.tokens.words import readable
from core.capture import KINDS, Kind
from core.trace import Stack
from viz_app.drawing.cell_grid import CellGrid, GridCell, Legend
from viz_app.drawing.display_text import decimal
from viz_app.drawing.head_grid import readable_on
from viz_app.drawing.head_names import head_title
from viz_app.drawing.theme import Theme
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


def share_cell(share: float, name: str, theme: Theme, *, limit: float = 1.0, marked: bool = False) -> GridCell:
    """Return a cell for a share on a diverging linear scale from -limit to limit; NaN is not measured yet."""
    if share != share:
        title = tr("{name}: not measured yet", name=name)
        return GridCell(text="", name=title, color=theme.background, text_color=theme.faint)
    place = (min(max(share / limit, -1.0), 1.0) + 1) / 2
    color = theme.diverging[round(place * (len(theme.diverging) - 1))]
    return GridCell(
        text=decimal(share, 2 if limit == 1 else 3) if abs(share) >= SMALLEST * limit else "",
        name=f"{name}: {decimal(share, 3, sign=True)}",
        color=color,
        text_color=readable_on(color),
        marked=marked,
    )


def share_legend(into: Into, theme: Theme, limit: float = 1.0) -> Legend:
    """Return the legend of `share_cell`."""
    colors = theme.diverging[0], theme.background, theme.diverging[-1]
    end = decimal(limit, 0 if limit == 1 else 3)
    return Legend(tr(SHARE_NAMES[into]), colors, f"\u2212{end}", end)


def side_grid(
    effects: Mapping[Component, Effects],
    pairs: Sequence[PairRuns],
    side: Stack,
    into: Into,
    theme: Theme,
    selected: PatchedCell | None = None,
) -> CellGrid:
    """Return a grid of one side, with a row for each position, and a column for each layer of each component."""
    components = components_of(side)
    shares = {component: effects[component].moved(into) for component in components}
    layers = len(shares[components[0]])

    def cell(component: Component, layer: int, position: int, token: str) -> GridCell:
        place = PatchedCell(component, layer, position)
        share = float(shares[component][layer, position])
        return share_cell(share, f"{cell_title(place)}, {token}", theme, marked=place == selected)

    rows = [
        (token, [cell(component, layer, position, token) for component in components for layer in range(layers)])
        for position, token in enumerate(position_names(pairs, components[0]))
    ]
    return CellGrid(
        columns=[f"L{layer + 1}" for layer in range(layers)] * len(components),
        rows=rows,
        name=tr(GRID_NAMES[side]),
        groups=[(tr(COMPONENT_NAMES[component]), layers) for component in components],
        legend=share_legend(into, theme),
    )


def grid_cell(place: tuple[int, int], side: Stack, layers: int) -> PatchedCell:
    """Return the component, layer and position of a cell of `side_grid`."""
    position, column = place
    return PatchedCell(components_of(side)[column // layers], column % layers, position)


def heads_grid(effects: Effects, kind: Kind, layer: int, into: Into, theme: Theme) -> CellGrid:
    """Return a grid with one row: the effect of each head of a layer."""
    cells = [
        share_cell(share, head_title(Head(kind, layer, head)), theme)
        for head, share in enumerate(effects.moved(into).tolist())
    ]
    return CellGrid(
        columns=[f"H{head + 1}" for head in range(len(cells))],
        rows=[(f"L{layer + 1}", cells)],
        name=tr("Effects of single heads"),
        cell_width=5,
        legend=share_legend(into, theme),
    )


def senders_grid(
    senders: Sequence[Head], effects: Effects, into: Into, theme: Theme, selected: Head | None = None
) -> CellGrid:
    """Return a grid with a row for each layer: the effect of each of its heads through the paths to a receiver.

    Args:
        effects: [senders, 1]
    """
    shares = dict(zip(senders, effects.moved(into)[:, 0].tolist(), strict=True))
    limit = shares_limit(list(shares.values()))
    kinds: list[Kind] = [kind for kind in KINDS if any(head.kind == kind for head in senders)]
    heads = max((head.head for head in senders), default=0) + 1
    layers = sorted({head.layer for head in senders})

    def cell(head: Head) -> GridCell | None:
        if head not in shares:
            return None
        return share_cell(shares[head], head_title(head), theme, limit=limit, marked=head == selected)

    return CellGrid(
        columns=[f"H{head + 1}" for head in range(heads)] * len(kinds),
        rows=[
            (f"L{layer + 1}", [cell(Head(kind, layer, head)) for kind in kinds for head in range(heads)])
            for layer in layers
        ],
        name=tr("Effects of heads through the paths to the receiver"),
        cell_width=6,
        groups=[(tr(KIND_NAMES[kind]), heads) for kind in kinds],
        legend=share_legend(into, theme, limit),
    )


def grid_sender(place: tuple[int, int], senders: Sequence[Head]) -> Head | None:
    """Return the head of a cell of `senders_grid`."""
    kinds: list[Kind] = [kind for kind in KINDS if any(head.kind == kind for head in senders)]
    heads = max(head.head for head in senders) + 1
    layers = sorted({head.layer for head in senders})
    head = Head(kinds[place[1] // heads], layers[place[0]], place[1] % heads)
    return head if head in senders else None


def positions_grid(effects: Effects, names: Sequence[str], into: Into, theme: Theme) -> CellGrid:
    """Return a grid with one row: the effect of a head's output by position, through the paths to a receiver.

    Args:
        effects: [1, positions]
    """
    shares = effects.moved(into)[0].tolist()
    limit = shares_limit(shares)
    return CellGrid(
        columns=list(names),
        rows=[("", [share_cell(share, name, theme, limit=limit) for share, name in zip(shares, names, strict=True)])],
        name=tr("Effects by position of the sender"),
        cell_width=7,
        legend=share_legend(into, theme, limit),
    )


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
