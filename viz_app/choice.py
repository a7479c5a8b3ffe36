"""Which heads are looked at: named for people, remembered for each kind of attention, and found for those who have not chosen."""

import re
from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import streamlit as st

from core import Explanation
from core.analysis.combined import combined
from core.analysis.heads import Head
from core.analysis.methods import METHODS, Method
from core.analysis.scorecards import ScoreCard, score_cards
from core.analysis.words import axis_groups, word_groups
from core.capture import AttentionMap, Kind
from viz_app import address
from viz_app.components.lines import Axis
from viz_app.components.sentence_bar import Side
from viz_app.figures.theme import head_name
from viz_app.methods import PER_LAYER
from viz_app.output import Output
from viz_app.state import Reading

if TYPE_CHECKING:
    from core.export.page import View

LayerHead = tuple[int, int]  # counted from 0
ALL, CHOSEN = -1, -2  # stand where a layer's number stands: many heads as one, head 0 their mean, head 1 their maximum
COMBINED_NAMES: dict[LayerHead, str] = {
    (ALL, 0): "Mean of all",
    (ALL, 1): "Maximum of all",
    (CHOSEN, 0): "Mean of chosen",
    (CHOSEN, 1): "Maximum of chosen",
}
_SHOWN, _RECALLED = "heads_shown", "selection_recalled"
SELECTION, SEPARATOR = "selection", "|"  # its name in the address, and what stands between kind, method and heads there
OUTPUT_SEPARATOR = "."  # and before each token, counted from 1, of the output that the method is about
KIND_NAMES: dict[Kind, str] = {"encoder_self": "Encoder", "decoder_self": "Decoder", "cross": "Cross"}
KIND_TEXTS: dict[Kind, str] = {
    "encoder_self": "each source token looks at the source",
    "decoder_self": "each target token looks at what was written before it",
    "cross": "each target token looks at the source",
}


def name_of(layer: int, head: int) -> str:
    """`L5 H3`, or what many heads as one are called: (ALL, 0) -> `Mean of all`."""
    return COMBINED_NAMES[layer, head] if layer < 0 else head_name(layer, head)


def layer_name(layer: int, head: int) -> str:
    """What stands for all heads of a layer: (4, 0) -> `L5`."""
    return COMBINED_NAMES[layer, head] if layer < 0 else f"L{layer + 1}"


def names(maps: Sequence[AttentionMap], name: Callable[[int, int], str] = name_of) -> list[str]:
    """`L1 H1`, ... of every head of these layers, then what they can be combined to."""
    return [*(name(attention.layer, head) for attention in maps for head in range(attention.num_heads)), *COMBINED_NAMES.values()]


def parsed(name: str) -> LayerHead:
    """`L5 H3` -> (4, 2), `L5` -> (4, 0), `Mean of all` -> (ALL, 0)."""
    for place, combined_name in COMBINED_NAMES.items():
        if name == combined_name:
            return place
    numbers = re.fullmatch(r"L(\d+)(?: H(\d+))?", name)
    if numbers is None:
        raise ValueError(f"{name!r} is not the name of a head, expected one such as 'L5 H3'")
    return int(numbers[1]) - 1, int(numbers[2] or 1) - 1


def chosen_key(kind: Kind, per_layer: bool = False) -> str:
    """Where a session keeps the names of the heads that are looked at on the page Heads."""
    return f"layers_{kind}" if per_layer else f"heads_{kind}"


@dataclass
class Shown:
    """What the page Heads has shown last, of the model with this digest. One a session, so that a file made later holds what is seen then."""

    digest: str = ""
    kind: Kind = "cross"
    method: Method = "attention"
    heads: Sequence[LayerHead] = ()
    view: "View" = "Lines"
    output: Output | None = None  # of the reading with this identity
    output_of: Hashable = None

    def first_head(self, digest: str) -> Head | None:
        """The first that is one head and not many as one; None where there is none of this model."""
        heads = self.heads if digest == self.digest else ()
        return next((Head(self.kind, layer, head) for layer, head in heads if layer >= 0), None)


def shown() -> Shown:
    """That of this session."""
    return st.session_state.setdefault(_SHOWN, Shown())


def look_at(about: Reading, kind: Kind, method: Method, heads: Sequence[LayerHead], view: "View" = "Lines", output: Output | None = None) -> None:
    """Remember what the page Heads shows, for other pages that draw the same."""
    now = shown()
    now.digest, now.kind, now.method, now.heads, now.view = about.model.digest, kind, method, tuple(heads), view
    now.output, now.output_of = output, about.identity


def output_looked_at(about: Reading) -> Output | None:
    """Which output the method there is about; None for all of it, as of a sentence that was not looked at there."""
    return shown().output if shown().output_of == about.identity else None


