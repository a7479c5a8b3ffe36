"""Contributions to a logit: by layer and part, by head, and by attended token."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go

from core import Explanation
from core.analysis.attribution.logit_attribution import LogitAttribution
from core.analysis.attribution.logit_lexicon import Agreement, Lexicon
from core.analysis.heads.head import Head
from core.analysis.tokens.words import readable_all
from core.capture import Kind
from viz_app.drawing.ablation import scale_limit
from viz_app.drawing.cell_grid import CellGrid, signed_legend, signed_rows
from viz_app.drawing.head_names import KIND_NAMES, head_titles, name_of
from viz_app.drawing.plotly_chart import bare_axis, empty_figure, with_layout
from viz_app.drawing.theme import SMALL, Theme
from viz_app.language import marked, tr

if TYPE_CHECKING:
    import pandas as pd

NATS = marked("contribution to the logit, in nats")
HEAD_KINDS: tuple[Kind, ...] = ("decoder_self", "cross")
INPUT = marked("Input")
# colours by their place in `Theme.head_colors`
BAR_KINDS: dict[str, Kind] = {"Cross-attention": "cross", "Self-attention": "decoder_self"}
PARTS = {
    marked("Cross-attention"): 0,
    marked("Self-attention"): 2,
    marked("Feed-forward"): 1,
    marked("Biases"): 3,
    marked("Token"): 4,
    marked("Position"): 5,
}


def layer_parts(terms: LogitAttribution) -> dict[str, list[float]]:
    """Return the contribution of each part, for the input and then for each layer."""
    layers = len(terms.feed_forward)
    return {
        "Cross-attention": [0.0, *terms.cross.sum((1, 2)).tolist()],
        "Self-attention": [0.0, *terms.decoder_self.sum((1, 2)).tolist()],
        "Feed-forward": [0.0, *terms.feed_forward.tolist()],
        "Biases": [0.0, *terms.biases.tolist()],
        "Token": [terms.token_embedding, *[0.0] * layers],
        "Position": [terms.position_embedding, *[0.0] * layers],
    }


def layers_figure(terms: LogitAttribution, theme: Theme, height: int = 270) -> go.Figure:
    """Stack the contributions of each layer as bars, positive ones above 0 and negative ones below."""
    figure = empty_figure(theme, height, (48, 56, 12, 28))
    with_layout(
        figure,
        barmode="relative",
        bargap=0.35,
        showlegend=True,
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "font": {"size": SMALL}},
    )
    names = [tr(INPUT), *(f"L{layer + 1}" for layer in range(len(terms.feed_forward)))]
    for part, values in layer_parts(terms).items():
        note = "" if part in BAR_KINDS else tr("no heads")
        figure.add_bar(
            x=names,
            y=values,
            name=tr(part),
            marker={"color": theme.head_colors[PARTS[part]], "line": {"width": 0}},
            unselected={"marker": {"opacity": 1}},
            hovertemplate=f"{tr(part)}, %{{x}}: %{{y:+.3f}}<extra>{note}</extra>",
        )
    ticks = {"showticklabels": True, "tickfont": {"size": SMALL, "color": theme.faint, "family": theme.monospace_font}}
    title = {"text": tr("nats"), "font": {"size": SMALL, "color": theme.faint}}
    with_layout(
        figure,
        xaxis=bare_axis(**ticks),
        yaxis=bare_axis(**ticks, title=title),
    )
    figure.add_hline(y=0, line={"color": theme.hairline, "width": 1})
    return figure


def bar_head(terms: LogitAttribution, point: Mapping[str, Any]) -> Head | None:
    """Return the head with the largest contribution, of either sign, to a bar of `layers_figure`.

    Args:
        point: The bar as Plotly names it, by the numbers of its part and of its column.

    Returns:
        None for a part without heads, and for the input.
    """
    match point:
        case {"curve_number": int(part), "point_index": int(column)} if 0 <= part < len(PARTS):
            kind = BAR_KINDS.get(list(PARTS)[part])
        case _:
            return None
    if kind is None or not 1 <= column <= len(terms.feed_forward):
        return None
    of_heads = (terms.cross if kind == "cross" else terms.decoder_self)[column - 1].sum(1)  # [H]
    return Head(kind, column - 1, int(of_heads.abs().argmax()))


def heads_grid(terms: LogitAttribution, theme: Theme, selected: Head | None = None) -> CellGrid:
    """Return a grid with a row for each layer (heads, network and biases), and the decoder's input below."""
    layers, num_heads = len(terms.feed_forward), terms.cross.size(1)
    by_head = terms.heads()
    limit = scale_limit([*by_head.values(), *terms.feed_forward.tolist(), *terms.biases.tolist()])

    titles = {kind: tr(KIND_NAMES[kind]) for kind in HEAD_KINDS}
    rest = ((tr("Feed-forward"), terms.feed_forward.tolist()), (tr("Biases"), terms.biases.tolist()))
    cells, values, place = list[list[str]](), list[list[float]](), None
    for layer in range(layers):
        heads = [Head(kind, layer, head) for kind in HEAD_KINDS for head in range(num_heads)]
        names = [f"{titles[head.kind]} {name_of(layer, head.head)}" for head in heads]
        cells.append([*names, *(f"{name} L{layer + 1}" for name, _ in rest)])
        values.append([*(by_head[head] for head in heads), *(by_layer[layer] for _, by_layer in rest)])
        place = (layer, heads.index(selected)) if selected is not None and selected in heads else place
    rows = signed_rows(values, cells, limit, theme, place)
    names = [f"H{head + 1}" for head in range(num_heads)]
    return CellGrid(
        columns=[*names, *names, "FFN", tr("bias")],
        rows=[(f"L{layer + 1}", row) for layer, row in enumerate(rows)],
        name=tr("Contributions of heads and networks"),
        groups=((tr("Self-attention of the decoder"), num_heads), (tr("Cross-attention"), num_heads), ("", 2)),
        legend=signed_legend(tr(NATS), limit, theme),
    )


