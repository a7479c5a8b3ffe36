"""The analysis `patch`: activation patching between two sentences, and proposals for the second one.

Layers, heads and positions are counted from 0 in the tables.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from core.analysis.declaration import Analysis, Columns, option
from core.analysis.interventions.minimal_pairs import MinimalPair, minimal_pairs
from core.analysis.interventions.pair_runs import Component, Metric, PairRuns, side_of
from core.analysis.interventions.patching import (
    Effects,
    Into,
    all_patched,
    head_effects,
    mean_map,
    patching_map,
)
from core.analysis.interventions.path_patching import INPUTS, Receiver, path_effects, possible_senders
from core.analysis.interventions.recorded_runs import record_runs
from core.analysis.subject import piece_id, predicted_position
from core.files.number_range import COUNTED_FROM_1
from core.trace import Head, Kind, parse_head
from core.translator import Translator

# --- results --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Proposals:
    """Sentences of equal length in tokens, to patch with."""

    pairs: Sequence[MinimalPair]

    def table(self) -> Columns:
        """A row for each proposal."""
        return {
            "contrast": [pair.contrast for pair in self.pairs],
            "text": [pair.text for pair in self.pairs],
            "reason": [pair.reason for pair in self.pairs],
        }


@dataclass(frozen=True)
class PatchedPairs:
    """Runs of a sentence with each corrupted one; the results of patching them are subclasses."""

    pairs: Sequence[PairRuns]

    def summary(self) -> str:
        """Both metrics of each pair, and whether the clean one comes back if everything is patched."""
        return "\n".join(map(_both_metrics, self.pairs))


def _both_metrics(runs: PairRuns) -> str:
    first, second = map(runs.translator.codec.piece, (runs.token, runs.against))
    what = f"{first} minus {second}" if runs.metric == "difference" else f"log-probability of {first}"
    gap = abs(all_patched(runs) - runs.clean)
    return f"{what}: clean {runs.clean:.6f}, corrupted {runs.corrupted:.6f}; all patched: clean (gap {gap:.1g})"


@dataclass(frozen=True)
class PatchedComponents(PatchedPairs):
    """Effects of patching each component at each position, the mean over all pairs."""

    effects: Mapping[Component, Effects]

    def table(self) -> Columns:
        """A row for each component, layer and position: the tokens there, the metric, and the recovered share.

        The corrupted tokens of several pairs are joined by `/`.
        """
        rows: list[tuple[object, ...]] = []
        for component, effects in self.effects.items():
            clean, corrupted = position_tokens(self.pairs, component)
            for layer, (values, shares) in enumerate(
                zip(effects.values.tolist(), effects.recovered.tolist(), strict=True)
            ):
                for position, (value, share) in enumerate(zip(values, shares, strict=True)):
                    rows.append((component, layer, position, clean[position], corrupted[position], value, share))
        names = ("component", "layer", "position", "clean_token", "corrupted_token", "metric", "recovered")
        return _columns(names, rows)


@dataclass(frozen=True)
class PatchedHeads(PatchedPairs):
    """Effects of patching each head of an attention layer, at each position."""

    kind: Kind
    effects: Sequence[Effects]

    def table(self) -> Columns:
        """A row for each position and each head."""
        rows: list[tuple[object, ...]] = []
        clean, corrupted = position_tokens(self.pairs, self.kind)
        for position, effects in enumerate(self.effects):
            for head, (value, share) in enumerate(
                zip(effects.values.tolist(), effects.recovered.tolist(), strict=True)
            ):
                rows.append((position, clean[position], corrupted[position], head, value, share))
        return _columns(("position", "clean_token", "corrupted_token", "head", "metric", "recovered"), rows)


@dataclass(frozen=True)
class PatchedPaths(PatchedPairs):
    """Effects of patching the path from each head to a receiver, at all positions at once."""

    senders: Sequence[Head]
    effects: Effects

    def table(self) -> Columns:
        """A row for each sender."""
        metrics, shares = self.effects.values[:, 0].tolist(), self.effects.recovered[:, 0].tolist()
        rows = [(*sender, value, share) for sender, value, share in zip(self.senders, metrics, shares, strict=True)]
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


# --- the analysis ---------------------------------------------------------------------------------------------------


def parsed_layer(name: str) -> tuple[Kind, int]:
    """Parse an attention layer such as `cross L5`.

    Raises:
        ValueError: the name is not that of a layer.
    """
    try:
        kind, layer, _ = parse_head(f"{name} H1")
    except ValueError:
        raise ValueError(
            f"--heads ({name}) must be a layer such as 'cross L5' or 'encoder L1', counted from 1"
        ) from None
    return kind, layer


def parsed_receiver(name: str) -> Receiver:
    """Parse a receiver such as `cross L5 H3 value`.

    Raises:
        ValueError: the name is not that of a receiver.
    """
    head, _, which = name.rpartition(" ")
    for each in INPUTS:
        if each == which:
            with suppress(ValueError):
                return Receiver(parse_head(head), each)
    raise ValueError(
        f"--paths-to ({name}) must be the queries, keys or values of a head, counted from 1, such as "
        f"'cross L5 H3 value'"
    )


@dataclass(frozen=True)
class PatchOptions:
    """Options of `patch`; the token is that at a position counted from 0."""

    propose: bool = option(False, "print sentences of equal length in tokens, and stop")
    corrupted: tuple[str, ...] | None = option(
        None, "the second sentence; with several, the mean over all pairs is printed", metavar="TEXT"
    )
    token: int | None = option(
        None,
        "number of the predicted token, counted from 1",
        metavar="N",
        type=COUNTED_FROM_1,
        read=predicted_position,
    )
    against: int | None = option(
        None,
        "the token to compare with, such as \u2581Junge (default: the best other one of the corrupted run)",
        metavar="PIECE",
        type=str,
        read=piece_id,
    )
    metric: Metric = option(
        "difference", "difference of two logits, or log-probability of the token (default: %(default)s)"
    )
    into: Into = option("corrupted", "run to patch (default: %(default)s)")
    heads: tuple[Kind, int] | None = option(
        None,
        "patch each head of a layer, such as 'cross L5', at each position instead",
        metavar="LAYER",
        group="detail",
        type=str,
        parse=parsed_layer,
    )
    paths_to: Receiver | None = option(
        None,
        "patch the paths from each head to the queries, keys or values of one instead, such as 'cross L5 H3 value'",
        metavar="RECEIVER",
        group="detail",
        type=str,
        parse=parsed_receiver,
    )
    hold_networks: bool = option(False, "for --paths-to: feed-forward networks do not change on the way")


def patch(
    translator: Translator, source: str, target: str | Sequence[int], options: PatchOptions
) -> Proposals | PatchedComponents | PatchedHeads | PatchedPaths:
    """Put states of one sentence into the run of another, or propose sentences for that.

    Raises:
        ValueError: a sentence or an option is invalid, or the sentences cannot be patched.
    """
    if options.propose:
        return Proposals(minimal_pairs(translator, source))
    if options.corrupted is None or options.token is None:
        raise ValueError("--corrupted and --token are needed: give a second sentence and a token, or see --propose")
    if len(options.corrupted) > 1 and (options.heads or options.paths_to):
        raise ValueError(f"{len(options.corrupted)} sentences are given: --heads and --paths-to patch one pair")
    place = options.token, None, options.against, options.metric
    pairs = [record_runs(translator, source, text, target, *place) for text in options.corrupted]
    for each in pairs:
        all_patched(each)
    runs, into = pairs[0], options.into
    if options.heads is not None:
        kind, layer = options.heads
        positions = range(runs.num_positions(kind))
        return PatchedHeads(pairs, kind, [head_effects(runs, kind, layer, each, into) for each in positions])
    if options.paths_to is not None:
        senders = possible_senders(translator.model, options.paths_to)
        effects = path_effects(runs, senders, [options.paths_to], into, hold_networks=options.hold_networks)
        return PatchedPaths(pairs, senders, effects)
    return PatchedComponents(pairs, mean_map([patching_map(each, into) for each in pairs]))


PATCH = Analysis(
    "patch", "put states of one sentence into the run of another, and see what is recovered", patch, PatchOptions
)
