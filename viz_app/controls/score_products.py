"""A cell of an attention map that was clicked, and the products behind its score.

Every page that draws the map of a single head draws it with `map_with_products`.
"""

import re
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import streamlit as st

from core.analysis.attribution.methods import Method
from core.analysis.heads.head import Head
from core.analysis.token_path.score_products import ScoreProducts
from core.analysis.tokens.words import map_groups, readable
from core.capture import KINDS, AttentionMap, Kind
from core.drawing.drawing_data import FED_ARROW
from viz_app.components.attention_clicks import ClickedWeights, Cutting
from viz_app.components.attention_map import attention_map
from viz_app.components.picture import picture
from viz_app.controls.check_badge import check_badge
from viz_app.controls.downloads import downloads
from viz_app.controls.widgets import text_button, way_to
from viz_app.drawing.ablation import head_title
from viz_app.drawing.display_text import decimal, isolated, plain
from viz_app.drawing.theme import Theme
from viz_app.language import marked, tr
from viz_app.session import address, readings
from viz_app.session.attributions import METHOD_NAMES
from viz_app.session.map_pass import Cell, MapPass
from viz_app.session.models import Model
from viz_app.session.questions import ask_why_there
from viz_app.session.readings import TokenView
from viz_app.session.state import session_object
from viz_app.session.step_place import StepPlace

PRODUCTS = address.PRODUCTS  # drawing, kind, layer, head, query and key, counted from 1
NO_MODEL = marked("A file of weights has no queries and keys, so there are no products behind a cell.")
NO_HEAD = marked(
    "A combination of heads has no single product of query and key: select one head to see those of a cell."
)
DIFFERENCE = marked("A difference has no product of query and key: click a cell of either map to see its own.")
ABOUT = marked("""
The **score** of a query and a key is the sum of d_k products q_i k_i / \u221ad_k (section 3.2.1), a bar for each. The
softmax of the scores of a row gives its weights: a score says something only beside the others of its row. With whole
words, it is the pair of sub-words with the largest weight.

A dimension has no meaning of its own, and a large score does not say that the word mattered for the result.
""")
ABOUT_BADGE = marked(
    "Query and key are taken from the model's pass, the products in float64: their sum must be its score."
)


@dataclass
class ClickedCell:
    """The cell that was clicked last in a session."""

    key: str = ""  # of the drawing; "" before the first click
    of: Hashable = None  # identity of its pass
    cell: Cell | None = None


Locate = Callable[[int, int], tuple[Head, Sequence[int], Sequence[int]] | None]


@dataclass(frozen=True)
class MapCells:
    """The cells of a map, as buttons."""

    key: str  # of the drawing
    of: MapPass
    locate: Locate  # head, and positions of the tokens, behind a row and a column; None if there is no attention
    # says how to select a cell, in English
    hint: str = marked("Click a cell to see the products of query and key behind its score.")

    def click(self, clicked: ClickedWeights) -> None:
        """Select a clicked cell; a whole row or column is none."""
        _, row, column = clicked
        if row is not None and column is not None:
            self.select_words(row, column)

    def select_words(self, row: int, column: int) -> None:
        """Select the cell of a row and a column; of words with several tokens, the pair of the largest weight."""
        if (located := self.locate(row, column)) is None:
            return
        head, queries, keys = located
        weights = self.of.maps[head.kind, head.layer].weights[head.head]
        pairs = [(query, key) for query in queries for key in keys]
        self.select(Cell(head, *max(pairs, key=lambda pair: float(weights[pair]))))

    def select(self, cell: Cell) -> None:
        """Select a cell; if it is of the current reading, the page Step by step then starts there."""
        state = session_object(ClickedCell)
        state.key, state.of, state.cell = self.key, self.of.identity, cell
        if self._is_current():
            session_object(StepPlace).lead_to_score(*cell)

    def selected(self, shows: Callable[[Cell], bool]) -> Cell | None:
        """Return the selected cell that the map shows now, and write it to the address.

        In a new session, and after going back or forward, it is that of the address.
        """
        state = session_object(ClickedCell)
        named = parsed_cell(next(iter(PRODUCTS.texts), ""))
        if named is not None and named[0] == self.key and self._has(named[1]):
            PRODUCTS.take()
            self.select(named[1])
        if state.key != self.key:
            return None
        cell = state.cell if state.of == self.of.identity else None
        found = cell if cell is not None and shows(cell) else None
        PRODUCTS.put("" if found is None else written_cell(self.key, found))
        return found

    def show(self, shows: Callable[[Cell], bool]) -> None:
        """Draw the products behind the selected cell, or say how to get there."""
        cell = self.selected(shows)
        if cell is None:
            st.caption(tr(self.hint))
            return
        with st.container(border=True, key=f"products-of-{self.key}"):
            self._draw(cell, self.of.products(cell))

    def _draw(self, cell: Cell, products: ScoreProducts) -> None:
        own = self.of.maps[cell.head.kind, cell.head.layer]
        st.markdown(cell_text(own, cell, products), help=tr(ABOUT))
        picture(products.picture(), f"products-{self.key}")
        row, column = tokens_of(own, cell)
        title = tr(
            "Products of query ({query}) and key ({key}), {head}", query=row, key=column, head=head_title(cell.head)
        )
        downloads(
            "score-products",
            f"products-{self.key}",
            lambda: self.of.call(cell).returning(products).then("columns"),
            title=title,
            of_sentence=self._is_current(),
        )
        with st.container(horizontal=True, vertical_alignment="center"):
            if not products.is_hidden:
                gap = tr(
                    "sum {sum:.6f}, score {score:.6f}, gap {gap:.1g}",
                    sum=products.score,
                    score=products.own_score,
                    gap=products.gap,
                )
                # others are refused
                check_badge(marked("products sum to the score"), True, ABOUT_BADGE, gap)
            reading = readings.reading()
            if reading is not None and self._is_current():
                if not products.is_hidden:
                    text_button(tr("Why does it look there?"), ask_why_there, reading, *cell, key=f"why-{self.key}")
                way_to("step_through", tr("All steps"))

    def _is_current(self) -> bool:
        reading = readings.reading()
        return reading is not None and reading.identity == self.of.identity

    def _has(self, cell: Cell) -> bool:
        """Whether there is such a cell."""
        own, place = self.of.maps.get((cell.head.kind, cell.head.layer)), (cell.head.head, cell.query, cell.key)
        return own is not None and all(number < count for number, count in zip(place, own.weights.shape, strict=True))


