"""The paper's Table 1 with the numbers of some sizes, as HTML."""

import html
import re

from core.analysis.layers.layer_cost import CostTable
from core.analysis.layers.layer_types import LAYER_TYPES, Sizes
from viz_app.language import compact, localized, tr


def formula(text: str) -> str:
    """Convert `O(n^2 d)` to HTML: letters in italics, powers raised, indices lowered."""
    italic = re.sub(r"(?<![a-z])([dknr])(?![a-z])", r"<i>\1</i>", text)
    return re.sub(r"_(<i>\w</i>)", r"<sub>\1</sub>", re.sub(r"\^(\d)", r"<sup>\1</sup>", italic))


def table_1(measured: CostTable, at: Sizes) -> str:
    """Return the table; unmeasured cells are empty."""
    titles = (
        tr("Layer"),
        tr("Complexity"),
        tr("Multiplications"),
        tr("Sequential operations"),
        tr("Maximum path length"),
        tr("Time"),
        tr("Memory"),
    )
    fewest = min(layer_type.operations(at) for layer_type in LAYER_TYPES.values())
    rows: list[str] = []
    for layer, layer_type in LAYER_TYPES.items():
        operations, costs = layer_type.operations(at), measured.matching(layer, at)
        count = compact(operations) if operations >= 1000 else localized(operations, ".3g")
        cells = [
            formula(layer_type.complexity),
            f"<b>{count}</b>" if operations == fewest else count,
            formula(layer_type.sequential),
            formula(layer_type.path(at.dilated)),
            f"{localized(costs[0].seconds * 1e3, '.3g')} ms" if costs else "",
            f"{localized(costs[0].peak_bytes / 1e6, '.3g')} MB" if costs else "",
        ]
        name = html.escape(tr(layer_type.name))
        rows.append(f"<tr><th>{name}</th>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>")
    head = "".join(f"<th>{html.escape(title)}</th>" for title in titles)
    return (
        f'<div class="table-1" role="group" aria-label="{html.escape(tr("Table 1"))}" tabindex="0"><table>'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )
