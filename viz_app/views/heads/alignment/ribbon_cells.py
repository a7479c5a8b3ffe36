"""The ribbons of the page Alignment as cells of a head's map."""

from core.analysis.alignment.aligners import Rows
from core.analysis.alignment.sentence_alignment import HeadOrMean
from core.analysis.heads.head import Head
from core.analysis.tokens.words import axis_groups
from viz_app.controls.score_products import MapCells
from viz_app.language import marked, tr
from viz_app.session.map_pass import reading_pass
from viz_app.session.readings import Reading

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
