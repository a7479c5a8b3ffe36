"""The measurements of the page Patching, which grow step by step."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING

import torch

from core.analysis.heads.head import Head
from core.analysis.interventions.pair_runs import Component, PairRuns, Patch
from core.analysis.interventions.patching import (
    Effects,
    PatchedPart,
    all_patched,
    head_effects,
    mean_effects,
    mean_map,
    measured_parts,
    num_parts,
    patched_metric,
    patching_map,
)
from core.analysis.interventions.path_patching import Receiver, path_effects, possible_senders
from core.analysis.interventions.recorded_runs import record_runs
from core.capture import Kind
from viz_app.language import marked, tr
from viz_app.session.job_slot import JobSlot
from viz_app.session.jobs import Job
from viz_app.session.readings import Reading
from viz_app.session.state import session_object
from viz_app.views.experiments.patching.second_sentence import PatchingQuestion

if TYPE_CHECKING:
    from collections.abc import Hashable

MEASURED_AT_ONCE = 80  # tokens of source and prefix together up to which measuring starts by itself


@dataclass
class Patching:
    """The patched runs of one question.

    Attributes:
        pairs: of the sentence with each second one, the first from the text box.
        refused: why some proposals are not in the mean.
        opposite: proposals that are not in it because their difference has the opposite sign.
        gap: largest difference between a run with everything patched and the donor's metric.
        parts: measured so far, for each pair.
        known: other results, by their arguments.
    """

    question: PatchingQuestion
    pairs: list[PairRuns]
    refused: list[str]
    opposite: list[str]
    gap: float
    parts: list[list[PatchedPart]]
    job: Job
    known: "dict[Hashable, Effects]" = field(default_factory=dict)

    @property
    def left_out(self) -> list[str]:
        """Reasons why other proposals are not in the mean."""
        opposite = (tr("{sentence}: its difference has the opposite sign", sentence=each) for each in self.opposite)
        return [*self.refused, *opposite]

    @property
    def num_complete(self) -> int:
        """Number of pairs that are measured completely, at least 1."""
        return max(1, sum(len(parts) == num_parts(self.pairs[0]) for parts in self.parts))

    @property
    def shown(self) -> list[PairRuns]:
        """The pairs whose mean `effects` returns."""
        return self.pairs[: self.num_complete]

    def effects(self) -> dict[Component, Effects]:
        """Return the mean effects of all complete pairs or, before there is one, those of the first pair so far."""
        into, count = self.question.into, self.num_complete
        return mean_map([patching_map(self.pairs[number], into, self.parts[number]) for number in range(count)])

    def heads(self, kind: Kind, layer: int, position: int) -> Effects:
        """Return the mean effects of the heads of a layer at a position."""
        into = self.question.into
        return self._mean((kind, layer, position), lambda runs: head_effects(runs, kind, layer, position, into))

    def strongest_head(self, kind: Kind) -> Head:
        """Return the head with the largest effect that has heads before it."""
        model = self.pairs[0].translator.model
        layers = range(0 if kind == "cross" else 1, self.pairs[0].num_layers(kind))
        heads = [Head(kind, layer, head) for layer in layers for head in range(self.pairs[0].num_heads(kind))]
        heads = [head for head in heads if possible_senders(model, Receiver(head, "value"))]
        if not heads:
            return Head(kind, 0, 0)

        def all_heads(runs: PairRuns) -> Effects:
            rows = [[Patch(kind, head.layer, None, head.head)] for head in heads]
            return Effects(runs.clean, runs.corrupted, patched_metric(runs, rows, self.question.into))

        effects = self._mean(kind, all_heads).moved(self.question.into).abs()
        return heads[int(effects.argmax())]

    def path_positions(self, sender: Head, receiver: Receiver, hold_networks: bool) -> Effects:
        """Return the mean effects of a sender's output at each position: [1, positions]."""
        positions = range(self.pairs[0].num_positions(sender.kind))
        return self._mean(
            (sender, receiver, hold_networks),
            lambda runs: path_effects(runs, [sender], [receiver], self.question.into, positions, hold_networks),
        )

    def _mean(self, key: "Hashable", measure: Callable[[PairRuns], Effects]) -> Effects:
        if key not in self.known:
            self.known[key] = mean_effects([measure(runs) for runs in self.pairs])
        return self.known[key]


