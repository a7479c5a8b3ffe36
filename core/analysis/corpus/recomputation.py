"""The value of one example, recomputed independently of the index."""

from typing import Any

import torch
from torch import nn

from core.analysis.attribution.forward_trace import trace_forward
from core.analysis.attribution.norms import head_norms
from core.analysis.corpus.index import HeadExample, NeuronExample
from core.analysis.corpus.recording import Neuron, feed_forward_networks
from core.analysis.heads.head import Head
from core.translator import Translator


@torch.inference_mode()
def head_strength(translator: Translator, head: Head, example: HeadExample) -> float:
    """||a_ij f(x_j)|| of a head in a sentence.

    As on the page Heads ("norms", before its rows are divided).

    Raises:
        ValueError: the sentence is not one of this model.
    """
    trace = trace_forward(translator, example.sentence.source, example.sentence.target)
    norms = head_norms(trace.sublayers[head.kind][head.layer])[head.head]
    if example.query >= norms.size(0) or example.key >= norms.size(1):
        raise ValueError("the example is beyond the end of its sentence: the index belongs to another model")
    return float(norms[example.query, example.key])


@torch.inference_mode()
def neuron_activation(translator: Translator, neuron: Neuron, example: NeuronExample) -> float:
    """Activation of a neuron, from the layer's input by the matrices themselves.

    Raises:
        ValueError: the sentence is not one of this model.
    """
    inputs: list[torch.Tensor] = []

    def keep(_module: nn.Module, arguments: tuple[Any, ...]) -> None:
        inputs.append(arguments[0])

    source, fed, _ = translator.token_ids(example.sentence.source, example.sentence.target)
    with translator.inspect() as model:
        network = feed_forward_networks(model)[neuron.stack, neuron.layer]
        with network.register_forward_pre_hook(keep):
            model(translator.batch([source]), translator.batch([fed]))
        if example.position >= inputs[0].size(1):
            raise ValueError("the example is beyond the end of its sentence: the index belongs to another model")
        return float(network.hidden(inputs[0][0, example.position])[neuron.neuron])
