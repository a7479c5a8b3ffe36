"""The overview on the page Heads: all heads as a grid, sorted and filtered."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any

import streamlit as st

from core.analysis.attribution.methods import Method
from core.analysis.heads.labels import DEFINITIONS, head_labels, label_counts, labelled
from core.analysis.heads.scorecards import ScoreCard
from core.analysis.heads.word_pair import PairHeads, WordPair
from core.analysis.recorded_call import Call
from core.analysis.weight_tables import grid_table, with_columns
from core.capture import AttentionMap, Kind
from viz_app.components.head_grid import grid_payload, grid_rows, head_grid
from viz_app.components.word_links import Highlight, Links
from viz_app.controls.downloads import downloads
from viz_app.controls.toolbar import method_box
from viz_app.controls.widgets import page_theme, setting_menu
from viz_app.drawing import head_names
from viz_app.drawing.display_text import decimal, plain
from viz_app.drawing.scorecard_text import SORT_TEXTS, SORTS, Note, Sort, notes, ordered
from viz_app.language import localized, marked, tr, tr_count, tr_lower, translated
from viz_app.session import address, attributions, chosen_heads, python_code, readings
from viz_app.session.state import kept
from viz_app.views.heads.grid.heads_view import HeadsView

ABOUT_CORRELATION = marked("""
Spearman's rank correlation (1904) over all pairs of tokens that attention may connect, special ones included: 1 if the
method ranks them like the raw weights, 0 if the two rankings are unrelated. It says whether they agree, not which of
them is right.
""")


@dataclass(frozen=True)
class Arrangement:
    """The order of the grid, and the heads it is limited to."""

    sort: Sort
    cards: Sequence[ScoreCard]  # of all heads
    labels: Sequence[str]  # only heads with one of these are shown; none: all heads
    pair: PairHeads | None = None  # all heads by their weight between the two selected words, if two are

    def order(self) -> Sequence[head_names.LayerHead] | None:
        """Return the heads to show in order; None: all heads, layer by layer."""
        order = ordered(self.cards, self.sort)
        if self.sort == "pair" and self.pair is not None:
            order = [(head.layer, head.head) for head, _ in self.pair.heads]
        if not self.labels:
            return order
        kept = labelled(self.cards, self.labels)
        heads = [(card.head.layer, card.head.head) for card in self.cards] if order is None else order
        return [head for head in heads if head in kept]

    def notes(self) -> Mapping[head_names.LayerHead, Note]:
        """Return captions and hover texts of all heads."""
        found, pair = dict(notes(self.cards, self.sort)), self.pair
        if pair is None:
            return found
        for head, weight in pair.heads:
            place, caption = (head.layer, head.head), localized(weight, ".2f")
            note = found.get(place, Note("", head_names.name_of(*place)))
            line = tr("{query} \u2192 {key}: {weight}", query=pair.query_text, key=pair.key_text, weight=caption)
            found[place] = Note(caption if self.sort == "pair" else note.caption, f"{note.text}\n{line}")
        return found


def grid_boxes(methods: Sequence[Method], pair: WordPair | None, are_old: bool) -> tuple[Sort, Method]:
    """Select the order of the grid, at first by the two selected words, if two are, and an attribution method."""
    method = method_box(methods, is_old=are_old)
    per_layer = method in attributions.PER_LAYER
    address.SORT.preset_for(pair, lambda: "layer" if pair is None else "pair")
    names = {sort: tr(name) for sort, name in SORTS.items() if sort != "pair" or pair is not None}
    default = "layer" if pair is None else "pair"
    sort: Sort = setting_menu(address.SORT, tr("Sorted"), names, default, disabled=per_layer, width=205, is_old=are_old)
    return "layer" if per_layer else sort, method


def label_box(cards: Sequence[ScoreCard], per_layer: bool, are_old: bool) -> list[str]:
    """Select the labels that the grid is limited to; below, the criteria are listed, with the heads that meet each."""

    def criteria() -> str:
        counts = label_counts(cards)
        return "\n".join(
            tr_count(
                "- **{name}**, {count} head: {criterion}.",
                "- **{name}**, {count} heads: {criterion}.",
                count,
                name=tr(name),
                criterion=plain(translated(DEFINITIONS[name])),
            )
            for name, count in sorted(counts.items(), key=lambda each: each[1] == 0)
        )

    selected: list[str] = address.LABELS.draw(
        st.pills,
        tr("Show only heads named"),
        list(DEFINITIONS),
        selection_mode="multi",
        is_old=are_old,
        format_func=tr,
        disabled=per_layer,
    )
    st.caption(kept("criteria_of_labels", cards, criteria))
    return [] if per_layer else selected


def about_method(reading: readings.Reading, kind: Kind, weights: attributions.MethodChoice) -> None:
    """Describe a method other than the raw weights, and how far it ranks tokens like them."""
    method = weights.method
    if method == "attention":
        return
    correlations = attributions.rank_correlations(reading, method, kind, weights.output).values()
    correlation = attributions.mean(value for layer in correlations for value in layer)
    values: dict[str, str] = {
        "method": tr(attributions.METHOD_NAMES[method]),
        "about": tr(attributions.METHOD_TEXTS[method]),
        "correlation": tr(attributions.NOTHING_TO_RANK)
        if math.isnan(correlation)
        else tr("{number} over all heads", number=decimal(correlation, 2)),
    }
    if method == "gradient":
        text = tr(
            "**{method}** for {output}: {about}. Rank correlation with the raw weights: {correlation}.",
            output=plain(attributions.output_text(reading.explain(), weights.output)),
            **values,
        )
        notes_below = (attributions.METHOD_SOURCES[method], attributions.ABOUT_OUTPUT, ABOUT_CORRELATION)
    else:
        text = tr("**{method}**: {about}. Rank correlation with the raw weights: {correlation}.", **values)
        notes_below = (attributions.METHOD_SOURCES[method], ABOUT_CORRELATION)
    st.caption(text, help="\n\n".join(map(tr, notes_below)))


def grid(
    reading: readings.Reading,
    view: HeadsView,
    maps: Sequence[AttentionMap],
    heads: Sequence[head_names.LayerHead],
    arrangement: Arrangement,
) -> None:
    """Draw all heads to click on and, in the order of layers, their mean and maximum."""
    order, weights = arrangement.order(), view.weights
    if arrangement.labels and order is not None:
        labels = reduce(lambda one, other: tr("{one} or {other}", one=one, other=other), map(tr, arrangement.labels))
        st.caption(
            tr("{shown} of {total} heads: {labels}.", shown=len(order), total=len(arrangement.cards), labels=labels)
        )
        if not order:
            return
    if arrangement.sort != "layer":
        unlabelled = arrangement.sort == "label" and not any(head_labels(card) for card in arrangement.cards)
        text = tr("No head meets a criterion: those with the largest weights come first.")
        st.caption(text if unlabelled else tr(SORT_TEXTS[arrangement.sort]))
    widget = chosen_heads.heads_widget(view.kind, weights.per_layer)

    def click(head: head_names.LayerHead) -> None:
        widget.set(chosen_heads.toggled(widget.value or [], weights.name(*head), view.several))
        chosen_heads.keep_heads(widget)

    shown = shown_maps(maps, order)
    theme, words = page_theme(), readings.selected_words(reading)

    def look() -> dict[str, Any]:
        return grid_options(view, arrangement, view.highlight(reading), view.links(reading.explain()))

    options = kept("options_of_the_grid", (reading.identity, view, arrangement, words), look)
    drawn = reading.identity, view, arrangement, words, list(heads), theme.name
    payload = kept("head_grid", drawn, lambda: grid_payload(shown, theme, heads, **options))
    head_grid(payload, shown, click, grid_key(view))
    grid_files(reading, view, grid_rows(shown, order))


def grid_key(view: HeadsView) -> str:
    """Return the key of the component."""
    return f"grid_{chosen_heads.heads_widget(view.kind, view.weights.per_layer).key}"


def shown_maps(maps: Sequence[AttentionMap], order: Sequence[head_names.LayerHead] | None) -> Sequence[AttentionMap]:
    """Return the maps to draw; in the order of layers, combinations of the selected heads are left out."""
    return maps if order is not None else [attention for attention in maps if attention.layer != head_names.CHOSEN]


def grid_options(view: HeadsView, arrangement: Arrangement, place: Highlight, links: Links) -> dict[str, Any]:
    """Return the options of `grid_payload`."""
    order, per_layer = arrangement.order(), view.weights.per_layer
    return {
        "order": order,
        "notes": None if per_layer else arrangement.notes(),
        "row_height": 58 if order is None else 74,
        "per_layer": per_layer,
        "place": place,
        "links": links,
    }


def grid_files(
    reading: readings.Reading, view: HeadsView, rows: Sequence[tuple[str, Sequence[head_names.LayerHead]]]
) -> None:
    """Offer the grid, of which each row has a name and its heads, as files."""
    explanation, weights = reading.explain(), view.weights
    names = {
        "kind": tr_lower(head_names.KIND_NAMES[view.kind]),
        "method": tr_lower(attributions.METHOD_NAMES[weights.method]),
    }
    title = tr("{kind} attention, {method}", **names)
    if weights.method == "gradient":
        output = attributions.output_text(explanation, weights.output)
        title = tr("{kind} attention, {method} for {output}", output=output, **names)
    singles = [head for _, row in rows for head in row if head[0] >= 0]
    downloads(
        f"all-{'layers' if weights.per_layer else 'heads'}-{view.kind}{weights.file_part}",
        grid_key(view),
        partial(grid_call, reading, view, singles),
        title=title[:1].upper() + title[1:],
    )


def grid_call(reading: readings.Reading, view: HeadsView, heads: Sequence[head_names.LayerHead]) -> Call:
    """Return the call of the table of the grid."""
    weights = view.weights
    maps = python_code.recorded_pass(reading).maps(view.kind, view.tokens, weights.method, weights.output)
    table = Call("weights", grid_table, (maps, list(heads)))
    return Call("table", with_columns, (table, 2, weights.columns(reading.explain())))
