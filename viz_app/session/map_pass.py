"""The pass of a model that an attention map shows, and the products of query and key behind its cells."""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import streamlit as st

from core import Translator
from core.analysis.heads.head import Head, Maps
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
    """The pass of a model that a map shows.

    Attributes:
        identity: equal for the same pass.
        maps: with all tokens.
        products: of a cell.
        python: computes the products of a cell as `found`.
    """

    identity: Hashable
    maps: Layers
    products: Callable[[Cell], ScoreProducts]
    python: Callable[[Cell], str]


def reading_pass(about: Reading) -> MapPass:
    """Return the pass of the current reading, or of any other."""
    return text_pass(about.model, about.translation.source, about.hypothesis.token_ids)


def text_pass(model: Model, source: str, target: str | tuple[int, ...]) -> MapPass:
    """Return the pass over a source and a target."""

    return replayed(
        (model.digest, source, target),
        model_passes.explanation(model, source, target).maps,
        lambda: model.translator,
        lambda translator: translator.explain(source, target),
        f"{python_code.explanation_part(model, source, target)}\nreplay = lambda: translator.explain(source, target)",
    )


def replayed(
    identity: Hashable,
    maps: Maps,
    load: Callable[[], Translator],
    replay: Callable[[Translator], object],
    python: str,
    variant: Hashable = None,
) -> MapPass:
    """Return a pass whose products are computed by running the model again, with results shared by all sessions.

    Args:
        load: returns the model.
        replay: runs it once.
        python: the same as `translator` and `replay`.
        variant: tells apart passes of one identity, in all of which a selected cell stays selected.
    """
    layers: Layers = {(each.kind, each.layer): each for of_kind in maps.values() for each in of_kind}
    return MapPass(
        identity,
        layers,
        lambda cell: _products((identity, variant), cell, load, replay),
        lambda cell: f"{python}\n{cell_part(cell)}",
    )


@st.cache_resource(max_entries=64, show_spinner=False)
def _products(
    identity: Hashable, cell: Cell, _load: Callable[[], Translator], _replay: Callable[[Translator], object]
) -> ScoreProducts:
    translator = _load()
    return score_products(translator, lambda: _replay(translator), *cell)


def cell_part(cell: Cell) -> str:
    """Compute a cell's products in Python as `found`, from `translator` and `replay`."""
    return f"""
from core.analysis.heads.head import Head
from core.analysis.token_path.score_products import score_products
found = score_products(translator, replay, Head{tuple(cell.head)}, {cell.query}, {cell.key})""".strip()
