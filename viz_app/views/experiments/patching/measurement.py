"""The measurements of the page Patching, which grow step by step."""

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from statistics import fmean
from typing import Any

import torch

from core.analysis.heads.head import Head
from core.analysis.interventions.pair_runs import PairRuns
from core.analysis.interventions.patch_results import PatchedComponents, PatchedHeads, PatchedPaths, PatchedPositions
from core.analysis.interventions.patching import (
    Effects,
    PatchedPart,
    all_patched,
    head_effects,
    mean_effects,
    mean_map,
    measured_parts,
    num_parts,
    patching_map,
)
from core.analysis.interventions.path_patching import Receiver, path_effects, possible_senders
from core.analysis.interventions.recorded_runs import record_runs
from core.analysis.recorded_call import Call
from core.capture import Kind
from viz_app.language import marked, tr
from viz_app.session import python_code
from viz_app.session.jobs import SHORT, Job, JobSlot
from viz_app.session.readings import Reading
from viz_app.session.state import session_object
from viz_app.views.experiments.patching.second_sentence import PatchingQuestion


@dataclass
class Patching:
    """The patched runs of one question."""

    question: PatchingQuestion
    runs: list[Call]  # calls that recorded the sentence with each second one, the first from the text box
    refused: list[str]  # why some proposals are not in the mean
    opposite: list[str]  # proposals that are not in it because their difference has the opposite sign
    gap: float  # largest difference between a run with everything patched and the donor's metric
    parts: list[list[PatchedPart]]  # measured so far, for each pair
    job: Job
    known: dict[Hashable, Effects] = field(default_factory=dict)  # other results, by their functions and arguments

    @property
    def pairs(self) -> list[PairRuns]:
        """The runs of each pair."""
        return [call.known for call in self.runs]

    @property
    def left_out(self) -> list[str]:
        """Reasons why other proposals are not in the mean."""
        opposite = (tr("{sentence}: its difference has the opposite sign", sentence=each) for each in self.opposite)
        return [*self.refused, *opposite]

    def components(self) -> Call:
        """Return the call of the effects of all complete pairs or, before there is one, those of the first so far."""
        into, complete = self.question.into, sum(len(parts) == num_parts(self.pairs[0]) for parts in self.parts)
        runs = self.runs[: max(1, complete)]
        known = [patching_map(each.known, into, parts) for each, parts in zip(runs, self.parts, strict=False)]
        mean = Call("mean", mean_map, ([Call("effects", patching_map, (each, into)) for each in runs],))
        return Call("result", PatchedComponents, (runs, into, mean.returning(mean_map(known))))

    def heads(self, kind: Kind, layer: int, position: int) -> Call:
        """Return the call of the effects of the heads of a layer at a position."""
        into = self.question.into
        effects = {position: self._mean(head_effects, kind, layer, position, into)}
        return Call("result", PatchedHeads, (self.runs, into, kind, layer, effects))

    def strongest_head(self, kind: Kind) -> Head:
        """Return the head with the largest effect that has heads before it."""
        runs, into = self.pairs[0], self.question.into
        effects = {
            Head(kind, layer, head): abs(share)
            for layer in range(runs.num_layers(kind))
            if possible_senders(runs.translator.model, Receiver(Head(kind, layer, 0), "value"))
            for head, share in enumerate(self._mean(head_effects, kind, layer, None, into).known.moved(into).tolist())
        }
        return max(effects, key=effects.__getitem__, default=Head(kind, 0, 0))

    def senders(self, receiver: Receiver, hold_networks: bool, measured: "Paths") -> Call:
        """Return the call of the effects of all heads on a receiver, as far as they are measured."""
        into, model = self.question.into, Call("model", ".model", self.runs[0].arguments[:1])
        senders = Call("senders", possible_senders, (model, receiver)).returning(measured.senders)
        mean = self._mean_call(path_effects, senders, (receiver,), into, hold_networks=hold_networks)
        return Call("result", PatchedPaths, (self.runs, into, receiver, senders, mean.returning(measured.found)))

    def positions(self, sender: Head, receiver: Receiver, hold_networks: bool) -> Call:
        """Return the call of the effects of a sender's output on a receiver, by position."""
        into, places = self.question.into, range(self.pairs[0].num_positions(sender.kind))
        mean = self._mean(path_effects, (sender,), (receiver,), into, places, hold_networks=hold_networks)
        return Call("result", PatchedPositions, (self.runs, into, sender, receiver, mean))

    def _mean_call(self, measure: Callable[..., Effects], *arguments: Any, **options: Any) -> Call:
        effects = [Call("effects", measure, (each, *arguments), options) for each in self.runs]
        return Call("mean", mean_effects, (effects,))

    def _mean(self, measure: Callable[..., Effects], *arguments: Any, **options: Any) -> Call:
        """Return the call of the mean over all pairs with its result, which is kept."""
        call, key = self._mean_call(measure, *arguments, **options), (measure, arguments, tuple(options.items()))
        if key not in self.known:
            self.known[key] = call.run()
        return call.returning(self.known[key])


@dataclass
class Paths:
    """The effects of all heads on one receiver: the mean metric [senders, 1], NaN where not measured yet."""

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
            measured.runs.clear()  # callbacks of the page may hold the measurement


def patching(about: Reading, question: PatchingQuestion) -> Patching:
    """Return the session's measurement of a question.

    Raises:
        ValueError: the pair of the text box cannot be patched.
    """
    return session_object(PatchingSlot).of((about.identity, question), lambda: _begun(about, question))


def _begun(about: Reading, question: PatchingQuestion) -> Patching:
    translator, source, target = python_code.sentence(about)
    piece_id = about.model.translator.tokenizer.target.token_id
    against = None if question.against is None else piece_id(question.against)

    def record(corrupted: str) -> Call:
        arguments = translator, source, corrupted, target, question.position
        call = Call("runs", record_runs, arguments, {"against": against, "metric": question.metric})
        return call.returning(call.run())

    recorded, refused, opposite = [record(question.corrupted[0])], list[str](), list[str]()
    first: PairRuns = recorded[0].known
    for corrupted in question.corrupted[1:]:
        try:
            call = record(corrupted)
        except ValueError as error:
            refused.append(str(error))
            continue
        if (call.known.clean > call.known.corrupted) != (first.clean > first.corrupted):
            opposite.append(corrupted)
        else:
            recorded.append(call)
    pairs: list[PairRuns] = [call.known for call in recorded]
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
    return Patching(question, recorded, refused, opposite, gap, parts, job)


def _is_short(pairs: Sequence[PairRuns]) -> bool:
    return pairs[0].source_ids.size(1) + pairs[0].fed.size(1) <= SHORT


def paths_to(patched: Patching, receiver: Receiver, hold_networks: bool) -> Paths:
    """Return the session's measurement of the paths to a receiver."""
    identity = session_object(PatchingSlot).identity, receiver, hold_networks
    return session_object(PathsSlot).of(identity, lambda: _begun_paths(patched, receiver, hold_networks))


def _begun_paths(patched: Patching, receiver: Receiver, hold_networks: bool) -> Paths:
    pairs = patched.pairs
    senders = possible_senders(pairs[0].translator.model, receiver)
    clean, corrupted = map(fmean, zip(*((runs.clean, runs.corrupted) for runs in pairs), strict=True))
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
