"""An alignment as ribbons between two columns of words, with gold links."""

from collections.abc import Callable, Sequence
from typing import Any

from core.analysis.alignment.aligners import Rows
from core.analysis.alignment.pharaoh import GoldLinks, Link
from core.analysis.alignment.sentence_alignment import HeadOrMean, WordAlignment
from core.analysis.heads.head import Head
from core.analysis.tokens.words import axis_groups
from core.drawing.drawing_data import label_spans
from viz_app.components.component import component_beside, draw
from viz_app.controls.score_products import MapCells
from viz_app.language import marked, tr
from viz_app.session.map_pass import reading_pass
from viz_app.session.readings import Reading

DECIMALS = 3
MIN_WEIGHT = 0.01  # thinner ribbons are invisible
HEIGHT = 640  # in pixels; more words than fit scroll

_component = component_beside(__file__)


def ribbon_payload(alignment: WordAlignment, gold: GoldLinks, shares: Sequence[float] = ()) -> dict[str, Any]:
    """Return the data of an alignment, see `Data` in alignment_ribbons.js.

    The thickness of a ribbon at its target word is its weight. The ribbons of a source word whose weights sum to more
    than 1 are scaled to fit. `shares` are those of each target word from the source, from 0 to 1, if known.

    Raises:
        ValueError: the number of shares is not that of target words.
    """
    if shares and len(shares) != len(alignment.target):
        raise ValueError(f"{len(shares)} shares for {len(alignment.target)} target words: expected as many")
    return {
        "source": [
            {"spans": label_spans(name), "covered": round(got, DECIMALS)}
            for name, got in zip(alignment.source, alignment.coverage, strict=True)
        ],
        "target": [
            {"spans": label_spans(name), "share": round(shares[index], DECIMALS) if shares else None}
            for index, name in enumerate(alignment.target)
        ],
        "ribbons": [
            [source, target, round(weight, DECIMALS), (source, target) in alignment.links]
            for target, row in enumerate(alignment.weights.tolist())
            for source, weight in enumerate(row)
            if weight >= MIN_WEIGHT
        ],
        "gold": [[*link, link in gold.sure, link in alignment.links] for link in sorted(gold.possible)],
        "height": HEIGHT,
    }


def ribbon(
    alignment: WordAlignment, gold: GoldLinks, on_link: Callable[[Link], None], *, shares: Sequence[float] = ()
) -> None:
    """Draw the alignment; `on_link` is called with a source and a target word clicked one after the other."""
    draw(
        _component,
        ribbon_payload(alignment, gold, shares),
        "ribbon",
        "link",
        lambda value: clicked_link(value, alignment),
        on_link,
    )


def clicked_link(value: object, alignment: WordAlignment) -> Link | None:
    """Return the link that the browser sent, or None if there are no such words."""
    match value:
        case {"source": int(source), "target": int(target)} if 0 <= source < len(
            alignment.source
        ) and 0 <= target < len(alignment.target):
            return source, target
        case _:
            return None


LINK_HINT = marked("Click a source and a target word to see the products of query and key behind their weight, too.")


def ribbon_cells(reading: Reading, place: HeadOrMean, rows: Rows) -> MapCells:
    """Return the weights between a target and a source word of one head.

    A target word is a row, a source word a column, as in `WordAlignment`.
    """
    layer, head = place
    assert layer is not None
    assert head is not None
    own = reading.explain().maps["cross"][layer]
    targets, sources = (axis_groups(names, True, True) for names in (own.row_tokens, own.key_tokens))
    shift = int(rows == "fed")

    def locate(row: int, column: int) -> tuple[Head, range, range]:
        queries = range(targets[row].start + shift, targets[row].stop + shift)
        return Head("cross", layer, head), queries, sources[column]

    return MapCells("ribbon", reading_pass(reading), locate, tr(LINK_HINT))
