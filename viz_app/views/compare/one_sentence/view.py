"""Compare: two hypotheses, sentences or checkpoints, and their signed difference."""

from collections.abc import Sequence
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.analysis import comparison
from core.analysis.comparison import Difference, difference, mean_distance
from core.analysis.recorded_call import Call
from core.analysis.weight_tables import lines_table
from core.capture import AttentionMap, Kind
from viz_app.components.attention_lines import attention_lines, lines_payload
from viz_app.controls.downloads import downloads
from viz_app.controls.score_products import DIFFERENCE, map_with_products, no_products
from viz_app.controls.tables import bar_column, selectable_table
from viz_app.controls.widgets import page_theme, setting_segments, show_answer
from viz_app.drawing import head_names
from viz_app.drawing.display_text import isolated, plain, sentence_case, shortened
from viz_app.drawing.head_names import LayerHead
from viz_app.language import marked, tr, tr_values
from viz_app.session import address, python_code
from viz_app.session.attributions import METHOD_NAMES, METHOD_SOURCES, METHOD_TEXTS, MethodChoice
from viz_app.session.map_pass import text_pass
from viz_app.session.readings import Reading, reading_part
from viz_app.session.state import refusals_shown
from viz_app.session.word_selection import Selection, common_positions, other_positions, own_positions, selected_names
from viz_app.views.compare.one_sentence import nearest, other_side
from viz_app.views.compare.one_sentence.figures import agreement
from viz_app.views.compare.one_sentence.other_side import AGAINST, ComparedSide
from viz_app.views.compare.one_sentence.settings import (
    LINES,
    SAME,
    CompareView,
    Layers,
    head_box,
    head_widget,
    second_box,
    second_widget,
    view_boxes,
)

HOW_TO_READ = marked("""
Each cell is the first side's weight minus the second's: one colour where the first is larger, the other where the
second is, none where both are equal. Only words shared by both, in the same order, can be subtracted; decoder rows are
matched by the word they **predict**.

A weight depends on the whole sentence: a difference shows where the weights changed, not which word changed them.
""")
ABOUT_DISTANCE = marked("""
Half the sum of the absolute differences of a row, averaged over the rows (total variation distance): 0 if both attend
to the same words, 1 if they attend to different ones. Words that only one side has are left out.
""")


@reading_part
def page(reading: Reading) -> None:
    """Draw the page below the sentence; a click in it runs only this part again."""
    with st.container(horizontal=True, vertical_alignment="center", gap="medium", key="compare-with"):
        names = tr_values(AGAINST)
        against = setting_segments(address.AGAINST, tr("Compare with another"), names)
        place = st.container(horizontal=True, vertical_alignment="center", gap="medium")
    other = other_side.select_other(reading, against, place)
    if other is None:
        return
    first = other_side.first_side(reading, against == "Checkpoint")
    with st.container(horizontal=True, vertical_alignment="center", gap="medium", key="compare-toolbar"):
        view = view_boxes(other.is_by_model)
    method = view.weights.method
    with refusals_shown():
        maps = [
            {each.layer: view.tokens.apply(each) for each in side.maps(method)[view.kind]} for side in (first, other)
        ]
    selection = Selection(reading.explain(), view.kind, view.tokens, selected_names(reading))
    above = st.container()  # of the answer, in words of the difference below
    left, right = st.container(key="side-by-side").columns(2, gap="large")
    with left:
        with side_title("first", tr("**First**: {title}", title=isolated(plain(shortened(first.heading))))):
            head = head_box(view, maps[0], lambda: reading.explain().maps[view.kind])
        own = maps[0][head[0]]
        one_side("first", first, own, head[1], view, selection.drawing_options(own_positions(own)))
    with right:
        with side_title("second", tr("**Second**: {title}", title=isolated(plain(shortened(other.heading))))):
            if not view.weights.per_layer:
                nearest.select_if_found(first, other, view, head)
            second_head = second_box(view, maps[1], head)
        second = maps[1][second_head[0]]
        one_side("second", other, second, second_head[1], view, selection.drawing_options(other_positions(own, second)))
    if method != "attention":
        st.caption(
            tr("**{name}**: {text}.", name=tr(METHOD_NAMES[method]), text=tr(METHOD_TEXTS[method])),
            help=tr(METHOD_SOURCES[method]),
        )
    st.divider()
    options = selection.drawing_options(common_positions(own, second))
    selected = difference_part((first, other), maps, (head, second_head), view, options)
    if selected is not None:
        with above:
            show_answer(selected.answer(head[1]), tr(HOW_TO_READ))


def side_title(which: str, title: str) -> DeltaGenerator:
    """Draw the title of the "first" or "second" side, cut where it is too long, and return the place beside it."""
    row = st.container(horizontal=True, gap="small", vertical_alignment="center", key=f"side-title-{which}")
    row.markdown(title, width="stretch")
    return row


def difference_part(
    sides: tuple[ComparedSide, ComparedSide],
    maps: Sequence[Layers],
    heads: tuple[LayerHead, LayerHead],
    view: CompareView,
    options: dict[str, Any],
) -> Difference | None:
    """Draw first minus second for the selected heads, which is returned, the ranking of all heads, and the nearest.

    Options of drawings are those of the selected words, see `Selection.drawing_options`.
    """
    left, right = st.container(key="difference").columns([3, 2], gap="large")
    with left:
        st.markdown(tr("**Difference** of {head}: first minus second", head=named(heads, view)), help=tr(HOW_TO_READ))
        try:
            differences = {each: difference(maps[0][each], maps[1][each]) for each in maps[0] if each in maps[1]}
            selected = differences[heads[0][0]] if heads[0] == heads[1] else head_difference(maps, heads)
            signed(sides, selected, heads, view, options)
        except ValueError as error:
            st.info(sentence_case(tr("no difference is drawn: {problem}", problem=error)))
            differences, selected = dict[int, Difference](), None
    with right:
        if selected is not None:
            ranking(differences, view)
            if sides[0].is_by_model and not view.weights.per_layer:
                st.caption(
                    tr(
                        "In models trained separately, heads with the same number need not have the same function: "
                        "their numbers are arbitrary."
                    )
                )
        if not view.weights.per_layer:
            nearest.nearest_button(*sides, view, heads[0])
            nearest.nearest_part(*sides, view, heads)
    return selected


