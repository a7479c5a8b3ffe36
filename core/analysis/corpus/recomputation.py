"""The value of one example, recomputed independently of the index."""

import torch

from core.analysis.attribution.forward_trace import trace_forward
from core.analysis.attribution.norms import head_norms
from core.analysis.corpus.index import HeadExample, NeuronExample
from core.analysis.corpus.recording import Neuron, feed_forward_networks
from core.trace import Head, record
from core.translator import Translator


@torch.inference_mode()
def head_strength(translator: Translator, head: Head, example: HeadExample) -> float:
    """||a_ij f(x_j)|| of a head in a sentence, as the method "norms" of the page Heads before its rows are divided.

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
    source, fed, _ = translator.token_ids(example.sentence.source, example.sentence.target)
    with translator.inspect() as model:
        network = feed_forward_networks(model)[neuron.stack, neuron.layer]
        place = f"{neuron.stack}.{neuron.layer}.feed_forward.input"
        with record(model, [place]) as values:
            model(translator.batch([source]), translator.batch([fed]))
        [states] = values[place]  # [L, D]
        if example.position >= len(states):
            raise ValueError("the example is beyond the end of its sentence: the index belongs to another model")
        return float(network.hidden(states[example.position])[neuron.neuron])
