from typing import Any

import pytest
import torch

from core.analysis.composition.composition_scores import composition_scores
from core.analysis.composition.edges import Edge, Node
from core.analysis.composition.replacement import record_replacement
from core.analysis.heads.head import attention_layers
from core.text.tokenizer import SentencePieceTokenizer
from tests.core.analysis.conftest import PRE_NORM, TARGET, random_translator
from tests.core.analysis.interventions.conftest import CLEAN
from tests.core.tiny_models import LIKE_T5


@pytest.mark.parametrize("changes", [{}, PRE_NORM, LIKE_T5])
def test_scores_are_norms_of_whole_matrices(tokenizer: SentencePieceTokenizer, changes: dict[str, Any]):
    """Elhage et al. 2021, with the matrices [D, D] written out, and the gains of the norms in between."""
    translator = random_translator(tokenizer, **changes)
    runs = record_replacement(translator, CLEAN, TARGET, 3).runs
    model, layers = translator.model, attention_layers(translator.model)
    encoder, decoder = model.encoder.layers, model.decoder.layers
    post = not changes
    between = {  # norms on the way
        "own": [encoder[0].self_attention_norm, encoder[0].feed_forward_norm]
        if post
        else [encoder[1].self_attention_norm],
        "memory": [
            *([encoder[1].self_attention_norm, encoder[1].feed_forward_norm] if post else []),
            model.encoder.output_norm,
        ],
        "decoder": [decoder[0].cross_attention_norm, decoder[0].feed_forward_norm, decoder[1].self_attention_norm]
        if post
        else [decoder[1].cross_attention_norm],
    }
    edges = {
        "own": [
            Edge(Node("encoder_self", 0, 1), Node("encoder_self", 1, 2), which) for which in ("query", "key", "value")
        ],
        "memory": [Edge(Node("encoder_self", 1, 0), Node("cross", 2, 3), which) for which in ("key", "value")],
        "decoder": [Edge(Node("cross", 0, 2), Node("cross", 1, 0), "query")],
    }

    def matrices(node: Node) -> tuple[torch.Tensor, torch.Tensor]:
        layer = layers[node.as_head.kind, node.layer]  # type: ignore[index, union-attr]
        q, k, v = (
            each.weight.unflatten(0, (layer.num_heads, -1))[node.head].double()
            for each in (layer.q_proj, layer.k_proj, layer.v_proj)
        )
        o = layer.out_proj.weight.unflatten(1, (layer.num_heads, -1))[:, node.head].double()
        return q.T @ k, o @ v

    for name, of_name in edges.items():
        gain = torch.ones(32, dtype=torch.float64)
        for norm in between[name]:
            gain = gain * getattr(norm, "weight", torch.ones(32)).double()  # none: an identity
        for edge, found in zip(of_name, composition_scores(runs, of_name), strict=True):
            written = gain[:, None] * matrices(edge.sender)[1]
            scores, values = matrices(edge.receiver)
            read = {"query": scores.T, "key": scores, "value": values}[edge.input]
            assert found == pytest.approx(float((read @ written).norm() / (read.norm() * written.norm())), rel=1e-5)
            assert 0 < found < 1
    networks = [Edge(Node("source"), Node("encoder_self", 0, 0), "key"), Edge(Node("target"), Node("logit"), "input")]
    assert composition_scores(runs, networks) == [None, None]