def head_difference(maps: Sequence[Layers], heads: tuple[LayerHead, LayerHead]) -> Difference:
    """Subtract the second side's head from all heads of the first side's layer."""
    first, second = (layers[layer] for layers, (layer, _) in zip(maps, heads, strict=True))
    return difference(first, comparison.with_head(second, heads[1][1], first.num_heads))


def named(heads: tuple[LayerHead, LayerHead], view: CompareView) -> str:
    """Name the heads of both sides, once if they have the same number."""
    first, second = (view.weights.name(*head) for head in heads)
    return first if first == second else tr("{first} and {second}", first=first, second=second)


def file_name(what: str, kind: Kind, weights: MethodChoice, *heads: LayerHead) -> str:
    """Name an exported file, without its suffix; layers and heads are counted from 0."""
    numbers = [f"layer{layer}" + ("" if weights.per_layer else f"-head{head}") for layer, head in dict.fromkeys(heads)]
    return f"{what}-{kind}-{'-'.join(numbers)}{weights.file_part}"


def layer_call(side: ComparedSide, view: CompareView, layer: int) -> Call:
    """Return the call of the map of one layer of a side."""
    recorded = python_code.RecordedPass(side.model, side.source, side.target)
    return Call("attention", "[]", (recorded.maps(view.kind, view.tokens, view.weights.method), layer))


def one_side(
    which: str, side: ComparedSide, attention: AttentionMap, head: int, view: CompareView, options: dict[str, Any]
) -> None:
    """Draw the "first" or the "second" side."""
    theme, name, key = page_theme(), view.weights.name, f"compare_{which}_{attention.kind}"
    if view.view == LINES:
        payload = lines_payload(attention, [head], theme, name=name, **options)
        attention_lines(payload, attention, [head], key=key)
    else:
        key += "_map"
        of = no_products(side.model, view.weights.method, True) or text_pass(side.model, side.source, side.target)
        map_with_products(attention, head, theme, of, key=key, tokens=view.tokens, name=name, **options)
    downloads(
        file_name(which, view.kind, view.weights, (attention.layer, head)),
        key,
        lambda: Call("table", lines_table, (layer_call(side, view, attention.layer), [head])),
        title=f"{caption(name(attention.layer, head), view)}: {side.source} \u2192 {side.text} ({side.model.name})",
        of_sentence=False,
    )


def caption(heads: str, view: CompareView) -> str:
    """Name the drawn heads with their kind, for the caption of a slide."""
    return tr("{kind} attention, {heads}", kind=tr(head_names.KIND_NAMES[view.kind]), heads=heads)


def signed(
    sides: tuple[ComparedSide, ComparedSide],
    difference: Difference,
    heads: tuple[LayerHead, LayerHead],
    view: CompareView,
    options: dict[str, Any],
) -> None:
    """Draw first minus second."""
    attention, head, names = difference.map, heads[0][1], named(heads, view)
    st.caption(agreement(difference))
    options |= {"diverging": True, "name": lambda *_: names}
    of = no_products(sides[0].model, view.weights.method, True) or DIFFERENCE
    map_with_products(attention, head, page_theme(), of, key="difference_map", **options)

    def compared() -> Call:
        first, second = (layer_call(side, view, each) for side, (each, _) in zip(sides, heads, strict=True))
        if heads[0] != heads[1]:
            second = Call("second_head", comparison.with_head, (second, heads[1][1], attention.num_heads))
        return Call("compared", comparison.difference, (first, second))

    first, second = (side.title for side in sides)
    downloads(
        file_name("difference", view.kind, view.weights, *heads),
        "difference_map",
        lambda: Call("table", lines_table, (Call("shown", ".map", (compared(),)), [head])),
        title=tr(
            "Difference of {picture}: {first} \u2212 {second}", picture=caption(names, view), first=first, second=second
        ),
        of_sentence=False,
    )


def ranking(differences: dict[int, Difference], view: CompareView) -> None:
    """Draw a table of all heads, each with that of the same number."""
    title = (
        tr("**All layers**, the most different first")
        if view.weights.per_layer
        else tr("**All heads**, the most different first")
    )
    st.markdown(title, help=tr(ABOUT_DISTANCE))
    distances(differences, view)


def distances(differences: dict[int, Difference], view: CompareView) -> None:
    """Draw a table of all heads; selecting a row compares that head of both sides."""

    def select(row: int) -> None:
        head_widget(view).set(names[row])
        second_widget(view).set(SAME)

    rows = [
        (value, view.weights.name(layer, head))
        for layer, each in differences.items()
        for head, value in enumerate(mean_distance(each))
    ]
    rows.sort(key=lambda row: -row[0])
    names = [name for _, name in rows]
    selectable_table(
        {"head": names, "distance": [value for value, _ in rows]},
        "compare_distances",
        select,
        height=300,
        column_config={
            "head": st.column_config.TextColumn(tr("Layer") if view.weights.per_layer else tr("Head"), width=80),
            "distance": bar_column(tr("Distance"), 3),
        },
    )


page()
