"""The analysis `paths`: which head feeds which, by path patching of every edge."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from core.analysis.composition.edge_effects import EdgeFlow
from core.analysis.composition.edges import Edge
from core.analysis.composition.replacement import ReplacedBy, Replacement, record_replacement
from core.analysis.composition.survey import Survey, survey
from core.analysis.declaration import Analysis, Columns, PicturedResult, option
from core.analysis.interventions.pair_runs import Metric
from core.analysis.pictures import Cell, Grid, effect_cells, effect_ends, effect_limit, effects_row
from core.analysis.subject import PIECE, PREDICTED_TOKEN
from core.analysis.tokens.words import readable_all
from core.files.number_range import FROM_1
from core.text.phrases import Number, Phrase, marked
from core.trace import Head
from core.translator import Translator

DRAWN = 20  # edges of the picture
METRIC_NAMES: dict[Metric, str] = {
    "difference": marked("the difference of both logits"),
    "log_prob": marked("the log-probability"),
}


@dataclass(frozen=True)
class PathsOptions:
    """Options of `paths`; the token is that at a position counted from 0."""

    token: int = option(**PREDICTED_TOKEN)
    against: int | None = option(None, "the token to compare with (default: the most probable other one)", **PIECE)
    metric: Metric = option("difference", "difference of two logits, or log-probability of the token")
    replaced_by: ReplacedBy | None = option(
        None,
        "what replaces the output of a sender: its mean over positions, zero, or its output for the sentence of "
        "--corrupted (default: that if there is one, else mean)",
    )
    corrupted: str | None = option(None, "second sentence of equal length in tokens", metavar="TEXT")
    strongest: int = option(200, "edges to measure exactly", type=FROM_1)
    all: bool = option(False, "also print the other edges, which are only estimated")


@dataclass(frozen=True)
class HeadPaths(PicturedResult):
    """The edges of a run."""

    run: Replacement  # the sentence, and the replacements of the outputs of senders
    edges: Survey  # with their estimates, and the effects of the strongest
    checked: tuple[Edge, float] | None = None  # see `Survey.checked_edge`
    all: bool = False  # whether the table has those without a measured effect, too

    def table(self) -> Columns:
        """A row for each edge, the strongest first; layers and heads are counted from 0."""
        return self.edges.columns() if self.all else self.edges.table()

    def pictures(self, at: Head | None = None) -> tuple[Grid, ...]:
        """The strongest edges; one that is only estimated has no effect."""
        edges = self.edges.ranked()[:DRAWN]
        limit = effect_limit([self.edges.effect(each) for each in edges])
        rows = [
            (each.edge.title, [*effect_cells([each.estimate], limit), *effect_cells(self._effect(each.edge), limit)])
            for each in edges
        ]
        grid = Grid(
            title=Phrase(marked("Strongest direct paths")),
            legend=Phrase(marked("effect in nats")),
            ends=effect_ends(limit),
            scale="diverging",
            columns=[Phrase(marked("Estimate")), Phrase(marked("Effect"))],
            rows=rows,
            width=9,
        )
        return (grid,)

    def _effect(self, edge: Edge) -> list[float]:
        return [self.edges.effects[edge]] if edge in self.edges.effects else []

    def answer(self, at: Head | None = None) -> str:
        """What the metric is without the strongest edge, one drawn by lot, and the strongest between two heads."""
        edges, ranked = self.edges, self.edges.ranked()
        effects = {"before": 0.0, "after": edges.effect(ranked[0]), "lot": median(map(edges.effect, edges.edges))}
        words = marked(
            "Without {edge}, {metric} is {after} nats instead of {before}; without a path drawn by lot, {lot}, the "
            "median of all {count}."
        )
        values = {name: Number(self.run.metric - effect, "+.2f") for name, effect in effects.items()}
        values |= {"count": Number(len(ranked), ","), "metric": Phrase(METRIC_NAMES[self.run.runs.metric])}
        first = Phrase(words, edge=ranked[0].edge.title, **values)
        between = next((each for each in ranked if each.edge.sender.as_head and each.edge.receiver.as_head), None)
        if between is None:
            return first
        second = Phrase(
            marked("The strongest path between two heads is {edge}: {after} without it."),
            edge=between.edge.title,
            after=Number(self.run.metric - edges.effect(between), "+.2f"),
        )
        return Phrase("{first} {second}", first=first, second=second)

    def summary(self) -> str:
        """How far estimates and weights agree with the measured effects."""
        runs, edges = self.run.runs, self.edges
        first, second = map(runs.translator.codec.piece, (runs.token, runs.against))
        name = f"{first} minus {second}" if runs.metric == "difference" else f"log-probability of {first}"
        lines = [f"{name}: {self.run.metric:.6f}; {len(edges.edges)} edges, {len(edges.effects)} measured exactly"]
        lines.append(f"rank correlation of estimates and effects: {edges.estimate_agreement():.3f}")
        for which, (count, value) in edges.composition_agreement().items():
            lines.append(f"rank correlation of {which} composition by weights and change, {count} edges: {value:.3f}")
        if self.checked:
            edge, gap = self.checked
            lines.append(f"{edge} repeated with hooks: gap {gap:.1g}")
        return "\n".join(lines)


def values_grid(flow: EdgeFlow, tokens: Sequence[str]) -> Grid:
    """A grid with one row: the relative change of the value of each of the receiver's keys."""
    limit, values = max(1.0, float(flow.values.max())), flow.values.tolist()
    cells = [Cell(text=Number(each, ".2f"), says=Number(each, ".3f"), shade=each / limit) for each in values]
    return Grid(
        title=Phrase(marked("Change of the values")),
        legend=Phrase(marked("change of the value, relative to it")),
        ends=("0", Number(limit, ".1f")),
        columns=readable_all(tokens),
        rows=[("", cells)],
        width=6,
    )


def positions_grid(effects: Sequence[float], tokens: Sequence[str]) -> Grid:
    """A grid with one row: the effect of the sender's output through an edge at each position."""
    return effects_row(Phrase(marked("Effects by position of the sender")), readable_all(tokens), effects)


def paths(translator: Translator, source: str, target: str | Sequence[int], options: PathsOptions) -> HeadPaths:
    """Patch the direct path from every head to every later one.

    Raises:
        ValueError: as `record_replacement`.
        DisagreementError: as `Survey.checked_edge`.
    """
    by = options.replaced_by or ("mean" if options.corrupted is None else "sentence")
    changed = by, options.corrupted, None, options.against, options.metric
    run = record_replacement(translator, source, target, options.token, *changed)
    edges = survey(run, options.strongest)
    return HeadPaths(run, edges, edges.checked_edge(run), options.all)


PATHS = Analysis(
    "paths", "patch the direct path from every head to every later one, and see which feeds which", paths, PathsOptions
)