def looked_at(about: Reading) -> tuple[Kind, Method, Sequence[LayerHead]]:
    """The kind, the method and the heads last shown there; a telling head of cross-attention where none of this model were."""
    found = shown()
    if found.digest != about.model.digest or not found.heads:
        return "cross", "attention", [telling_head("cross", about.explanation.maps["cross"])]
    return found.kind, found.method, found.heads


def recall(about: Reading) -> None:
    """On pages that draw what is chosen on the page Heads: begin with what the address names, if this model has it all."""
    begun = shown().digest or st.session_state.get(_RECALLED)
    st.session_state[_RECALLED] = True
    kind, _, asked = st.query_params.get(SELECTION, "").partition(SEPARATOR)
    named, _, asked = asked.partition(SEPARATOR)
    method, *numbers = named.split(OUTPUT_SEPARATOR)
    output = tuple(sorted({int(number) - 1 for number in numbers if re.fullmatch("[1-9][0-9]{0,3}", number)}))
    possible = len(output) == len(numbers) and (not output or (method == "gradient" and output[-1] < len(about.explanation.predicted_tokens)))
    chosen = asked.split(SEPARATOR)
    for known_kind, maps in about.explanation.maps.items():
        places = [*((each.layer, head) for each in maps for head in range(each.num_heads)), *COMBINED_NAMES]
        known = {name_of(*place): place for place in places}
        if not begun and kind == known_kind and method in METHODS and possible and all(name in known for name in chosen):
            look_at(about, known_kind, method, [known[name] for name in chosen], output=output or None)
            if method not in PER_LAYER:
                st.session_state[chosen_key(known_kind)] = chosen


def keep(kind: Kind, method: Method, heads: Sequence[LayerHead], output: Output | None = None) -> None:
    """There, hold in the address what is drawn."""
    named = OUTPUT_SEPARATOR.join([method, *(str(position + 1) for position in output or ())])
    address.put(SELECTION, SEPARATOR.join([kind, named, *(name_of(*head) for head in heads)]))


def with_combined(maps: Sequence[AttentionMap], chosen: Collection[LayerHead]) -> list[AttentionMap]:
    """The layers, and many heads as one: of two heads each, mean and maximum, as if they were the layers `ALL` and `CHOSEN`."""
    heads = {(layer, head) for layer, head in chosen if layer >= 0}
    found = [*maps, replace(maps[0], layer=ALL, weights=combined(maps))]
    return [*found, replace(maps[0], layer=CHOSEN, weights=combined(maps, heads))] if heads else found


def telling_head(kind: Kind, maps: Sequence[AttentionMap]) -> LayerHead:
    """The head to show first: the most confident one, less what it rests on tokens that say little.

    In cross-attention only the upper half of the layers is asked: what the lower ones know is the word that was fed, and
    a reader expects to see where the word came from that is predicted.
    """

    def worth(card: ScoreCard) -> float:
        return card.confidence * (1 - card.sink_share) if card.num_tokens else 0.0

    asked = maps[len(maps) // 2 :] if kind == "cross" else maps
    best = max(score_cards([{kind: asked}]), key=worth)
    return best.head.layer, best.head.head


def toggled(chosen: Sequence[str], name: str, compare: bool) -> list[str]:
    """What is chosen after a click on a head: it alone, or, when comparing, it added or taken away; the last one stays."""
    if not compare:
        return [name]
    if name in chosen:
        return [other for other in chosen if other != name] or [name]
    return [*chosen, name]


def links(explanation: Explanation, kind: Kind, words: bool, hide_special: bool) -> dict[Axis, list[str]]:
    """Which word of the sentence each row and column of a map belongs to, as the sentence bar names it: `target 3`, or nothing for `<s>`.

    Args:
        words, hide_special: what was done to the map, as for `axis_groups`.
    """
    named: dict[Axis, list[str]] = {}
    for axis, groups in positions(explanation, kind, words, hide_special).items():
        side, shift = _sentence_of(axis, kind)
        tokens = explanation.source_tokens if side == "source" else explanation.predicted_tokens
        starts = {position: group.start for group in word_groups(tokens) for position in group}
        named[axis] = [f"{side} {starts[group.start - shift]}" if group.start - shift in starts else "" for group in groups]
    return named


def positions(explanation: Explanation, kind: Kind, words: bool, hide_special: bool) -> dict[Axis, list[range]]:
    """The tokens that stand behind each row and column of a map, as for `links`."""
    rows = explanation.source_tokens if kind == "encoder_self" else explanation.predicted_tokens
    keys = explanation.fed_tokens if kind == "decoder_self" else explanation.source_tokens
    return {"query": axis_groups(rows, words, hide_special), "key": axis_groups(keys, words, hide_special)}


def _sentence_of(axis: Axis, kind: Kind) -> tuple[Side, int]:
    """Which sentence an axis is about, and how many positions later a token of it stands on the axis: what was put out is fed one later."""
    if kind == "encoder_self" or (kind == "cross" and axis == "key"):
        return "source", 0
    return "target", 1 if axis == "key" else 0
