"""Activation patching: outputs of one run put into another, after which everything is computed again.

Vig et al. 2020 ("Investigating Gender Bias in Language Models Using Causal Mediation Analysis") and Meng et al. 2022
("Locating and Editing Factual Associations in GPT"), with the choices of Zhang & Nanda 2023 (arXiv:2309.16042): a
second source of equal length in tokens instead of noise, and the difference of two logits as the metric.

The output of a component in one layer at one position is taken from one run, the donor, and put into the other, the
base. The metric m of the patched run is normalised to 0 for the corrupted and 1 for the clean run:

    recovered = (m(patched) - m(corrupted)) / (m(clean) - m(corrupted))

Post-norm and pre-norm layers have the same outputs: the vector that a sub-layer adds to the residual connection, and
the state after the layer. Norms that follow are computed again.
"""

from collections import defaultdict
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from core.analysis.agreement import depth_of, require_agreement
from core.analysis.interventions.continued_runs import SharedMemory, logits_with_patches
from core.analysis.interventions.pair_runs import COMPONENTS, Component, PairRuns, Patch, component_place, side_of
from core.inference.cpu_products import onednn_products
from core.model import Transformer
from core.trace import Edit, Kind, Stack, edit

Into = Literal["corrupted", "clean"]  # the base; the other run is the donor
PATCHED_TOKENS = 1024  # of a batch of patched runs


@dataclass(frozen=True)
class Effects:
    """Metric of patched runs beside the metric of both runs."""

    clean: float  # metric without a patch, as `corrupted`
    corrupted: float
    values: Tensor  # metric with one, of any shape; NaN where not measured yet

    @property
    def recovered(self) -> Tensor:
        """Metric normalised to 0 for the corrupted and 1 for the clean run, float64."""
        return (self.values.double() - self.corrupted) / (self.clean - self.corrupted)

    def moved(self, into: Into) -> Tensor:
        """Share of both runs' difference that a patch makes: 0 is no effect, 1 all the way from base to donor."""
        return self.recovered if into == "corrupted" else 1 - self.recovered


def mean_effects(effects: Sequence[Effects]) -> Effects:
    """Mean of the metrics over several pairs, so that `recovered` is a ratio of means.

    A pair that differs little has little weight; the mean of the ratios would divide by its difference.

    Raises:
        ValueError: there are none, or they have different shapes, or the mean difference is 0.
    """
    shapes = {tuple(each.values.shape) for each in effects}
    if len(shapes) != 1:
        raise ValueError(
            f"the effects have the shapes {sorted(shapes)}, expected one: average pairs of equal length in tokens with "
            f"one prefix"
        )
    clean, corrupted = (
        sum(each.clean for each in effects) / len(effects),
        sum(each.corrupted for each in effects) / len(effects),
    )
    if clean == corrupted:
        raise ValueError("the differences of these pairs cancel out: average pairs that favour the same token")
    return Effects(clean, corrupted, torch.stack([each.values for each in effects]).mean(0))


class PatchedPart(NamedTuple):
    """Metric with a patch of one component of a layer, by position: [S or T]."""

    component: Component
    layer: int
    values: Tensor


def measured_parts(runs: PairRuns, into: Into = "corrupted") -> Iterator[PatchedPart]:
    """Patch every component of every layer at every position, one at a time.

    A layer's parts are measured together. The model's lock is released between batches. Stop iterating to cancel.
    """
    sides: tuple[Stack, ...] = ("encoder", "decoder")
    for side in sides:
        components: list[Component] = [component for component in COMPONENTS if side_of(component) == side]
        positions = range(runs.num_positions(components[0]))
        for layer in range(runs.num_layers(components[0])):
            rows = [[Patch(component, layer, position)] for component in components for position in positions]
            values = patched_metric(runs, rows, into).view(len(components), -1)
            yield from (
                PatchedPart(component, layer, of_one) for component, of_one in zip(components, values, strict=True)
            )


def num_parts(runs: PairRuns) -> int:
    """Number of parts that `measured_parts` yields."""
    return sum(runs.num_layers(component) for component in COMPONENTS)


def patching_map(
    runs: PairRuns, into: Into = "corrupted", parts: Iterable[PatchedPart] | None = None
) -> dict[Component, Effects]:
    """Effects of all single patches, [layers, S or T] for each component; of those in `parts` alone, if any."""
    metrics: dict[Component, Tensor] = {
        component: torch.full(
            (runs.num_layers(component), runs.num_positions(component)), torch.nan, dtype=torch.float64
        )
        for component in COMPONENTS
    }
    for component, layer, values in measured_parts(runs, into) if parts is None else parts:
        metrics[component][layer] = values
    return {component: Effects(runs.clean, runs.corrupted, values) for component, values in metrics.items()}


def mean_map(maps: Sequence[dict[Component, Effects]]) -> dict[Component, Effects]:
    """Mean of the maps of several pairs, see `mean_effects`.

    Raises:
        ValueError: as `mean_effects`.
    """
    return {component: mean_effects([each[component] for each in maps]) for component in COMPONENTS}


def head_effects(runs: PairRuns, kind: Kind, layer: int, position: int | None, into: Into = "corrupted") -> Effects:
    """Effects of each head of an attention layer at one position, or at all at once: [H]."""
    rows = [[Patch(kind, layer, position, head)] for head in range(runs.num_heads(kind))]
    return Effects(runs.clean, runs.corrupted, patched_metric(runs, rows, into))