def map_with_products(
    attention: AttentionMap,
    head: int,
    theme: Theme,
    of: MapPass | str,
    *,
    key: str,
    tokens: TokenView | None = None,
    cutting: Cutting | None = None,
    **options: Any,
) -> None:
    """Draw the map of a head, and the products behind the cell that was clicked.

    Args:
        of: the pass that the map shows; or why there are no products behind its cells, see `no_products`.
        key: of the drawing; unique on the page.
        tokens: words of the map; None: all tokens as they are.
        cutting: cuts to mark; a click then also cuts.
        options: of `map_payload`.
    """
    if isinstance(of, str):
        attention_map(attention, head, theme, key=key, cutting=cutting, **options)
        st.caption(tr(of))
        return
    shown = Head(attention.kind, attention.layer, head)
    cells = MapCells(key, of, head_cells(of.maps[shown[:2]], shown, tokens))
    if cutting is not None:
        listeners = cells.click, cutting.on_cut
        cutting = replace(cutting, on_cut=lambda clicked: [listener(clicked) for listener in listeners])
    attention_map(attention, head, theme, key=key, cutting=cutting, on_cell=cells.click, **options)
    with st.expander(tr("Products of query and key, before cutting")) if cutting else st.container():
        cells.show(lambda cell: cell.head == shown)


def head_cells(own: AttentionMap, head: Head, tokens: TokenView | None = None) -> Locate:
    """Locate the cells of the map of one head, of whose layer `own` has all tokens; see `map_with_products`."""
    view = tokens or TokenView(words=False, hide_special=False)
    rows, columns = map_groups(own.kind, own.row_tokens, own.key_tokens, view.words, view.hide_special)
    return lambda row, column: (head, rows[row], columns[column])


def no_products(model: Model, method: Method, is_head: bool) -> str:
    """Say why there are no products behind the cells of a map; "" if there are."""
    if model.explanation is not None:
        return NO_MODEL
    if method != "attention":
        return tr(
            "{method} is not a softmax of scores: with the method Attention, a click shows the products behind a cell.",
            method=tr(METHOD_NAMES[method]),
        )
    return "" if is_head else NO_HEAD


# --- texts ----------------------------------------------------------------------------------------------------------


def tokens_of(own: AttentionMap, cell: Cell) -> tuple[str, str]:
    """Name the row and the column of a cell of a layer's map."""
    names = [own.query_tokens[cell.query], *([own.predicted_tokens[cell.query]] if own.predicted_tokens else [])]
    return f" {FED_ARROW} ".join(map(readable, names)), readable(own.key_tokens[cell.key])


def cell_text(own: AttentionMap, cell: Cell, products: ScoreProducts) -> str:
    """Describe the sum of the products behind a cell, as Markdown."""
    row, key = (f"**{plain(isolated(each))}**" for each in tokens_of(own, cell))
    values = {
        "head": f"**{head_title(cell.head)}**",
        "query": row,
        "key": key,
        "count": len(products.query),
        "score": decimal(products.score, 3),
    }
    if products.is_hidden:
        return tr(
            "{head}: {key} is hidden from {query} by the mask, so its weight is 0; behind it are {count} products, "
            "whose sum is the score **{score}**.",
            **values,
        )
    weight = decimal(products.weight, 3)
    if products.relative is not None:
        return tr(
            "{head}: {query} attends to {key} with weight **{weight}**; behind it are {count} products, and "
            "**{relative}** for the distance: their sum is the score **{score}**.",
            **values,
            weight=weight,
            relative=decimal(products.relative, 3, sign=True),
        )
    return tr(
        "{head}: {query} attends to {key} with weight **{weight}**; behind it are {count} products, whose sum is the "
        "score **{score}**.",
        **values,
        weight=weight,
    )


def written_cell(key: str, cell: Cell) -> str:
    """Write a cell for the address: `map_0.cross.5.3.2.1`, counted from 1."""
    numbers = cell.head.layer, cell.head.head, cell.query, cell.key
    return ".".join([key, cell.head.kind, *(str(number + 1) for number in numbers)])


def parsed_cell(text: str) -> tuple[str, Cell] | None:
    """Parse a drawing's key and a cell as `written_cell` writes them; None if the text is something else."""
    parts = re.fullmatch(rf"([\w-]{{1,60}})\.({'|'.join(KINDS)})" + r"\.([1-9]\d{0,3})" * 4, text)
    if parts is None:
        return None
    kind: Kind = next(each for each in KINDS if each == parts[2])
    layer, head, query, key = (int(number) - 1 for number in parts.groups()[2:])
    return parts[1], Cell(Head(kind, layer, head), query, key)
