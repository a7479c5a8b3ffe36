"""An alignment as ribbons between two columns of words, with gold links."""

from collections.abc import Callable, Sequence
from typing import Any

from core.analysis.alignment.pharaoh import GoldLinks, Link
from core.analysis.alignment.sentence_alignment import WordAlignment
from core.drawing.drawing_data import label_spans
from viz_app.components.component import component_beside, draw

DECIMALS = 3
MIN_WEIGHT = 0.01  # thinner ribbons are invisible

_component = component_beside(__file__)


def ribbon_payload(
    alignment: WordAlignment, gold: GoldLinks, shares: Sequence[float] = (), height: int = 640
) -> dict[str, Any]:
    """Return the data of an alignment, see `Data` in alignment_ribbons.js.

    The thickness of a ribbon at its target word is its weight. The ribbons of a source word with more than 1 in total
    are scaled to fit.

    Args:
        gold: Human links between the words.
        shares: Share of each target word that comes from the source, from 0 to 1; empty if unknown.
        height: In pixels; more words scroll.

    Raises:
        ValueError: The number of shares is not that of target words.
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
        "height": height,
    }


def ribbon(
    alignment: WordAlignment,
    gold: GoldLinks,
    on_link: Callable[[Link], None],
    *,
    shares: Sequence[float] = (),
    key: str = "ribbon",
) -> None:
    """Draw the alignment on the page.

    Args:
        on_link: Called with a source and a target word clicked one after the other, before the page runs again.
        shares: See `ribbon_payload`.
        key: Key of the component, as for any widget.
    """
    draw(
        _component,
        ribbon_payload(alignment, gold, shares),
        key,
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
