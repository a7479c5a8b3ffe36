"""The pass of a model that an attention map shows, and the products of query and key behind its cells."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import streamlit as st

from core.analysis.heads.head import Head, Maps
from core.analysis.recorded_call import Call, Given
from core.analysis.token_path.score_products import ScoreProducts, score_products
from core.capture import AttentionMap, Kind
from viz_app.session import model_passes, python_code
from viz_app.session.models import Model
from viz_app.session.readings import Reading


class Cell(NamedTuple):
    """A cell of a map: the head, and the positions of its tokens."""

    head: Head
    query: int
    key: int


Layers = Mapping[tuple[Kind, int], AttentionMap]


@dataclass(frozen=True)
class MapPass:
    """The pass of a model that a map shows."""

    identity: Hashable  # equal for the same pass
    maps: Layers  # with all tokens
    call: Callable[[Cell], Call]  # computes the products of a cell
    variant: Hashable = None  # tells apart passes of one identity, in all of which a selected cell stays selected

    def products(self, cell: Cell) -> ScoreProducts:
        """Return the products of a cell; the results of all sessions are shared."""
        return _products((self.identity, self.variant), cell, self.call)


@st.cache_resource(max_entries=64, show_spinner=False)
def _products(identity: Hashable, cell: Cell, _call: Callable[[Cell], Call]) -> ScoreProducts:
    return _call(cell).run()


def reading_pass(about: Reading) -> MapPass:
    """Return the pass of the current reading, or of any other."""
    return text_pass(about.model, about.translation.source, about.hypothesis.token_ids)


def text_pass(model: Model, source: str, target: str | tuple[int, ...]) -> MapPass:
    """Return the pass over a source and a target."""

    def call(cell: Cell) -> Call:
        translator, *sentence = python_code.RecordedPass(model, source, target).arguments
        return replayed(translator, "explain", sentence, cell)

    maps = model_passes.explanation(model, source, target).maps
    return MapPass((model.digest, source, target), by_layer(maps), call)


def by_layer(maps: Maps) -> Layers:
    """Return maps by their kind and layer."""
    return {(each.kind, each.layer): each for of_kind in maps.values() for each in of_kind}


def replayed(translator: Call | Given, method: str, arguments: Sequence[Any], cell: Cell, of: Any = None) -> Call:
    """Return the call that computes the products of a cell by running the model again.

    Args:
        method: runs it once; of the translator, or of `of`.
        arguments: of the method.
    """
    bound = Call(method, f".{method}", (of or translator,))
    return Call("products", score_products, (translator, Call("replay", partial, (bound, *arguments)), *cell))
