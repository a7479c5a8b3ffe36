import pytest
import torch

from core.analysis.attribution.forward_trace import ForwardTrace, trace_forward
from core.capture import attention_path
from core.translator import Translator
from tests.margins import assert_equal_to_rounding


def test_the_sublayers_are_what_the_model_computes(translator: Translator, traced: ForwardTrace):
    """Each sub-layer maps its recorded inputs to its recorded output, and decoder layers are chained."""
    for kind, sublayers in traced.sublayers.items():
        for sublayer in sublayers:
            x, memory = sublayer.x[None], sublayer.memory[None]
            mask = torch.ones(len(sublayer.x), len(sublayer.memory), dtype=torch.bool)
            with torch.inference_mode():
                again = sublayer.norm(
                    x + sublayer.attention(x, memory, mask.tril() if kind == "decoder_self" else mask)
                )[0]
            assert_equal_to_rounding(again, sublayer.output, 4)
    for own, cross in zip(traced.sublayers["decoder_self"], traced.sublayers["cross"], strict=True):
        assert torch.equal(own.output, cross.x)
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in translator.model.modules())


def test_the_sublayers_of_a_model_with_the_norm_first(norm_first: Translator, traced_norm_first: ForwardTrace):
    """x + Attention(LayerNorm(x), memory), where the memory is LayerNorm(x) or the encoder's normalised output."""
    for kind, sublayers in traced_norm_first.sublayers.items():
        for sublayer in sublayers:
            assert sublayer.norm is None
            norm = norm_first.model.get_submodule(f"{attention_path(kind, sublayer.map.layer)}_norm")
            with torch.inference_mode():
                normed = norm(sublayer.x)
                mask = torch.ones(len(normed), len(sublayer.memory), dtype=torch.bool)
                allowed = mask.tril() if kind == "decoder_self" else mask
                added = sublayer.attention(normed[None], sublayer.memory[None], allowed)[0]
            assert_equal_to_rounding(sublayer.x + added, sublayer.output, 4)
            assert kind == "cross" or torch.equal(sublayer.memory, normed)
    decoder = traced_norm_first.sublayers
    for own, cross in zip(decoder["decoder_self"], decoder["cross"], strict=True):
        assert torch.equal(own.output, cross.x)


def test_the_explanation_is_the_one_of_explain(translator: Translator, traced: ForwardTrace):
    explanation = translator.explain(traced.explanation.source, traced.explanation.target)
    assert traced.explanation.log_probs == pytest.approx(explanation.log_probs, abs=1e-5)  # by other products
    assert explanation.fed_tokens == traced.explanation.fed_tokens


def test_token_ids_keep_their_pieces(translator: Translator):
    token_ids = [translator.tokenizer.encode(letter)[-1] for letter in "abc"]
    assert len(trace_forward(translator, "A dog.", token_ids).explanation.fed_tokens) == 1 + len(token_ids)
