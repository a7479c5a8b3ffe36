"""Two sources of equal length in tokens, and an independent computation of patched runs."""

import copy
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch

from core.analysis.composition.edges import Edge, Node, place_of, sender_side
from core.analysis.interventions.pair_runs import Component, PairRuns, Patch
from core.analysis.interventions.recorded_runs import record_runs
from core.translator import Translator
from tests.core.analysis.conftest import TARGET

CLEAN, CORRUPTED = "The old house is cold.", "The old train is cold."
POSITION = 5  # of the predicted token
PATHS: dict[Component, str] = {
    "encoder_self": "encoder.layers.{}.self_attention",
    "encoder_feed_forward": "encoder.layers.{}.feed_forward",
    "encoder_state": "encoder.layers.{}",
    "decoder_self": "decoder.layers.{}.self_attention",
    "cross": "decoder.layers.{}.cross_attention",
    "decoder_feed_forward": "decoder.layers.{}.feed_forward",
    "decoder_state": "decoder.layers.{}",
}
PROJECTIONS = {"query": "q_proj", "key": "k_proj", "value": "v_proj"}
INPUT_NORMS = {"source": "encoder.input_norm", "target": "decoder.input_norm"}
Record = Callable[..., PairRuns]
Request = tuple[Edge, int | None, bool]  # a path, the sender's position (None: all), and whether networks are held


@pytest.fixture(scope="session")
def record(translator: Translator) -> Record:
    """`record_runs` for these sources, unless others are given.

    Of the first position from `POSITION` on at which the model, whose weights are random, tells them apart.
    """

    def make(of: Translator = translator, clean: str = CLEAN, corrupted: str = CORRUPTED, **options: Any) -> PairRuns:
        position = options.pop("position", POSITION)
        try:
            return record_runs(of, clean, corrupted, TARGET, position, **options)
        except ValueError as error:
            if "nothing to recover" not in str(error) or clean == corrupted or position == POSITION + 5:
                raise
            return make(of, clean, corrupted, position=position + 1, **options)

    return make


@pytest.fixture(scope="session")
def runs(record: Record) -> PairRuns:
    return record()


def whole_pass(
    runs: PairRuns, source: int, change: Callable[[str, torch.Tensor], torch.Tensor | None], rows: int = 1
) -> torch.Tensor:
    """Logits of one whole pass of the model over copies of a run, in which `change` may replace the output of any
    module by its path, and the input of an output matrix (with the path of that and `.input`): [rows, V].
    """
    handles: list[Any] = []
    with runs.translator.inspect() as model, torch.inference_mode():
        for path, module in model.named_modules():
            handles.append(module.register_forward_hook(lambda _m, _a, output, path=path: change(path, output)))
            if path.endswith("out_proj"):
                before = lambda _m, arguments, path=path: change(f"{path}.input", arguments[0])  # noqa: E731
                handles.append(module.register_forward_pre_hook(before))
        try:
            return model(runs.source_ids[source].expand(rows, -1), runs.fed.expand(rows, -1))[:, -1]
        finally:
            for handle in handles:
                handle.remove()


def values_of(runs: PairRuns, source: int) -> dict[str, torch.Tensor]:
    """Outputs of all modules in the run of one source, as `whole_pass` names them."""
    found: dict[str, torch.Tensor] = {}
    whole_pass(runs, source, lambda path, value: found.update({path: value}))
    return found


def path_of(node: Node) -> str:
    place = place_of(node)
    assert place
    return PATHS[place[0]].format(place[1])


