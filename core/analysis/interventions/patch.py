"""The analysis `patch`: activation patching between two sentences, and proposals for the second one.

Layers, heads and positions are counted from 0 in the tables.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from core.analysis.declaration import FIRST, Analysis, Columns, PicturedResult, option
from core.analysis.interventions.minimal_pairs import MinimalPair, minimal_pairs
from core.analysis.interventions.pair_runs import Metric
from core.analysis.interventions.patch_results import PatchedComponents, PatchedHeads, PatchedPaths
from core.analysis.interventions.patching import Into, all_patched, head_effects, mean_map, patching_map
from core.analysis.interventions.path_patching import INPUTS, Receiver, path_effects, possible_senders
from core.analysis.interventions.recorded_runs import record_runs
from core.analysis.subject import PIECE, PREDICTED_TOKEN
from core.files.tabular import as_columns
from core.text.phrases import Number, Phrase, marked
from core.trace import Head, Kind, parse_head
from core.translator import Translator

# --- results --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Proposals(PicturedResult):
    """Sentences of equal length in tokens, to patch with."""

    pairs: Sequence[MinimalPair]

    def table(self) -> Columns:
        """A row for each proposal."""
        rows = ((pair.contrast, pair.text, pair.reason) for pair in self.pairs)
        return as_columns(("contrast", "text", "reason"), rows)

    def answer(self, at: Head = FIRST) -> str:
        """How many there are."""
        return Phrase(marked("{count} sentences to patch with."), count=Number(len(self.pairs), ","))


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
    token: int | None = option(None, **PREDICTED_TOKEN)
    against: int | None = option(
        None,
        "the token to compare with, such as \u2581Junge (default: the best other one of the corrupted run)",
        **PIECE,
    )
    metric: Metric = option("difference", "difference of two logits, or log-probability of the token")
    into: Into = option("corrupted", "run to patch")
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
        found = {position: head_effects(runs, kind, layer, position, into) for position in positions}
        return PatchedHeads(pairs, into, kind, layer, found)
    if options.paths_to is not None:
        senders = possible_senders(translator.model, options.paths_to)
        effects = path_effects(runs, senders, [options.paths_to], into, hold_networks=options.hold_networks)
        return PatchedPaths(pairs, into, options.paths_to, senders, effects)
    return PatchedComponents(pairs, into, mean_map([patching_map(each, into) for each in pairs]))


PATCH = Analysis(
    "patch", "put states of one sentence into the run of another, and see what is recovered", patch, PatchOptions
)
