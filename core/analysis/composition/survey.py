"""All edges of a run estimated, the strongest measured, and compared with weights."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from operator import attrgetter

from core.analysis.agreement import depth_of, require_agreement
from core.analysis.composition.composition_scores import composition_scores
from core.analysis.composition.edge_effects import (
    MeasuredEdge,
    estimated_edges,
    exact_effects,
    repeated_with_hooks,
    sender_groups,
    strongest,
)
from core.analysis.composition.edges import INPUTS, Edge, Input, Node
from core.analysis.composition.replacement import Replacement
from core.analysis.correlation import spearman
from core.analysis.declaration import Columns
from core.files.tabular import as_columns

AT_ONCE = 20  # edges measured in one step


@dataclass
class Survey:
    """Edges of a run, as far as they are known."""

    edges: list[MeasuredEdge] = field(default_factory=list[MeasuredEdge])  # all edges with their estimates
    effects: dict[Edge, float] = field(default_factory=dict[Edge, float])  # by path patching, of the strongest ones
    # composition scores by weights, of edges between heads
    scores: dict[Edge, float | None] = field(default_factory=dict["Edge", "float | None"])

    def ranked(self) -> list[MeasuredEdge]:
        """Measured edges by the size of their effect, then the others by the estimate."""
        return sorted(
            self.edges, key=lambda each: (each.edge not in self.effects, -abs(self.effect(each)), str(each.edge))
        )

    def effect(self, edge: MeasuredEdge) -> float:
        """Measured effect of an edge, or its estimate."""
        return self.effects.get(edge.edge, edge.estimate)

    def estimate_agreement(self) -> float:
        """Rank correlation between estimates and effects of the measured edges."""
        measured = [each for each in self.edges if each.edge in self.effects]
        return spearman([each.estimate for each in measured], [self.effects[each.edge] for each in measured])

    def composition_agreement(self) -> dict[Input, tuple[int, float]]:
        """Number of edges between heads, and rank correlation of their composition scores with measured changes."""
        agreement: dict[Input, tuple[int, float]] = {}
        for which in INPUTS[:3]:
            pairs = [
                (score, each.change)
                for each in self.edges
                if each.edge.input == which and (score := self.scores.get(each.edge)) is not None
            ]
            if pairs:
                agreement[which] = len(pairs), spearman(*zip(*pairs, strict=True))
        return agreement

    def checked_edge(self, run: Replacement) -> tuple[Edge, float] | None:
        """The strongest edge between two heads, if any, and its gap in nats when it is repeated with hooks.

        Raises:
            DisagreementError: the repetition has another effect.
        """
        edges = (each.edge for each in self.ranked())
        edge = next((each for each in edges if each.sender.as_head and each.receiver.as_head), None)
        if edge is None:
            return None
        effect = self.effects[edge] if edge in self.effects else float(exact_effects(run, [(edge, None)]))
        repeated, size = repeated_with_hooks(run, edge), max(1.0, float(run.runs.logits.abs().max()))
        what, depth = f"the effect of {edge}, repeated with hooks", depth_of(run.runs.config)
        return edge, require_agreement(what, effect, repeated, depth, size)

    def table(self) -> Columns:
        """A row for each measured edge, the strongest first, see `columns`."""
        return self.columns(len(self.effects))

    def columns(self, count: int | None = None) -> dict[str, list[object]]:
        """A row for each edge, or for the first ones; layers and heads are counted from 0."""
        rows = (
            (*edge.sender, *edge.receiver, edge.input, change, estimate, self.effects.get(edge), self.scores.get(edge))
            for edge, change, estimate in map(attrgetter("edge", "change", "estimate"), self.ranked()[:count])
        )
        ends = (f"{end}_{name}" for end in ("sender", "receiver") for name in Node._fields)
        return as_columns((*ends, "input", "change", "estimate", "effect", "composition"), rows)


def survey_steps(run: Replacement, count: int, result: Survey) -> Iterator[int]:
    """Estimate all edges and measure `count` of them, the strongest, yielding 1 after each of `num_steps` steps."""
    for part in estimated_edges(run):
        result.edges += part
        yield 1
    edges = [each.edge for each in result.edges]
    result.scores |= zip(edges, composition_scores(run.runs, edges), strict=True)
    yield 1
    best = [each.edge for each in strongest(result.edges, count)]
    for start in range(0, len(best), AT_ONCE):
        block = best[start : start + AT_ONCE]
        result.effects |= zip(block, exact_effects(run, [(edge, None) for edge in block]).tolist(), strict=True)
        yield 1


def num_steps(run: Replacement, count: int) -> int:
    """Number of steps of `survey_steps`, if there are as many edges as `count`."""
    return len(sender_groups(run.runs, "encoder")) + len(sender_groups(run.runs, "decoder")) + 1 + -(-count // AT_ONCE)


def survey(run: Replacement, count: int = 200) -> Survey:
    """Estimate all edges and measure `count` of them, the strongest."""
    result = Survey()
    for _ in survey_steps(run, count, result):
        pass
    return result