def all_patched(runs: PairRuns, into: Into = "corrupted") -> float:
    """Metric with everything patched, at all positions, which equals the donor's.

    Raises:
        DisagreementError: it does not.
    """
    everything = [Patch(component, layer) for component in COMPONENTS for layer in range(runs.num_layers(component))]
    metric, donor = float(patched_metric(runs, [everything], into)[0]), (runs.clean, runs.corrupted)[into == "clean"]
    size = max(1.0, float(runs.logits.abs().max()))
    require_agreement("the metric with everything patched", metric, donor, depth_of(runs.config), size)
    return metric


# --- Runs with patches ----------------------------------------------------------------------------------------------


@torch.inference_mode()
def patched_metric(runs: PairRuns, rows: Sequence[Sequence[Patch]], into: Into = "corrupted") -> Tensor:
    """Metric of the base with the patches of each row: [len(rows)] float64.

    Each row is a run of its own, computed in batches of one layer that continue the recorded run. Where a row's patches
    change nothing that the next token depends on, nothing is computed: its metric is exactly the base's.

    Raises:
        ValueError: a patch does not exist in these runs.
    """
    for patch in {patch for row in rows for patch in row}:
        runs.check(patch)
    base = 1 if into == "corrupted" else 0
    metrics = torch.full((len(rows),), (runs.clean, runs.corrupted)[base], dtype=torch.float64)
    changed = {number: row for number, row in enumerate(rows) if any(map(runs.matters, row))}
    single: defaultdict[tuple[Stack, int], dict[int, Patch]] = defaultdict(dict)
    for number, row in changed.items():
        if len(row) == 1 and row[0].position is not None:
            single[side_of(row[0].component), row[0].layer][number] = row[0]
    for patches in single.values():
        numbers = sorted(patches, key=lambda number: patches[number].position or 0)
        for block in blocks(runs, len(numbers)):
            with runs.translator.inspect() as model, onednn_products():
                logits = logits_with_patches(runs, model, base, [patches[number] for number in numbers[block]])
            metrics[numbers[block]] = runs.measured(logits).double().cpu()
    several = [number for number in changed if not any(number in patches for patches in single.values())]
    for block in blocks(runs, len(several)):
        patched = [rows[number] for number in several[block]]
        first: dict[Stack, int] = {}
        for patch in (patch for row in patched for patch in row):
            side = side_of(patch.component)
            first[side] = min(first.get(side, patch.layer), patch.layer)
        with runs.translator.inspect() as model, onednn_products(), _patched(model, runs, patched, 1 - base):
            logits = logits_from(runs, model, base, len(patched), first)
        metrics[several[block]] = runs.measured(logits).double().cpu()
    return metrics


def blocks(runs: PairRuns, rows: int) -> Iterator[slice]:
    """Slices of rows that keep a batch within `PATCHED_TOKENS`."""
    size = max(1, PATCHED_TOKENS // max(runs.source_ids.size(1), runs.fed.size(1)))
    return (slice(start, min(start + size, rows)) for start in range(0, rows, size))


def logits_from(runs: PairRuns, model: Transformer, base: int, rows: int, first: dict[Stack, int]) -> Tensor:
    """Logits [W, V] of the next token of `rows` copies of run 0 or 1, computed again from the first layers on.

    Hooks of the held model make the copies differ. Without one of the encoder, the memory is the recorded one.
    """
    memory, start = runs.memory[base : base + 1], first.get("decoder", 0)
    if "encoder" in first:
        x = runs.entering("encoder", first["encoder"])[base].expand(rows, -1, -1)
        for layer in range(first["encoder"], len(model.encoder.layers)):
            x = model.encoder.layers[layer](x, runs.masks["encoder_self", layer])
        memory, start = model.encoder.output_norm(x), 0
    x = runs.entering("decoder", start)[base].expand(rows, -1, -1)
    for layer in range(start, len(model.decoder.layers)):
        masks = runs.masks["decoder_self", layer], runs.masks["cross", layer]
        x = model.decoder.layers[layer](x, memory, *masks, SharedMemory(rows))
    return model.project(model.decoder.output_norm(x)[:, -1]).float()


@contextmanager
def _patched(model: Transformer, runs: PairRuns, rows: Sequence[Sequence[Patch]], donor: int) -> Generator[None]:
    """Put outputs of the donor into a batch inside the block; each row has its own patches."""
    groups: defaultdict[tuple[Component, int, bool], list[tuple[int, int, int]]] = defaultdict(list)
    for row, patches in enumerate(rows):
        for patch in patches:
            positions = range(runs.num_positions(patch.component)) if patch.position is None else (patch.position,)
            group = groups[patch.component, patch.layer, patch.head is not None]
            group.extend((row, position, patch.head or 0) for position in positions)
    functions: dict[str, Edit] = {}
    for (component, layer, is_head), places in groups.items():
        row, position, head = torch.tensor(places, device=runs.fed.device).T
        if is_head:
            values = runs.of_heads(component, layer)[donor, position, head]
            functions[component_place(component, layer, "heads")] = _set_at((row, head, position), values)
        else:
            values = runs.outputs[component, layer][donor, position]
            functions[component_place(component, layer)] = _set_at((row, position), values)
    with edit(model, functions):
        yield


def _set_at(indices: tuple[Tensor, ...], values: Tensor) -> Edit:
    """Function that sets outputs at the indices of rows and positions, or of rows, heads and positions."""
    return lambda outputs: outputs.index_put(indices, values)
