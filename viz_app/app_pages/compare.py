"""Compare: two hypotheses, sentences or checkpoints side by side with one selection, and the signed difference."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import pandas as pd
import streamlit as st

from core.analysis.attribution.methods import Method
from core.analysis.comparison import Difference, difference, largest_differences, mean_distance
from core.analysis.tokens.words import readable
from core.capture import AttentionMap, Kind
from viz_app.components.attention_lines import attention_lines
from viz_app.components.attention_map import attention_map
from viz_app.controls import toolbar
from viz_app.controls.downloads import downloads
from viz_app.controls.tables import show_table
from viz_app.features.compare import other_side
from viz_app.features.compare.other_side import AGAINST, Against, ComparedSide
from viz_app.figures import head_names
from viz_app.figures.display_text import isolated, plain, sentence_case, shortened
from viz_app.figures.export.head_pictures import export_lines, export_map
from viz_app.figures.theme import head_name, theme_named
from viz_app.figures.weight_tables import lines_table
from viz_app.session import chosen_heads, permalink, readings
from viz_app.session.attributions import METHOD_NAMES, METHOD_SOURCES, METHOD_TEXTS, PER_LAYER
from viz_app.session.word_selection import Selection, TokenPositions, common_positions, other_positions, own_positions

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

HOW_TO_READ = """
Each cell is the first's weight minus the second's: one colour where the first looks there more, the other where the
second does, none where both look alike. Only words that both have, in the same order, can be subtracted; a decoder row
is the same when it **predicts** the same word.

A weight depends on the whole sentence: a difference shows that the two look elsewhere, not which word made them.
"""
ABOUT_DISTANCE = """
Half the sum of the differences of a row, without their signs, averaged over the rows: 0 when both look at the same, 1
when they look at nothing in common (total variation distance). Words that only one of the two has are left out of it.
"""


@st.fragment
def page() -> None:
    """The page below the sentence; a click in here runs nothing else again."""
    reading = readings.reading()
    if reading is None:
        st.caption("The comparison appears here as soon as there is a sentence to look at.")
        return
    with st.container(horizontal=True, gap="medium"):
        against: Against = st.segmented_control(
            "Compare with another", AGAINST, default="Hypothesis", required=True, key="against", bind="query-params"
        )
        place = st.container()
    other = other_side.chosen(reading, against, place)
    if other is None:
        return
    mine = other_side.side_of(reading, reading.model.name if against == "Checkpoint" else "")
    kind, method, words, hide, view, heads = choices()
    try:
        maps = [
            {each.layer: toolbar.prepared(each, words, hide) for each in side.maps(method)[kind]}
            for side in (mine, other)
        ]
    except (ValueError, RuntimeError) as error:
        st.error(sentence_case(str(error)))
        return
    if method != "attention":
        st.caption(f"**{METHOD_NAMES[method]}**: {METHOD_TEXTS[method]}.", help=METHOD_SOURCES[method])
    with heads:
        head = head_box(kind, method, maps[0], maps[1], lambda: reading.explanation.maps[kind])
    selection = Selection(reading, kind, words, hide)
    own, second_one = (layers[head[0]] for layers in maps)
    left, right = st.container(key="side-by-side").columns(2, gap="large")
    with left:
        one_side("First", mine, own, head[1], method, view, selection, own_positions(own))
    with right:
        one_side("Second", other, second_one, head[1], method, view, selection, other_positions(own, second_one))
    st.divider()
    signed(maps[0], maps[1], head, method, against, selection)


def choices() -> tuple[Kind, Method, bool, bool, str, "DeltaGenerator"]:
    """What holds for both, as on the page Heads; last the place for the choice of a head."""
    with st.container(horizontal=True, vertical_alignment="center", gap="medium", key="compare-toolbar"):
        heads = st.container(width="content")
        kind = toolbar.kind_box()
        method = toolbar.method_box("compare_weights")
        view = st.segmented_control(
            "View",
            ("Lines", "Map"),
            default="Map",
            required=True,
            key="compare_view",
            bind="query-params",
            label_visibility="collapsed",
        )
        words, hide = toolbar.token_boxes()
    return kind, method, words, hide, view, heads


def name_of(method: Method) -> Callable[[int, int], str]:
    """What a head is called; some methods have but one map a layer."""
    return head_names.layer_name if method in PER_LAYER else head_name


def chosen_key(kind: Kind, method: Method) -> str:
    """Where the session keeps the head, or the layer, that is looked at."""
    return f"compare_{'layer' if method in PER_LAYER else 'head'}_{kind}"


def head_box(
    kind: Kind,
    method: Method,
    first: dict[int, AttentionMap],
    other: dict[int, AttentionMap],
    raw: Callable[[], Sequence[AttentionMap]],
) -> head_names.LayerHead:
    """The head that is looked at in both: at first the one that is chosen on the page Heads, or else a telling one;
    of layers the last.
    """
    shared = [first[layer] for layer in first if layer in other]
    name = name_of(method)
    names = [
        name(each.layer, head) for each in shared for head in range(min(each.num_heads, other[each.layer].num_heads))
    ]
    key = chosen_key(kind, method)
    if st.session_state.get(key, st.query_params.get(key)) not in names:
        heads = st.session_state.get(f"heads_{kind}") or [head_name(*chosen_heads.telling_head(kind, raw()))]
        wanted = [names[-1]] if method in PER_LAYER else heads
        permalink.preset(key, next((each for each in wanted if each in names), names[0]))
    # Without a default every choice differs from it, and so is in the address.
    head = st.selectbox(
        "Head", names, None, required=True, key=key, bind="query-params", width=110, label_visibility="collapsed"
    )
    return head_names.parsed(head or names[0])


def export_name(what: str, attention: AttentionMap, head: int, method: Method) -> str:
    """What an exported picture is called, without its ending; layers and heads counted from 0."""
    numbered = f"layer{attention.layer}" + ("" if method in PER_LAYER else f"-head{head}")
    return f"{what}-{attention.kind}-{numbered}{'' if method == 'attention' else f'-{method}'}"


def one_side(
    title: str,
    side: ComparedSide,
    attention: AttentionMap,
    head: int,
    method: Method,
    view: str,
    selection: Selection,
    positions: TokenPositions,
) -> None:
    """One of the two, drawn."""
    st.markdown(f"**{title}**: {isolated(plain(shortened(side.name)))}")
    theme, name, look = theme_named(st.context.theme.type), name_of(method), selection.look(positions)
    key = f"compare_{title}_{attention.kind}"
    if view == "Lines":
        attention_lines(attention, [head], theme, name=name, key=key, **look)
        draw = partial(export_lines, attention, [head], theme=theme, name=name)
    else:
        attention_map(attention, head, theme, name=name, key=f"{key}_map", **look)
        draw = partial(export_map, attention, head, theme=theme, name=name)
    downloads(export_name(title.lower(), attention, head, method), draw, lambda: lines_table(attention, [head]))


def signed(
    first: dict[int, AttentionMap],
    other: dict[int, AttentionMap],
    head: head_names.LayerHead,
    method: Method,
    against: Against,
    selection: Selection,
) -> None:
    """First minus second, and how far apart every head is."""
    kind = first[head[0]].kind
    left, right = st.container(key="difference").columns([3, 2], gap="large")
    with left:
        st.markdown(f"**Difference** of {name_of(method)(*head)}: first minus second", help=HOW_TO_READ)
        try:
            found = {layer: difference(first[layer], other[layer]) for layer in first if layer in other}
        except ValueError as error:
            st.info(sentence_case(f"no difference is drawn: {error}"))
            return
        here = found[head[0]]
        st.caption(agreement(here))
        positions = common_positions(first[head[0]], other[head[0]])
        look = {"diverging": True, "name": name_of(method), **selection.look(positions)}
        attention_map(here.map, head[1], theme_named(st.context.theme.type), key="difference_map", **look)
        draw = partial(
            export_map,
            here.map,
            head[1],
            theme=theme_named(st.context.theme.type),
            diverging=True,
            name=name_of(method),
        )
        downloads(export_name("difference", here.map, head[1], method), draw, lambda: lines_table(here.map, [head[1]]))
    with right:
        st.markdown(
            f"**All {'layers' if method in PER_LAYER else 'heads'}**, the most different first", help=ABOUT_DISTANCE
        )
        distances(found, kind, method)
        st.caption(in_words(here, head[1]))
        if against == "Checkpoint" and method not in PER_LAYER:
            st.caption(
                "Heads of models that were trained apart are numbered by chance: the same number need not mean the "
                "same work."
            )


def agreement(found: Difference) -> str:
    """Which words are left out of the difference."""
    if found.is_whole:
        return "Both have the same words on both axes."
    parts = [
        f"{', '.join(map(named, words))} ({side})"
        for words, side in ((found.first_only, "first"), (found.second_only, "second"))
        if words
    ]
    return (
        f"Drawn are the words that both have in the same order. Without a counterpart, and so left out: "
        f"{'; '.join(parts)}."
    )


def in_words(found: Difference, head: int) -> str:
    """The largest differences as a sentence."""
    rows = found.map.row_tokens
    parts = [
        f"{named(rows[row])} looks at {named(found.map.key_tokens[key])} {abs(value):.2f} "
        f"{'more' if value > 0 else 'less'}"
        for row, key, value in largest_differences(found, head)
    ]
    return f"In the first, {'; '.join(parts)}." if parts else "This head does the same in both."


def named(token: str) -> str:
    """A token within a sentence, set off from it: it may be a full stop."""
    return f"\u201c{isolated(plain(readable(token)))}\u201d"


def distances(found: dict[int, Difference], kind: Kind, method: Method) -> None:
    """A table of all heads; a click on a row looks at that head."""
    name = name_of(method)
    rows = [
        (name(layer, head), value) for layer, each in found.items() for head, value in enumerate(mean_distance(each))
    ]
    table = pd.DataFrame(rows, columns=["head", "distance"]).sort_values("distance", ascending=False, ignore_index=True)

    def chosen() -> None:
        selected: list[int] = st.session_state["distances"]["selection"]["rows"]
        if selected and selected[0] < len(table):
            st.session_state[chosen_key(kind, method)] = table["head"][selected[0]]

    show_table(
        table,
        height=300,
        on_select=chosen,
        selection_mode="single-row",
        key="distances",
        column_config={
            "head": st.column_config.TextColumn("Layer" if method in PER_LAYER else "Head", width=80),
            "distance": st.column_config.ProgressColumn("Distance", format="%.3f", min_value=0, max_value=1),
        },
    )


page()
