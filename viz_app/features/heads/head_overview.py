"""All heads at a glance: what the grid shows, how it is sorted, and which labels it is narrowed down to."""

import math
from collections.abc import Sequence
from functools import partial

import streamlit as st

from core.analysis.attribution.methods import Method
from core.analysis.heads.labels import DEFINITIONS, head_labels
from core.analysis.heads.scorecards import ScoreCard
from core.capture import AttentionMap
from viz_app.components.attention_lines import Highlight, Links
from viz_app.components.head_grid import grid_rows, head_grid
from viz_app.controls.downloads import downloads
from viz_app.controls.toolbar import Options, method_box, page_theme
from viz_app.figures import head_names
from viz_app.figures.display_text import decimal, plain
from viz_app.figures.export.canvas import Format
from viz_app.figures.export.map_panels import export_panels
from viz_app.figures.scorecard_text import SORT_TEXTS, SORTS, Sort, labelled, notes, ordered
from viz_app.figures.theme import Theme
from viz_app.figures.weight_tables import grid_table
from viz_app.session import chosen_heads, gradient_output, readings
from viz_app.session.attributions import (
    METHOD_NAMES,
    METHOD_SOURCES,
    METHOD_TEXTS,
    NOTHING_TO_RANK,
    PER_LAYER,
    mean,
    rank_correlations,
)

ABOUT_CORRELATION = """
Spearman's rank correlation (1904) over all pairs of tokens that may be looked at, special ones included: 1 where the
method ranks them as the raw weights do, 0 where the two have nothing to do with each other. It says whether they agree,
not which of them is right.
"""


def grid_boxes() -> tuple[Sort, Method]:
    """What the grid shows, and what it is sorted by."""
    method = method_box()
    per_layer = method in PER_LAYER
    by: Sort = st.selectbox(
        "Sorted",
        SORTS,
        format_func=SORTS.__getitem__,
        key="sort",
        bind="query-params",
        label_visibility="collapsed",
        disabled=per_layer,
        width=165,
    )
    return "layer" if per_layer else by, method


def label_box(found: Sequence[ScoreCard], per_layer: bool) -> list[str]:
    """Which labels the grid is narrowed down to; none: all heads. Each says what it means and how many have it."""
    counts = {name: len(labelled(found, [name])) for name in DEFINITIONS}
    with st.popover("Labels", disabled=per_layer):
        chosen: list[str] = st.pills(
            "Show only heads that are",
            list(DEFINITIONS),
            selection_mode="multi",
            key="labels",
            bind="query-params",
        )
        st.caption(
            "\n".join(f"- **{name}**, {counts[name]}: {plain(meaning)}." for name, meaning in DEFINITIONS.items())
        )
    return [] if per_layer else chosen


def about_method(reading: readings.Reading, options: Options) -> None:
    """What the method is, and how far it ranks tokens as the raw weights do."""
    method = options.method
    if method == "attention":
        return
    values = rank_correlations(reading, method, options.kind, options.output).values()
    correlation = mean(value for layer in values for value in layer)
    told = NOTHING_TO_RANK if math.isnan(correlation) else f"{decimal(correlation, 2)} over all heads"
    st.caption(
        f"**{METHOD_NAMES[method]}**{plain(options.about_output(reading))}: {METHOD_TEXTS[method]}. Rank correlation "
        f"with the raw weights: {told}.",
        help="\n\n".join(
            [METHOD_SOURCES[method], *([gradient_output.ABOUT] if method == "gradient" else []), ABOUT_CORRELATION]
        ),
    )


def grid(
    reading: readings.Reading,
    maps: Sequence[AttentionMap],
    heads: Sequence[head_names.LayerHead],
    options: Options,
    chosen_key: str,
    by: Sort,
    found: Sequence[ScoreCard],
    labels: Sequence[str],
    place: Highlight,
    links: Links,
) -> None:
    """All heads, to click on, and their mean and maximum; sorted, and narrowed down to those that bear a label.

    Args:
        place: rows and columns to light up in every map.
        links: the words that rows and columns belong to.
    """
    order = ordered(found, by)
    if labels:
        kept = labelled(found, labels)
        order = [head for head in order or [(card.head.layer, card.head.head) for card in found] if head in kept]
        st.caption(f"{len(order)} of {len(found)} heads: {' or '.join(labels)}.")
        if not order:
            return
    if by != "layer":
        unlabelled = by == "label" and not any(head_labels(card) for card in found)
        st.caption("No head stands out: the most confident ones come first." if unlabelled else SORT_TEXTS[by])

    def click(head: head_names.LayerHead) -> None:
        st.session_state[chosen_key] = chosen_heads.toggled(
            st.session_state[chosen_key], options.name(*head), st.session_state["compare"]
        )

    shown = maps if order is not None else [attention for attention in maps if attention.layer != head_names.CHOSEN]
    said = None if options.per_layer else notes(found, by)
    look = {
        "order": order,
        "notes": said,
        "row_height": 58 if order is None else 74,
        "per_layer": options.per_layer,
        "place": place,
        "links": links,
    }
    head_grid(shown, page_theme(), click, selected=heads, key=f"grid_{chosen_key}", **look)
    rows = grid_rows(shown, order)
    title = (
        f"{head_names.KIND_NAMES[options.kind].lower()} attention, "
        f"{METHOD_NAMES[options.method].lower()}{options.about_output(reading)}"
    )
    downloads(
        f"all-{'layers' if options.per_layer else 'heads'}-{options.kind}{options.file_part}",
        partial(export_grid, shown, rows, options, title, page_theme()),
        lambda: options.noted(grid_table(shown, [head for _, row in rows for head in row if head[0] >= 0]), reading, 2),
    )


def export_grid(
    maps: Sequence[AttentionMap],
    rows: Sequence[tuple[str, Sequence[head_names.LayerHead]]],
    options: Options,
    title: str,
    theme: Theme,
    file_format: Format,
) -> bytes:
    """The grid as a file, as it is arranged, each head with its name."""
    weights = {attention.layer: attention.weights.float().numpy() for attention in maps}
    panels = [[(options.name(layer, head), weights[layer][head]) for layer, head in row] for _, row in rows]
    return export_panels(panels, file_format, theme, title=title)
