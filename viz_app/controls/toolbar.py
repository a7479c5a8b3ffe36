"""The choices above the pictures that several pages share: which attention, and which of its tokens are seen."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

import streamlit as st

from core.analysis.attribution.methods import Method
from core.analysis.tokens.words import merge_words, readable, without_special_tokens
from core.capture import KINDS, AttentionMap, Kind
from viz_app.components import word_links
from viz_app.components.attention_lines import Axis
from viz_app.figures import head_names
from viz_app.figures.theme import Theme, theme_named
from viz_app.session import memory, readings
from viz_app.session.attributions import METHOD_NAMES, PER_LAYER, method_maps
from viz_app.session.gradient_output import Output, file_part, output_text

if TYPE_CHECKING:
    import pandas as pd

    from core import Explanation

JOINT = "joint"
T = TypeVar("T")
KindOrJoint = Kind | Literal["joint"]
SHOWN_NAMES: dict[KindOrJoint, str] = {**head_names.KIND_NAMES, JOINT: "Joint"}
View = Literal["Lines", "Map", "Table"]


@dataclass(frozen=True)
class Options:
    """What the page Heads was told.

    Attributes:
        output: the predicted tokens that the gradient is of; None: all, as for every other method.
        top_mass: how much of each row's weight is drawn as lines; None: all that can be seen.
        step: the row of the decoding step that is looked at, if one is.
    """

    kind: Kind
    view: View
    words: bool
    hide_special: bool
    method: Method = "attention"
    output: Output | None = None
    top_mass: float | None = None
    step: int | None = None

    @property
    def per_layer(self) -> bool:
        """Whether the method has but one map a layer."""
        return self.method in PER_LAYER

    def name(self, layer: int, head: int) -> str:
        """What a head is called."""
        return head_names.layer_name(layer, head) if self.per_layer else head_names.name_of(layer, head)

    @property
    def file_part(self) -> str:
        """What the name of a file says of the method."""
        return "" if self.method == "attention" else f"-{self.method}{file_part(self.output)}"

    def about_output(self, reading: readings.Reading) -> str:
        """Which output the method is about, to follow its name as plain text; nothing where it is about none."""
        return f" for {output_text(reading.explanation, self.output)}" if self.method == "gradient" else ""

    def noted(self, table: "pd.DataFrame", reading: readings.Reading, place: int) -> "pd.DataFrame":
        """A table of numbers with the method, and the output that it is about, as columns at a place; tokens are
        counted from 0.
        """
        if self.method == "gradient":
            tokens = reading.explanation.predicted_tokens
            about = (
                "all"
                if self.output is None
                else " ".join(f"{position} {readable(tokens[position])}" for position in self.output)
            )
            table.insert(place, "output", about)
        table.insert(place, "method", self.method)
        return table

    def links(self, explanation: "Explanation") -> dict[Axis, list[str]]:
        """The words that rows and columns belong to."""
        return word_links.links(explanation, self.kind, self.words, self.hide_special)

    def layers(self, reading: readings.Reading) -> Sequence[AttentionMap]:
        """The maps of every layer, with the tokens that are to be seen.

        Raises:
            RuntimeError: the model cannot be taken apart by the method.
        """
        how = (self.words, self.hide_special)
        found = method_maps(reading, self.method, self.output)[self.kind]
        return _seen().get(
            (reading.identity, self.method, self.output, self.kind, how),
            lambda: [prepared(attention, *how) for attention in found],
        )


@st.cache_resource(show_spinner=False)
def _seen() -> "memory.Memory[Sequence[AttentionMap]]":
    """Of all sessions, for the next click on the same sentence; few, as one of 512 tokens takes 50 MB."""
    return memory.Memory(6)


def method_box(key: str = "weights") -> Method:
    """How who attends to whom is seen."""
    names = METHOD_NAMES
    return st.selectbox(
        "Weights",
        names,
        format_func=names.__getitem__,
        key=key,
        bind="query-params",
        label_visibility="collapsed",
        width=205,
    )


def segments(label: str, names: Mapping[T, str], default: T, key: str, **look: Any) -> T:
    """One of a few side by side, which the address holds."""
    return st.segmented_control(
        label,
        tuple(names),
        default=default,
        required=True,
        format_func=names.__getitem__,
        key=key,
        bind="query-params",
        **look,
    )


def kind_box() -> Kind:
    """Which attention."""
    return cast("Kind", _box(KINDS))


def shown_box() -> KindOrJoint:
    """Which attention, or all three in one."""
    return _box((*KINDS, JOINT))


def _box(kinds: tuple[KindOrJoint, ...]) -> KindOrJoint:
    if st.session_state.get("kind") not in (None, *kinds):  # chosen on a page that has more of them
        st.session_state["kind"] = "cross"
    names: dict[KindOrJoint, str] = {kind: SHOWN_NAMES[kind] for kind in kinds}
    return segments("Attention", names, "cross", "kind", label_visibility="collapsed")


def token_boxes() -> tuple[bool, bool]:
    """Whether sub-words are merged, and whether special tokens are hidden."""
    with st.container(horizontal=True, gap="medium", width="content"):  # on one line, be it the first or the second
        words = st.toggle(
            "Whole words",
            True,
            key="words",
            bind="query-params",
            help="Sub-words of a word are merged: summed where they are looked at, averaged where they look.",
        )
        hide = st.toggle(
            "Hide special tokens",
            True,
            key="hide_special",
            bind="query-params",
            help="Leaves out <s> and </s>. What a row lacks of 1 is what it gave to them.",
        )
    return words, hide


def prepared(attention: AttentionMap, words: bool, hide_special: bool) -> AttentionMap:
    """The map with the tokens that are to be seen."""
    attention = merge_words(attention) if words else attention
    return without_special_tokens(attention) if hide_special else attention


def page_theme() -> Theme:
    """That of the page."""
    return theme_named(st.context.theme.type)
