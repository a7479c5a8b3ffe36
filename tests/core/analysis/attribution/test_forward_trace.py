import torch

from core.analysis.attribution.forward_trace import ForwardTrace, trace_forward
from core.translator import Translator


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
            assert torch.allclose(again, sublayer.output, atol=1e-5)
    for own, cross in zip(traced.sublayers["decoder_self"], traced.sublayers["cross"], strict=True):
        assert torch.equal(own.output, cross.x)
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in translator.model.modules())


def test_the_explanation_is_the_one_of_explain(translator: Translator, traced: ForwardTrace):
    explanation = translator.explain(traced.explanation.source, traced.explanation.target)
    assert explanation.log_probs == traced.explanation.log_probs
    assert explanation.fed_tokens == traced.explanation.fed_tokens


def test_token_ids_keep_their_pieces(translator: Translator):
    token_ids = [translator.tokenizer.encode(letter)[-1] for letter in "abc"]
    assert len(trace_forward(translator, "A dog.", token_ids).explanation.fed_tokens) == 1 + len(token_ids)
