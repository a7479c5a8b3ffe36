"""Which heads are selected: remembered for each kind of attention, kept in the address, and a default for a new
session.
"""

import re
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import streamlit as st

from core.analysis.attribution.methods import METHODS, Method
from core.analysis.heads.head import Head
from core.analysis.heads.mean_and_maximum import combined
from core.analysis.heads.scorecards import ScoreCard
from core.analysis.heads.scoring import score_cards
from core.capture import AttentionMap, Kind
from viz_app.figures.head_names import ALL, CHOSEN, COMBINED_NAMES, LayerHead, name_of
from viz_app.session import permalink
from viz_app.session.attributions import PER_LAYER
from viz_app.session.gradient_output import Output
from viz_app.session.readings import Reading

if TYPE_CHECKING:
    from core.export.html_page import PageView

_SHOWN, _RECALLED = "heads_shown", "selection_recalled"
SELECTION, SEPARATOR = "selection", "|"  # its name in the address, and what stands between kind, method and heads there
OUTPUT_SEPARATOR = "."  # and before each token, counted from 1, of the output that the method is about


def chosen_key(kind: Kind, per_layer: bool = False) -> str:
    """Where a session keeps the names of the heads that are looked at on the page Heads."""
    return f"layers_{kind}" if per_layer else f"heads_{kind}"


@dataclass
class ShownHeads:
    """What the page Heads has shown last, of the model with this digest. One a session, so that a file made later
    holds what is seen then.
    """

    digest: str = ""
    kind: Kind = "cross"
    method: Method = "attention"
    heads: Sequence[LayerHead] = ()
    view: "PageView" = "Lines"
    output: Output | None = None  # of the reading with this identity
    output_of: Hashable = None

    def first_head(self, digest: str) -> Head | None:
        """The first that is one head and not many as one; None where there is none of this model."""
        heads = self.heads if digest == self.digest else ()
        return next((Head(self.kind, layer, head) for layer, head in heads if layer >= 0), None)


def shown() -> ShownHeads:
    """That of this session."""
    return st.session_state.setdefault(_SHOWN, ShownHeads())


def look_at(
    about: Reading,
    kind: Kind,
    method: Method,
    heads: Sequence[LayerHead],
    view: "PageView" = "Lines",
    output: Output | None = None,
) -> None:
    """Remember what the page Heads shows, for other pages that draw the same."""
    now = shown()
    now.digest, now.kind, now.method, now.heads, now.view = about.model.digest, kind, method, tuple(heads), view
    now.output, now.output_of = output, about.identity


def output_looked_at(about: Reading) -> Output | None:
    """Which output the method there is about; None for all of it, as of a sentence that was not looked at there."""
    return shown().output if shown().output_of == about.identity else None


def looked_at(about: Reading) -> tuple[Kind, Method, Sequence[LayerHead]]:
    """The kind, the method and the heads last shown there; a telling head of cross-attention where none of this
    model were.
    """
    found = shown()
    if found.digest != about.model.digest or not found.heads:
        return "cross", "attention", [telling_head("cross", about.explanation.maps["cross"])]
    return found.kind, found.method, found.heads


def recall(about: Reading) -> None:
    """On pages that draw what is chosen on the page Heads: begin with what the address names, if this model has it
    all.
    """
    begun = shown().digest or st.session_state.get(_RECALLED)
    st.session_state[_RECALLED] = True
    kind, _, asked = st.query_params.get(SELECTION, "").partition(SEPARATOR)
    named, _, asked = asked.partition(SEPARATOR)
    method, *numbers = named.split(OUTPUT_SEPARATOR)
    output = tuple(sorted({int(number) - 1 for number in numbers if re.fullmatch("[1-9][0-9]{0,3}", number)}))
    possible = len(output) == len(numbers) and (
        not output or (method == "gradient" and output[-1] < len(about.explanation.predicted_tokens))
    )
    chosen = asked.split(SEPARATOR)
    for known_kind, maps in about.explanation.maps.items():
        places = [*((each.layer, head) for each in maps for head in range(each.num_heads)), *COMBINED_NAMES]
        known = {name_of(*place): place for place in places}
        if (
            not begun
            and kind == known_kind
            and method in METHODS
            and possible
            and all(name in known for name in chosen)
        ):
            look_at(about, known_kind, method, [known[name] for name in chosen], output=output or None)
            if method not in PER_LAYER:
                st.session_state[chosen_key(known_kind)] = chosen


def keep(kind: Kind, method: Method, heads: Sequence[LayerHead], output: Output | None = None) -> None:
    """There, hold in the address what is drawn."""
    named = OUTPUT_SEPARATOR.join([method, *(str(position + 1) for position in output or ())])
    permalink.put(SELECTION, SEPARATOR.join([kind, named, *(name_of(*head) for head in heads)]))


def with_combined(maps: Sequence[AttentionMap], chosen: Collection[LayerHead]) -> list[AttentionMap]:
    """The layers, and many heads as one: of two heads each, mean and maximum, as if they were the layers `ALL` and
    `CHOSEN`.
    """
    heads = {(layer, head) for layer, head in chosen if layer >= 0}
    found = [*maps, replace(maps[0], layer=ALL, weights=combined(maps))]
    return [*found, replace(maps[0], layer=CHOSEN, weights=combined(maps, heads))] if heads else found


def telling_head(kind: Kind, maps: Sequence[AttentionMap]) -> LayerHead:
    """The head to show first: the most confident one, less what it rests on tokens that say little.

    In cross-attention only the upper half of the layers is asked: what the lower ones know is the word that was fed,
    and a reader expects to see where the word came from that is predicted.
    """

    def worth(card: ScoreCard) -> float:
        return card.confidence * (1 - card.sink_share) if card.num_tokens else 0.0

    asked = maps[len(maps) // 2 :] if kind == "cross" else maps
    best = max(score_cards([{kind: asked}]), key=worth)
    return best.head.layer, best.head.head


def toggled(chosen: Sequence[str], name: str, compare: bool) -> list[str]:
    """What is chosen after a click on a head: it alone, or, when comparing, it added or taken away; the last one
    stays.
    """
    if not compare:
        return [name]
    if name in chosen:
        return [other for other in chosen if other != name] or [name]
    return [*chosen, name]
