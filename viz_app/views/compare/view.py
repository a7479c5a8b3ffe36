"""Compare: two hypotheses, sentences or checkpoints, and their signed difference."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import pandas as pd
import streamlit as st

from core.analysis import comparison
from core.analysis.comparison import Difference, difference, mean_distance
from core.analysis.recorded_call import Call
from core.capture import AttentionMap, Kind
from viz_app.components.attention_lines import attention_lines
from viz_app.controls import toolbar
from viz_app.controls.downloads import downloads
from viz_app.controls.score_products import DIFFERENCE, map_with_products, no_products
from viz_app.controls.tables import decimals, selectable_table
from viz_app.controls.widgets import page_theme, setting_segments
from viz_app.drawing import head_names
from viz_app.drawing.display_text import isolated, plain, sentence_case, shortened
from viz_app.drawing.export.head_pictures import export_lines, export_map
from viz_app.drawing.weight_tables import lines_table
from viz_app.language import marked, tr
from viz_app.session import address, chosen_heads, python_code, readings
from viz_app.session.attributions import METHOD_NAMES, METHOD_SOURCES, METHOD_TEXTS, MethodChoice
from viz_app.session.fields import Field, part
from viz_app.session.map_pass import text_pass
from viz_app.session.readings import TokenView
from viz_app.session.word_selection import Selection, common_positions, other_positions, own_positions, selected_names
from viz_app.views.compare import other_side
from viz_app.views.compare.figures import agreement, in_words
from viz_app.views.compare.other_side import AGAINST, Against, ComparedSide

SideView = Literal["Lines", "Map"]
VIEWS: tuple[SideView, ...] = (marked("Lines"), marked("Map"))
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


@dataclass(frozen=True)
class CompareView:
    """The settings of both sides."""

    kind: Kind
    weights: MethodChoice
    tokens: TokenView
    view: SideView


@part
def page() -> None:
    """Draw the page below the sentence; a click in it runs only this part again."""
    reading = readings.reading()
    if reading is None:
        st.caption(tr("Enter a sentence above to compare it."))
        return
    with st.container(horizontal=True, gap="medium"):
        names: dict[Against, str] = {each: tr(each) for each in AGAINST}
        against = setting_segments(address.AGAINST, tr("Compare with another"), names)
        place = st.container()
    other = other_side.select_other(reading, against, place)
    if other is None:
        return
    first = other_side.first_side(reading, against == "Checkpoint")
    with st.container(horizontal=True, vertical_alignment="center", gap="medium", key="compare-toolbar"):
        head_place = st.container(width="content")
        view = view_boxes()
    method = view.weights.method
    try:
        maps = [
            {each.layer: view.tokens.apply(each) for each in side.maps(method)[view.kind]} for side in (first, other)
        ]
    except (ValueError, RuntimeError) as error:
        st.error(sentence_case(str(error)))
        return
    if method != "attention":
        st.caption(
            tr("**{name}**: {text}.", name=tr(METHOD_NAMES[method]), text=tr(METHOD_TEXTS[method])),
            help=tr(METHOD_SOURCES[method]),
        )
    with head_place:
        layer, head = head_box(view, maps[0], maps[1], lambda: reading.explain().maps[view.kind])
    selection = Selection(reading.explain(), view.kind, view.tokens, selected_names(reading))
    own, second = (layers[layer] for layers in maps)
    left, right = st.container(key="side-by-side").columns(2, gap="large")
    with left:
        st.markdown(tr("**First**: {title}", title=isolated(plain(shortened(first.heading)))))
        one_side("first", first, own, head, view, selection.drawing_options(own_positions(own)))
    with right:
        st.markdown(tr("**Second**: {title}", title=isolated(plain(shortened(other.heading)))))
        one_side("second", other, second, head, view, selection.drawing_options(other_positions(own, second)))
    st.divider()
    options = selection.drawing_options(common_positions(own, second))
    difference_part((first, other), maps, (layer, head), view, options, against == "Checkpoint")


def difference_part(
    sides: tuple[ComparedSide, ComparedSide],
    maps: Sequence[Mapping[int, AttentionMap]],
    selected: head_names.LayerHead,
    view: CompareView,
    options: dict[str, Any],
    is_other_model: bool,
) -> None:
    """Draw first minus second for the selected head, and the ranking of all heads.

    Args:
        maps: of both sides, by layer.
        options: of the selected words, see `Selection.drawing_options`.
    """
    layer, head = selected
    left, right = st.container(key="difference").columns([3, 2], gap="large")
    with left:
        st.markdown(
            tr("**Difference** of {head}: first minus second", head=view.weights.name(layer, head)),
            help=tr(HOW_TO_READ),
        )
        try:
            differences = {each: difference(maps[0][each], maps[1][each]) for each in maps[0] if each in maps[1]}
        except ValueError as error:
            st.info(sentence_case(tr("no difference is drawn: {problem}", problem=error)))
            return
        signed(sides, differences[layer], head, view, options)
    with right:
        ranking(differences, layer, head, view)
        if is_other_model and not view.weights.per_layer:
            st.caption(
                tr(
                    "In models trained separately, heads with the same number need not have the same function: their "
                    "numbers are arbitrary."
                )
            )


def view_boxes() -> CompareView:
    """Select the settings of both sides."""
    kind = toolbar.kind_box()
    method = toolbar.method_box(setting=address.COMPARE_WEIGHTS)
    names: dict[SideView, str] = {each: tr(each) for each in VIEWS}
    view = setting_segments(address.COMPARE_VIEW, tr("View"), names, hide_label=True)
    return CompareView(kind, MethodChoice(method), toolbar.token_boxes(), view)


def head_widget(view: CompareView) -> Field[str]:
    """The widget with the name of the head, or of the layer, that is compared."""
    return (address.COMPARE_LAYERS if view.weights.per_layer else address.COMPARE_HEADS)[view.kind]


def head_box(
    view: CompareView,
    first: dict[int, AttentionMap],
    other: dict[int, AttentionMap],
    raw: Callable[[], Sequence[AttentionMap]],
) -> head_names.LayerHead:
    """Select the head, or the layer, that is compared.

    At first it is the one selected on the page Heads, or else a default head; of layers the last one.

    Args:
        raw: returns the first side's weights of all layers.
    """
    shared = [first[layer] for layer in first if layer in other]
    names = [
        view.weights.name(each.layer, head)
        for each in shared
        for head in range(min(each.num_heads, other[each.layer].num_heads))
    ]
    widget = head_widget(view)
    if widget.value not in names:
        if view.weights.per_layer:
            wanted = [names[-1]]
        else:
            selected = chosen_heads.heads_widget(view.kind).value
            wanted = selected or [head_names.name_of(*chosen_heads.default_head(raw()))]
        widget.set(next((each for each in wanted if each in names), names[0]))
    head = widget.draw(st.selectbox, tr("Head"), names, width=110, label_visibility="collapsed")
    return head_names.parsed(head or names[0])


def file_name(what: str, attention: AttentionMap, head: int, weights: MethodChoice) -> str:
    """Name an exported file, without its suffix; layers and heads are counted from 0."""
    numbers = f"layer{attention.layer}" + ("" if weights.per_layer else f"-head{head}")
    return f"{what}-{attention.kind}-{numbers}{weights.file_part}"


def layer_call(side: ComparedSide, view: CompareView, layer: int) -> Call:
    """Return the call of the map of one layer of a side."""
    recorded = python_code.RecordedPass(side.model, side.source, side.target)
    return Call("attention", "[]", (recorded.maps(view.kind, view.tokens, view.weights.method), layer))


def one_side(
    which: str, side: ComparedSide, attention: AttentionMap, head: int, view: CompareView, options: dict[str, Any]
) -> None:
    """Draw one of the two sides.

    Args:
        which: "first" or "second".
        options: of the selected words, see `Selection.drawing_options`.
    """
    theme, name, key = page_theme(), view.weights.name, f"compare_{which}_{attention.kind}"
    if view.view == "Lines":
        attention_lines(attention, [head], theme, name=name, key=key, **options)
        draw = partial(export_lines, attention, [head], theme=theme, name=name)
    else:
        of = no_products(side.model, view.weights.method, True) or text_pass(side.model, side.source, side.target)
        map_with_products(attention, head, theme, of, key=f"{key}_map", tokens=view.tokens, name=name, **options)
        draw = partial(export_map, attention, head, theme=theme, name=name)
    downloads(
        file_name(which, attention, head, view.weights),
        draw,
        title=f"{caption(attention, head, view)}: {side.source} \u2192 {side.text} ({side.model.name})",
        of_sentence=False,
        call=lambda: Call("table", lines_table, (layer_call(side, view, attention.layer), [head])),
    )


def caption(attention: AttentionMap, head: int, view: CompareView) -> str:
    """Name the drawn part of a layer, for the caption of a slide."""
    kind, name = tr(head_names.KIND_NAMES[view.kind]), view.weights.name(attention.layer, head)
    return tr("{kind} attention, {heads}", kind=kind, heads=name)


def signed(
    sides: tuple[ComparedSide, ComparedSide],
    difference: Difference,
    head: int,
    view: CompareView,
    options: dict[str, Any],
) -> None:
    """Draw first minus second."""
    attention, name = difference.map, view.weights.name
    st.caption(agreement(difference))
    options |= {"diverging": True, "name": name}
    of = no_products(sides[0].model, view.weights.method, True) or DIFFERENCE
    map_with_products(attention, head, page_theme(), of, key="difference_map", **options)
    draw = partial(export_map, attention, head, theme=page_theme(), diverging=True, name=name)

    def compared(layer: int) -> Call:
        return Call("compared", comparison.difference, tuple(layer_call(side, view, layer) for side in sides))

    layer, (first, second) = attention.layer, (side.title for side in sides)
    downloads(
        file_name("difference", attention, head, view.weights),
        draw,
        title=tr(
            "Difference of {picture}: {first} \u2212 {second}",
            picture=caption(attention, head, view),
            first=first,
            second=second,
        ),
        of_sentence=False,
        call=lambda: Call("table", lines_table, (Call("shown", ".map", (compared(layer),)), [head])),
    )


def ranking(differences: dict[int, Difference], layer: int, head: int, view: CompareView) -> None:
    """Draw a table of all heads, most different first, and describe the selected one."""
    title = (
        tr("**All layers**, the most different first")
        if view.weights.per_layer
        else tr("**All heads**, the most different first")
    )
    st.markdown(title, help=tr(ABOUT_DISTANCE))
    distances(differences, view)
    st.caption(in_words(differences[layer], head))


def distances(differences: dict[int, Difference], view: CompareView) -> None:
    """Draw a table of all heads; selecting a row compares that head."""
    rows = [
        (view.weights.name(layer, head), value)
        for layer, each in differences.items()
        for head, value in enumerate(mean_distance(each))
    ]
    table = pd.DataFrame(rows, columns=["head", "distance"]).sort_values("distance", ascending=False, ignore_index=True)
    selectable_table(
        table,
        "compare_distances",
        lambda row: head_widget(view).set(str(table["head"].iloc[row])),
        height=300,
        column_config={
            "head": st.column_config.TextColumn(tr("Layer") if view.weights.per_layer else tr("Head"), width=80),
            "distance": st.column_config.ProgressColumn(tr("Distance"), **decimals(3), min_value=0, max_value=1),
        },
    )


page()
