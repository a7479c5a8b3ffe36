"""Effects of patches as columns of a table.

Layers, heads and positions are counted from 0.
"""

from collections.abc import Mapping, Sequence

from core.analysis.heads.head import Head
from core.analysis.interventions.pair_runs import Component, PairRuns, side_of
from core.analysis.interventions.patching import Effects, Into, head_effects
from core.capture import Kind

Columns = dict[str, list[object]]


def map_columns(pairs: Sequence[PairRuns], effects: Mapping[Component, Effects]) -> Columns:
    """A row for each component, layer and position.

    The tokens there, the metric, and the recovered share.

    Args:
        pairs: whose mean the effects are; the corrupted tokens of several are joined by `/`.
    """
    rows: list[tuple[object, ...]] = []
    for component, found in effects.items():
        clean, corrupted = position_tokens(pairs, component)
        for layer, (values, shares) in enumerate(zip(found.values.tolist(), found.recovered.tolist(), strict=True)):
            for position, (value, share) in enumerate(zip(values, shares, strict=True)):
                rows.append((component, layer, position, clean[position], corrupted[position], value, share))
    names = ("component", "layer", "position", "clean_token", "corrupted_token", "metric", "recovered")
    return _columns(names, rows)


def heads_columns(runs: PairRuns, kind: Kind, layer: int, into: Into = "corrupted") -> Columns:
    """A row for each position and each head of an attention layer.

    Raises:
        ValueError: there is no such layer.
    """
    rows: list[tuple[object, ...]] = []
    clean, corrupted = position_tokens([runs], kind)
    for position in range(runs.num_positions(kind)):
        found = head_effects(runs, kind, layer, position, into)
        for head, (value, share) in enumerate(zip(found.values.tolist(), found.recovered.tolist(), strict=True)):
            rows.append((position, clean[position], corrupted[position], head, value, share))
    return _columns(("position", "clean_token", "corrupted_token", "head", "metric", "recovered"), rows)


def paths_columns(senders: Sequence[Head], effects: Effects) -> Columns:
    """A row for each sender, whose output is patched at all positions at once."""
    metrics, shares = effects.values[:, 0].tolist(), effects.recovered[:, 0].tolist()
    rows = [(*sender, value, share) for sender, value, share in zip(senders, metrics, shares, strict=True)]
    return _columns(("kind", "layer", "head", "metric", "recovered"), rows)


def position_tokens(pairs: Sequence[PairRuns], component: Component) -> tuple[list[str], list[str]]:
    """Clean and corrupted token at each position of a component."""
    if side_of(component) == "decoder":
        fed = [str(token) for token in pairs[0].fed_tokens]
        return fed, fed
    clean = [str(token) for token in pairs[0].source_tokens[0]]
    others = zip(*(runs.source_tokens[1] for runs in pairs), strict=True)
    return clean, ["/".join(dict.fromkeys(map(str, tokens))) for tokens in others]


def _columns(names: Sequence[str], rows: Sequence[Sequence[object]]) -> Columns:
    return {name: [row[index] for row in rows] for index, name in enumerate(names)}