def sending_pass(
    runs: PairRuns, requests: Sequence[Request], base: int = 0
) -> tuple[dict[str, torch.Tensor], list[float]]:
    """Outputs of all modules, and the metric, when one sender's output alone changes: a row for each request."""
    own, computed = values_of(runs, base), dict[str, torch.Tensor]()

    def change(path: str, value: torch.Tensor) -> torch.Tensor | None:
        computed[path] = value
        if not path.endswith(("_attention", "feed_forward", "out_proj.input", *INPUT_NORMS.values())):
            return None
        value = value.clone()
        for row, ((sender, *_), position, hold_networks) in enumerate(requests):
            sends = INPUT_NORMS[sender.part] if sender.layer is None else path_of(sender)
            side, place = sender_side(sender), place_of(sender)
            at = slice(None) if position is None else slice(position, position + 1)
            if path == sends and sender.head is None:
                other = runs.entered[side] if place is None else runs.outputs[place]
                value[row] = own[path][0]
                value[row, at] = other[1 - base, at]
            elif path == f"{sends}.out_proj.input" and place is not None and sender.head is not None:
                heads = value[row].unflatten(-1, (runs.num_heads(place[0]), -1))
                heads[at, sender.head] = runs.of_heads(*place)[1 - base, at, sender.head]
            elif path != sends and path.endswith(("_attention", *["feed_forward"] * hold_networks)):
                value[row] = own[path][0]
        return value

    logits = whole_pass(runs, base, change, len(requests))
    return computed, runs.measured(logits).tolist()


def in_two_passes(runs: PairRuns, requests: Sequence[Request], base: int = 0) -> list[float]:
    """Path patching by two whole passes with hooks, as Wang et al. describe it: the metric of each request."""
    computed, sent = sending_pass(runs, requests, base)

    def change(path: str, value: torch.Tensor) -> torch.Tensor | None:
        value = value.clone()
        for row, ((_, receiver, which), *_) in enumerate(requests):
            if receiver.part == "logit" or not path.startswith(receives := path_of(receiver)):
                continue
            if receiver.head is None and path == receives:
                value[row] = computed[path][row]
            elif receiver.head is not None and path == f"{receives}.{PROJECTIONS[which]}":
                count = runs.num_heads(receiver.as_head.kind)  # type: ignore[union-attr]
                heads, arrived = (each[row].unflatten(-1, (count, -1)) for each in (value, computed[path]))
                heads[:, receiver.head] = arrived[:, receiver.head]
        return value

    received = runs.measured(whole_pass(runs, base, change, len(requests))).tolist()
    return [
        of_sender if edge.receiver.part == "logit" else of_receiver
        for (edge, *_), of_sender, of_receiver in zip(requests, sent, received, strict=True)
    ]


def brute_force(runs: PairRuns, patches: Sequence[Patch], base: int) -> torch.Tensor:
    """Logits with each patch alone, by a whole pass of as many rows: [patches, V]."""
    donor = values_of(runs, 1 - base)
    paths = [
        PATHS[patch.component].format(patch.layer) + ("" if patch.head is None else ".out_proj.input")
        for patch in patches
    ]

    def change(path: str, value: torch.Tensor) -> torch.Tensor | None:
        here = [(row, patch) for row, patch in enumerate(patches) if paths[row] == path]
        if not here:
            return None
        value = value.clone()
        for row, patch in here:
            heads = 1 if patch.head is None else runs.num_heads(patch.component)
            place = patch.position, patch.head or 0
            value[row].unflatten(-1, (heads, -1))[place] = donor[path][0].unflatten(-1, (heads, -1))[place]
        return value

    return whole_pass(runs, base, change, len(patches))


def linear(of: Translator, **submodules: Any) -> Translator:
    """The same model with uniform attention, without norms and activations: linear in the embedding of the source."""
    model = copy.deepcopy(of.model)
    for name, module in model.named_modules():
        if name.endswith("_norm"):
            model.set_submodule(name, torch.nn.Identity())
        elif name.endswith("q_proj"):
            module.weight.zero_()  # type: ignore[operator, union-attr]
            module.bias.zero_()  # type: ignore[operator, union-attr]
        elif name.endswith("feed_forward"):
            module.activation = torch.nn.Identity()
    return Translator(model, of.tokenizer)
