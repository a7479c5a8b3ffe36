"""Composition scores of heads, from weights alone.

Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits", section "Composition": with W_OV = W_O W_V of
the sender and W_QK = W_Q^T W_K, W_OV of the receiver, and Frobenius norms,

    Q-composition   |W_QK^T W_OV'| / (|W_QK| |W_OV'|)
    K-composition   |W_QK   W_OV'| / (|W_QK| |W_OV'|)
    V-composition   |W_OV   W_OV'| / (|W_OV| |W_OV'|)

where W_OV' is the sender's, multiplied by the gains of the norms between both. Their scales and means are left out,
since they depend on the sentence; so do the positions that the heads attend to, which the scores cannot know.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from core.analysis.composition.edges import Edge, Input, SubLayerPlace, norm_of, place_of, sublayers
from core.analysis.heads.head import head_matrices
from core.analysis.interventions.pair_runs import PairRuns, component_modules, side_of
from core.model import MultiHeadAttention, Norm, Transformer


@torch.inference_mode()
def composition_scores(runs: PairRuns, edges: Sequence[Edge]) -> list[float | None]:
    """Composition score of each edge, from 0 to 1; None for edges that do not join two heads."""
    known: dict[tuple[SubLayerPlace, SubLayerPlace, Input], list[list[float]]] = {}
    scores: list[float | None] = []
    with runs.translator.inspect() as model:
        for edge in edges:
            sends, receives = place_of(edge.sender), place_of(edge.receiver)
            if not sends or not receives or edge.sender.head is None or edge.receiver.head is None:
                scores.append(None)
                continue
            key = sends, receives, edge.input
            if key not in known:
                known[key] = _scores(runs, model, *key).tolist()
            scores.append(known[key][edge.sender.head][edge.receiver.head])
    return scores


def _scores(runs: PairRuns, model: Transformer, sends: SubLayerPlace, receives: SubLayerPlace, which: Input) -> Tensor:
    """Scores between all heads of two layers: [senders, receivers].

    Every product has the width of a head as its inner size, so norms are those of small matrices: |A B^T| = |R_A R_B^T|
    with the triangular factors of A and B.
    """
    sender, receiver = _by_head(model, sends), _by_head(model, receives)
    written = gains_between(runs, model, sends, receives)[:, None] * sender["out"]  # [H, D, d_v]
    read = receiver["query" if which == "query" else "key" if which == "key" else "value"]  # [H', d_k, D]
    rest = {"query": receiver["key"].mT, "key": receiver["query"].mT, "value": receiver["out"]}[which]  # [H', D, E]
    of_rest, of_read, of_values, of_written = (
        torch.linalg.qr(each.double(), mode="r").R for each in (rest, read.mT, sender["value"].mT, written)
    )
    inner = torch.einsum("rkd,sdv->srkv", read.double(), written.double())  # [H, H', d_k, d_v]
    norms = (of_rest @ inner @ of_values.mT[:, None]).norm(dim=(-2, -1))
    of_receiver = (of_rest @ of_read.mT).norm(dim=(-2, -1))
    of_sender = (of_written @ of_values.mT).norm(dim=(-2, -1))
    return norms / (of_sender[:, None] * of_receiver)


def _by_head(model: Transformer, place: SubLayerPlace) -> dict[str, Tensor]:
    """W_Q, W_K [H, d_k, D], W_V [H, d_v, D] and W_O [H, D, d_v] of each head."""
    module = component_modules(model, place.component)[place.layer]
    assert isinstance(module, MultiHeadAttention)
    projections = {"query": module.q_proj, "key": module.k_proj, "value": module.v_proj}
    matrices = {name: each.weight.unflatten(0, (module.num_heads, -1)) for name, each in projections.items()}
    matrices["out"] = head_matrices(module).transpose(0, 1)
    return matrices


def gains_between(runs: PairRuns, model: Transformer, sends: SubLayerPlace, receives: SubLayerPlace) -> Tensor:
    """Product of the gains of all norms on a direct path between two sub-layers: [D]."""
    side, is_memory = side_of(sends.component), side_of(sends.component) != side_of(receives.component)
    steps = sublayers(runs, side)
    first, stop = steps.index(sends), len(steps) if is_memory else steps.index(receives)
    norms: list[nn.Module] = []
    if model.config.norm == "post":
        norms += [norm_of(model, place) for place in steps[first:stop]]
    elif not is_memory:
        norms.append(norm_of(model, receives))
    if is_memory:
        norms.append(model.encoder.output_norm)
    gains = [norm.weight for norm in norms if isinstance(norm, Norm)]
    return torch.stack([torch.ones_like(runs.memory[0, 0]), *gains]).prod(0)