@dataclass
class Paths:
    """The effects of all heads through the paths to one receiver.

    Attributes:
        found: mean metric [senders, 1], NaN where not measured yet.
    """

    senders: list[Head]
    found: Effects
    job: Job


class PathsSlot(JobSlot[Paths]):
    """The session's measurement of the paths to a receiver."""


class PatchingSlot(JobSlot[Patching]):
    """The session's measurement of a question."""

    def forget_model(self, digest: str) -> None:
        """Drop the measurement, which may be of a model that is closed."""
        measured = self.measured
        super().forget_model(digest)
        if measured is not None:
            measured.pairs.clear()  # callbacks of the page may hold the measurement


def patching(about: Reading, question: PatchingQuestion) -> Patching:
    """Return the session's measurement of a question.

    Raises:
        ValueError: the pair of the text box cannot be patched.
    """
    return session_object(PatchingSlot).of((about.identity, question), lambda: _begun(about, question))


def _begun(about: Reading, question: PatchingQuestion) -> Patching:
    translator = about.model.translator
    against = None if question.against is None else translator.tokenizer.target.token_id(question.against)

    def record(corrupted: str) -> PairRuns:
        return record_runs(
            translator,
            about.translation.source,
            corrupted,
            about.hypothesis.token_ids,
            question.position,
            None,
            against,
            question.metric,
        )

    pairs, refused, opposite = [record(question.corrupted[0])], list[str](), list[str]()
    for corrupted in question.corrupted[1:]:
        try:
            runs = record(corrupted)
        except ValueError as error:
            refused.append(str(error))
            continue
        if (runs.clean > runs.corrupted) != (pairs[0].clean > pairs[0].corrupted):
            opposite.append(corrupted)
        else:
            pairs.append(runs)
    donors = [runs.clean if question.into == "corrupted" else runs.corrupted for runs in pairs]
    gap = max(abs(all_patched(runs, question.into) - donor) for runs, donor in zip(pairs, donors, strict=True))
    parts: list[list[PatchedPart]] = [[] for _ in pairs]

    def steps() -> Iterator[int]:
        for runs, of_runs in zip(pairs, parts, strict=True):
            for part in measured_parts(runs, question.into):
                of_runs.append(part)
                yield 1

    job = Job(steps(), num_parts(pairs[0]) * len(pairs), marked("layers of components"), _is_short(pairs))
    session_object(PathsSlot).close()  # those of the question before hold its runs
    return Patching(question, pairs, refused, opposite, gap, parts, job)


def _is_short(pairs: Sequence[PairRuns]) -> bool:
    return pairs[0].source_ids.size(1) + pairs[0].fed.size(1) <= MEASURED_AT_ONCE


def paths_to(patched: Patching, receiver: Receiver, hold_networks: bool) -> Paths:
    """Return the session's measurement of the paths to a receiver."""
    identity = session_object(PatchingSlot).identity, receiver, hold_networks
    return session_object(PathsSlot).of(identity, lambda: _begun_paths(patched, receiver, hold_networks))


def _begun_paths(patched: Patching, receiver: Receiver, hold_networks: bool) -> Paths:
    pairs = patched.pairs
    senders = possible_senders(pairs[0].translator.model, receiver)
    clean, corrupted = (
        sum(values) / len(pairs) for values in zip(*((r.clean, r.corrupted) for r in pairs), strict=True)
    )
    effects = Effects(clean, corrupted, torch.full((len(senders), 1), torch.nan, dtype=torch.float64))

    def steps() -> Iterator[int]:
        done = 0
        for _, group in groupby(senders, key=lambda head: head[:2]):
            heads = list(group)
            measured = [
                path_effects(runs, heads, [receiver], patched.question.into, hold_networks=hold_networks)
                for runs in pairs
            ]
            effects.values[done : done + len(heads)] = mean_effects(measured).values
            done += len(heads)
            yield len(heads)

    return Paths(senders, effects, Job(steps(), len(senders), marked("heads"), _is_short(pairs)))
