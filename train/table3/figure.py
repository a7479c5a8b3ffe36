"""Figure of Table 3: measured results beside the paper's."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from core.analysis.model_variations import TABLE_3

# Field of a row, axis label, unit. The paper gives parameters in millions.
PANELS = (
    ("perplexity", "perplexity per piece", 1.0),
    ("bleu", "BLEU", 1.0),
    ("parameters", "parameters, millions", 1e6),
    ("hours", "hours of training", 1.0),
)
HERE, PAPER = "#0072b2", "#d55e00"  # Okabe & Ito (2008)


def draw_rows(rows: Sequence[dict[str, Any]], output: Path) -> None:
    """Draw one panel per number, one line per row: a circle for each measured seed, open diamonds for the paper's
    values.
    """
    from matplotlib.figure import Figure  # a slow import

    names = list(dict.fromkeys(row["row"] for row in rows))
    figure = Figure(figsize=(12, 1.6 + 0.3 * len(names)), layout="constrained")
    panels = figure.subplots(1, len(PANELS), sharey=True)
    places = [names.index(row["row"]) for row in rows]
    for axes, (name, title, unit) in zip(panels, PANELS, strict=True):
        axes.plot([row[name] / unit for row in rows], places, "o", color=HERE, alpha=0.7, label="measured here")
        if name != "hours":  # not given in the paper
            known = [(getattr(TABLE_3[row], name), place) for place, row in enumerate(names)]
            paper = [(value, place) for value, place in known if value is not None]
            axes.plot(
                [value for value, _ in paper],
                [place for _, place in paper],
                "D",
                color=PAPER,
                fillstyle="none",
                label="the paper",
            )
        axes.set_xlabel(title)
        axes.grid(alpha=0.3)
    panels[0].set_yticks(range(len(names)), names)
    panels[0].set_ylim(len(names) - 0.5, -0.5)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper left", ncols=2, frameon=False)  # outside the panels
    figure.savefig(output)