def grid_head(place: tuple[int, int], num_heads: int) -> Head | None:
    """Return the head of a cell of `heads_grid`, or None for the other columns."""
    layer, column = place
    return Head(HEAD_KINDS[column // num_heads], layer, column % num_heads) if column < 2 * num_heads else None


def tokens_grid(terms: LogitAttribution, explanation: Explanation, kind: Kind, theme: Theme) -> CellGrid:
    """Return a grid with a row for each attended token and a column for each layer, summed over heads."""
    by_layer = (terms.cross if kind == "cross" else terms.decoder_self).sum(1)  # [L, K]
    tokens = explanation.source_tokens if kind == "cross" else explanation.fed_tokens[: terms.position + 1]
    limit = scale_limit([*by_layer.flatten().tolist(), *by_layer.sum(0).tolist()])
    names = [f"L{layer + 1}" for layer in range(len(by_layer))]
    by_token = by_layer.T[: len(tokens)]  # later tokens are masked
    labels = readable_all(tokens)
    totals = [tr("{token}, all layers", token=label) for label in labels]
    cells = [[*(f"{label}, {name}" for name in names), total] for label, total in zip(labels, totals, strict=True)]
    values = [[*row, total] for row, total in zip(by_token.tolist(), by_token.sum(1).tolist(), strict=True)]
    return CellGrid(
        columns=[*names, tr("all")],
        rows=list(zip(labels, signed_rows(values, cells, limit, theme), strict=True)),
        name=tr("Contributions by source token") if kind == "cross" else tr("Contributions by prefix token"),
        legend=signed_legend(tr(NATS), limit, theme),
    )


def token_head(terms: LogitAttribution, kind: Kind, place: tuple[int, int]) -> Head:
    """Return the head with the largest contribution, of either sign, to a cell of `tokens_grid`."""
    key, column = place
    of_heads = (terms.cross if kind == "cross" else terms.decoder_self)[..., key].abs()  # [L, H]
    layer = column if column < len(of_heads) else int(of_heads.amax(1).argmax())
    return Head(kind, layer, int(of_heads[layer].argmax()))


def head_table(
    terms: LogitAttribution, explanation: Explanation, head: Head, promoted: Lexicon | None = None
) -> "pd.DataFrame":
    """Return a row for each token that a head attends to: weight, contribution, and the pieces that the head promotes.

    Args:
        promoted: Of a cross-attention head.
    """
    import pandas as pd

    values = (terms.cross if head.kind == "cross" else terms.decoder_self)[head.layer, head.head]
    tokens = explanation.source_tokens if head.kind == "cross" else explanation.fed_tokens[: terms.position + 1]
    weights = explanation.maps[head.kind][head.layer].weights[head.head, terms.position]
    table = pd.DataFrame(
        {
            "token": readable_all(tokens),
            "weight": weights[: len(tokens)].tolist(),
            "contribution": values[: len(tokens)].tolist(),
        }
    )
    if promoted is not None:
        table["promotes"] = [" ".join(readable_all(pieces)) for pieces in promoted.pieces]
    return table


def lexicon_table(ranking: Sequence[Agreement]) -> "pd.DataFrame":
    """Return a row for each cross-attention head, counted from 0 and named, in the order of the ranking."""
    import pandas as pd

    return pd.DataFrame(
        {
            "name": head_titles(agreement.head for agreement in ranking),
            "layer": [agreement.head.layer for agreement in ranking],
            "head": [agreement.head.head for agreement in ranking],
            "agreement": [agreement.reciprocal_rank for agreement in ranking],
            "first": [agreement.first for agreement in ranking],
        }
    )
