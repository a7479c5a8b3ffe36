"""An alignment as ribbons between two columns of words, and gold links that people draw by clicking two words."""

from collections.abc import Callable, Sequence
from typing import Any

from core.analysis.alignment.pharaoh import GoldLinks, Link
from core.analysis.alignment.sentence_alignment import WordAlignment
from core.drawing.token_spans import label_spans
from viz_app.components.component import component_beside, draw

DECIMALS = 3
MIN_WEIGHT = 0.01  # a thinner ribbon is not seen

_component = component_beside(__file__)


def ribbon_payload(
    alignment: WordAlignment, gold: GoldLinks, shares: Sequence[float] = (), height: int = 640
) -> dict[str, Any]:
    """What the browser needs to draw an alignment.

    A ribbon is as thick at its target word as its weight; at a source word that got more than 1 in all, ribbons are
    squeezed to fit.

    Args:
        gold: people's links between the words.
        shares: how much of each target word comes from the source, from 0 to 1; none where that is not known.
        height: in pixels; more words scroll.

    Returns:
        `source` and `target`: for each word its spans, in the target its share; `ribbons`: source, target, weight and
        whether it is its target word's link; `gold`: source, target, whether it is sure and whether it was found.

    Raises:
        ValueError: there is not one share for each target word.
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
        on_link: told which source and target word were clicked one after the other, before the page runs again.
        shares: as for `ribbon_payload`.
        key: of the component, as for any widget.
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
    """What the browser sent as a link, or None if there are no such words."""
    match value:
        case {"source": int(source), "target": int(target)} if 0 <= source < len(
            alignment.source
        ) and 0 <= target < len(alignment.target):
            return source, target
        case _:
            return None
