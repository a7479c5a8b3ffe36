import pytest
import torch

from core.analysis.attribution.methods import METHODS, Method
from core.translator import Translator


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("source", "target"), [("A", ""), ("A dog runs.", "Ein Hund."), ("A dog runs. " * 12, "Hund")])
def test_maps_of_every_kind_on_the_sentence_s_tokens(translator: Translator, method: Method, source: str, target: str):
    explanation = translator.explain(source, target)
    maps = METHODS[method](translator, source, target)
    assert maps.keys() == explanation.maps.keys()
    for kind, layers in maps.items():
        assert len(layers) == len(explanation.maps[kind])
        for layer, raw in zip(layers, explanation.maps[kind], strict=True):
            assert (layer.kind, layer.layer) == (raw.kind, raw.layer)
            assert (layer.query_tokens, layer.key_tokens, layer.predicted_tokens) == (
                raw.query_tokens,
                raw.key_tokens,
                raw.predicted_tokens,
            )
            assert layer.num_heads in (1, raw.num_heads)
            assert ((layer.weights >= 0) & (layer.weights.sum(-1, keepdim=True) <= 1 + 1e-4)).all()
            if kind == "decoder_self":
                assert torch.equal(layer.weights, layer.weights.tril())
