"""An alignment as tables, of aligners with scores and words with weights and links, and as ribbons in a file."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd
from torch import Tensor

from core.analysis.alignment.aligners import Aligner, Rows
from core.analysis.alignment.coverage import (
    absentmindedness_in,
    absentmindedness_out,
    attention_confidence,
    coverage_deviation,
    coverage_penalty,
)
from core.analysis.alignment.pharaoh import GoldLinks, Link
from core.analysis.alignment.sentence_alignment import HeadOrMean, WordAlignment
from viz_app.drawing.display_text import decimal
from viz_app.drawing.export.canvas import (
    CHARACTER,
    LABEL_POINTS,
    PITCH,
    SMALL_POINTS,
    Format,
    check_format,
    letters,
    paper,
    saved,
    short,
)
from viz_app.drawing.line_weights import SMALL_WEIGHT, dots_note, line_style
from viz_app.drawing.theme import LIGHT, Theme, head_name
from viz_app.language import marked, tr

if TYPE_CHECKING:
    from matplotlib.axes import Axes


ROW_NAMES: dict[Rows, str] = {"predicted": marked("by predicted word"), "fed": marked("by input word")}
ROWS_IN_TABLE: dict[Rows, str] = {"predicted": marked("predicted"), "fed": marked("fed")}


def aligner_title(place: HeadOrMean) -> str:
    """Return the name of an aligner in the visitor's language, counted from 1: `L5 H3`, `L5 mean`, `mean`."""
    layer, head = place
    if layer is not None and head is not None:
        return head_name(layer, head)
    return tr("mean") if layer is None else f"L{layer + 1} {tr('mean')}"


def aligner_table(aligners: Sequence[Aligner]) -> pd.DataFrame:
    """Return a row for each aligner: name (counted from 1), rows, alignment error rate, precision and recall."""
    rows = [
        (
            aligner_title((each.layer, each.head)),
            tr(ROWS_IN_TABLE[each.rows]),
            each.score.error_rate,
            each.score.precision,
            each.score.recall,
        )
        for each in aligners
    ]
    return pd.DataFrame(rows, columns=["head", "rows", "AER", "precision", "recall"])


def ribbon_table(alignment: WordAlignment, gold: GoldLinks) -> pd.DataFrame:
    """Return a row for each pair of words: its weight, whether it is a link, and its gold label.

    Positions are counted from 0; `gold` is "sure", "possible" or empty.
    """
    rows = [
        (
            target,
            target_word,
            source,
            source_word,
            weight,
            (source, target) in alignment.links,
            _said(gold, (source, target)),
        )
        for target, (target_word, row) in enumerate(zip(alignment.target, alignment.weights.tolist(), strict=True))
        for source, (source_word, weight) in enumerate(zip(alignment.source, row, strict=True))
    ]
    return pd.DataFrame(
        rows, columns=["target_position", "target", "source_position", "source", "weight", "link", "gold"]
    )


def target_table(alignment: WordAlignment, shares: Sequence[float]) -> pd.DataFrame:
    """Return a row for each target word: its link with its weight, and its shares from source and prefix."""
    best = {target: source for source, target in alignment.links}
    rows = [
        (
            name,
            alignment.source[best[index]] if index in best else "",
            alignment.weights[index].max().item() if index in best else 0.0,
            shares[index] if shares else float("nan"),
            1 - shares[index] if shares else float("nan"),
        )
        for index, name in enumerate(alignment.target)
    ]
    return pd.DataFrame(rows, columns=["target", "looks_at", "weight", "from_source", "from_prefix"])


def coverage_table(alignment: WordAlignment) -> pd.DataFrame:
    """Return a row for each source word: the attention from all target words, and the words linked to it."""
    rows = [
        (
            name,
            covered,
            " ".join(alignment.target[target] for source, target in sorted(alignment.links) if source == index),
        )
        for index, (name, covered) in enumerate(zip(alignment.source, alignment.coverage, strict=True))
    ]
    return pd.DataFrame(rows, columns=["source", "coverage", "linked_to"])


def _said(gold: GoldLinks, link: Link) -> str:
    return "sure" if link in gold.sure else "possible" if link in gold.possible else ""


MIN_WEIGHT = 0.01  # thinner ribbons are invisible
FULL = 0.8  # of a row, the thickness of a ribbon of weight 1
GAP = 3.4  # inches between the columns
OPACITY = 0.5  # of a ribbon; its colour says whether it is its word's link


def export_ribbon(
    alignment: WordAlignment,
    gold: GoldLinks,
    file_format: Format,
    theme: Theme = LIGHT,
    *,
    shares: Sequence[float] = (),
    title: str = "",
) -> bytes:
    """Draw the alignment as on the page; the thickness of a ribbon at its target word is its weight.

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
    if any(MIN_WEIGHT <= weight < SMALL_WEIGHT for row in alignment.weights.tolist() for weight in row):
        small: dict[str, Any] = {**text, "fontsize": SMALL_POINTS}
        axes.text(0.5, -0.55, dots_note(), ha="center", color=theme.faint, **small)
    return saved(figure, file_format)


def _ribbons(axes: "Axes", alignment: WordAlignment, theme: Theme) -> None:
    """Draw the ribbons, scaled to fit for a word whose weights sum to more than 1."""
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
            color = theme.head_colors[0] if (source, target) in alignment.links else theme.faint
            if weight < SMALL_WEIGHT:
                left, right = start + thick / 2, end + thin / 2
                middle = Path([(0, left), (0.4, left), (0.6, right), (1, right)], codes[:4])
                dots = line_style(weight).for_matplotlib
                axes.add_patch(PathPatch(middle, fill=False, edgecolor=color, **dots))
                continue
            upper = [(0, start), (0.4, start), (0.6, end), (1, end)]
            lower = [(1, end + thin), (0.6, end + thin), (0.4, start + thick), (0, start + thick), (0, start)]
            axes.add_patch(PathPatch(Path([*upper, *lower], codes), facecolor=color, alpha=OPACITY, linewidth=0))


def coverage_text(weights: Tensor) -> str:
    """Say in numbers how well weights [T, S], whose rows sum to 1, cover the source."""
    scores = (coverage_penalty, coverage_deviation, absentmindedness_out, absentmindedness_in, attention_confidence)
    penalty, deviation, out, back, confidence = (decimal(score(weights), 2) for score in scores)
    return tr(
        "Coverage penalty {penalty}, deviation {deviation}; absentmindedness {out} from the target, {back} from the "
        "source; attention confidence {confidence}",
        penalty=penalty,
        deviation=deviation,
        out=out,
        back=back,
        confidence=confidence,
    )
