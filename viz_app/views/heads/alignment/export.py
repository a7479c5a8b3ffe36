"""An alignment as ribbons between two columns of words: SVG, PDF or PNG."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from core.analysis.alignment.pharaoh import GoldLinks
from core.analysis.alignment.sentence_alignment import WordAlignment
from viz_app.drawing.export.canvas import (
    CHARACTER,
    LABEL_POINTS,
    PITCH,
    Format,
    check_format,
    letters,
    paper,
    saved,
    short,
)
from viz_app.drawing.theme import LIGHT, Theme
from viz_app.language import tr

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MIN_WEIGHT = 0.01  # thinner ribbons are invisible
FULL = 0.8  # of a row, the thickness of a ribbon of weight 1
GAP = 3.4  # inches between the columns
LINK, OTHER = 0.75, 0.25  # opacity of the ribbon that is a word's link, and of the others


def export_ribbon(
    alignment: WordAlignment,
    gold: GoldLinks,
    file_format: Format,
    theme: Theme = LIGHT,
    *,
    shares: Sequence[float] = (),
    title: str = "",
) -> bytes:
    """Draw the alignment as on the page.

    The thickness of a ribbon at its target word is its weight.

    Args:
        gold: Human links: solid if the alignment has them, otherwise dashed.
        shares: Share of each target word from the source, as a bar below it; empty if unknown.
        title: Above the picture.

    Raises:
        ValueError: The format is not one of `FORMATS`.
    """
    check_format(file_format)
    left, right = (
        max((letters(short(name)) for name in names), default=1) * CHARACTER + 0.15
        for names in (alignment.source, alignment.target)
    )
    rows = max(len(alignment.source), len(alignment.target), 1)
    figure, axes = paper(left + right + GAP, 1.5 * PITCH * rows + 0.6, theme)
    axes.set_axis_off()
    axes.set_xlim(-left / GAP, 1 + right / GAP)
    axes.set_ylim(rows - 0.4, -1.2)
    _ribbons(axes, alignment, theme)
    for source, target in sorted(gold.possible):
        style = "solid" if (source, target) in alignment.links else (0, (4, 3))
        axes.plot(
            [0, 1],
            [source, target],
            color=theme.text,
            linewidth=1.4 if (source, target) in gold.sure else 0.9,
            linestyle=style,
        )
    text: dict[str, Any] = {"va": "center", "fontsize": LABEL_POINTS, "parse_math": False}
    for x, side, names in ((-0.03, "right", alignment.source), (1.03, "left", alignment.target)):
        for row, name in enumerate(names):
            axes.text(x, row, short(name), ha=side, color=theme.text, **text)
    for row, share in enumerate(shares):
        axes.plot(
            [1.03, 1.03 + 0.2 * min(1.0, share)],
            [row + 0.38] * 2,
            color=theme.head_colors[0],
            linewidth=2.2,
            solid_capstyle="butt",
        )
    for x, side, name in ((-0.03, "right", tr("source")), (0.5, "center", title), (1.03, "left", tr("translation"))):
        axes.text(x, -0.9, name, ha=side, color=theme.faint, **text)
    return saved(figure, file_format)


def _ribbons(axes: "Axes", alignment: WordAlignment, theme: Theme) -> None:
    """Draw the ribbons. Those of a word with more than 1 in total are scaled to fit."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    weights = alignment.weights.tolist()
    drawn = [[weight if weight >= MIN_WEIGHT else 0.0 for weight in row] for row in weights]
    sums = {"source": list(alignment.coverage), "target": [sum(row) for row in drawn]}
    squeeze = {side: [FULL / max(1.0, total) for total in totals] for side, totals in sums.items()}
    tops = {
        side: [row - total * squeeze[side][row] / 2 for row, total in enumerate(totals)]
        for side, totals in sums.items()
    }
    codes = [Path.MOVETO, *[Path.CURVE4] * 3, Path.LINETO, *[Path.CURVE4] * 3, Path.CLOSEPOLY]
    for target, row in enumerate(drawn):
        for source, weight in enumerate(row):
            if not weight:
                continue
            start, end = tops["source"][source], tops["target"][target]
            thick, thin = weight * squeeze["source"][source], weight * squeeze["target"][target]
            tops["source"][source] += thick
            tops["target"][target] += thin
            upper = [(0, start), (0.4, start), (0.6, end), (1, end)]
            lower = [(1, end + thin), (0.6, end + thin), (0.4, start + thick), (0, start + thick), (0, start)]
            opacity = LINK if (source, target) in alignment.links else OTHER
            axes.add_patch(
                PathPatch(Path([*upper, *lower], codes), facecolor=theme.head_colors[0], alpha=opacity, linewidth=0)
            )
