"""The ways of seeing who attends to whom: what they are called, and their maps of what is being read."""

import math
from collections.abc import Iterable
from dataclasses import replace

import streamlit as st

from core.analysis.attribution.gradients import attention_gradients, gradient_maps
from core.analysis.attribution.methods import METHODS, Method
from core.analysis.correlation import map_correlation
from core.analysis.heads.head import Maps
from core.capture import AttentionMap, Kind
from viz_app.session.gradient_output import Output
from viz_app.session.memory import Memory
from viz_app.session.models import Model
from viz_app.session.readings import Reading, explanations

METHOD_NAMES: dict[Method, str] = {
    "attention": "Attention weights",
    "norms": "Norm-weighted",
    "gradient": "Gradient \u00d7 attention",
    "rollout": "Attention rollout",
    "contributions": "ALTI, within a layer",
    "rolled_contributions": "ALTI, rolled out",
}
METHOD_HELP = """
**Attention weights**: as they are. **Norm-weighted**: times the length of what is moved, ||a f(x)|| (Kobayashi et al.
2020). **Gradient \u00d7 attention**: times how much the prediction would change. **Attention rollout**: followed down
through the layers to the words that went in (Abnar & Zuidema 2020). **ALTI**: how near each part alone comes to the
whole output of a layer (Ferrando et al. 2022), within the layer or rolled out. The last three have one map a layer, not
one a head.
"""
METHOD_TEXTS: dict[Method, str] = {
    "attention": "the weights that the model computes",
    "norms": "each weight times the length of what it moves, as shares of its row",
    "gradient": "where a weight made the output more probable, as shares of its row",
    "rollout": "attention followed down through the layers to the words that went in; one map a layer",
    "contributions": "how near each token's part alone comes to the layer's output; one map a layer",
    "rolled_contributions": "contributions followed down to the words that went in; one map a layer",
}
METHOD_SOURCES: dict[Method, str] = {
    "attention": "Vaswani et al. 2017, equation 1. A large weight says that information may have flowed, not that it "
    "mattered.",
    "norms": "||a f(x)||, Kobayashi et al. 2020, *Attention is Not Only a Weight*. It sees the value vectors, not "
    "what later layers do with them.",
    "gradient": "(grad a \u00d7 a)+, Chefer et al. 2021, for the log-probability of the output, which is all "
    "predicted tokens where none is named. "
    "Rows of zeros: nothing spoke for it, or they came after it.",
    "rollout": "Abnar & Zuidema 2020, *Quantifying Attention Flow in Transformers*. Heads are averaged, half of each "
    "row is the residual connection.",
    "contributions": "ALTI, Ferrando et al. 2022. A row may lack of 1 what the residual connection carried.",
    "rolled_contributions": "ALTI, Ferrando et al. 2022. In the decoder a row's 1 is shared between source and prefix.",
}
NOTHING_TO_RANK = "none, as there is nothing to rank"  # in place of a correlation
# one map a layer, not one a head
PER_LAYER: frozenset[Method] = frozenset({"rollout", "contributions", "rolled_contributions"})


@st.cache_resource(show_spinner=False)
def _remembered() -> "Memory[Maps]":
    """Of all sessions, by what was read and how; few, as one of 512 tokens takes 150 MB."""
    return Memory(12)


def maps_of(
    model: Model, source: str, target: "str | tuple[int, ...]", method: Method, output: Output | None = None
) -> Maps:
    """The maps of one method for a source and any target; computed when first asked for.

    Args:
        output: the predicted tokens that the gradient is of; None: all, as for every other method.

    Raises:
        ValueError: as `Translator.explain`; `output` with another method than the gradient, or not of this target.
        RuntimeError: the model cannot be taken apart by this method.
    """
    translator = model.translator
    if output is not None and method != "gradient":
        raise ValueError(
            f"an output was given ({output}), which {METHOD_NAMES[method]} does not ask for: give it with the "
            f"gradient only"
        )
    if method == "attention":
        return explanations().get((model.digest, source, target), lambda: translator.explain(source, target)).maps

    def compute() -> Maps:
        if output is None:
            return METHODS[method](translator, source, target)
        return gradient_maps(attention_gradients(translator, source, target, output))

    return _remembered().get((model.digest, source, target, method, output), compute)


def method_maps(reading: Reading, method: Method, output: Output | None = None) -> Maps:
    """`maps_of` what is read."""
    return maps_of(reading.model, reading.translation.source, reading.hypothesis.token_ids, method, output)


@st.cache_resource(show_spinner=False)
def _compared() -> "Memory[dict[int, tuple[float, ...]]]":
    return Memory(64)


def rank_correlations(
    reading: Reading, method: Method, kind: Kind, output: Output | None = None
) -> dict[int, tuple[float, ...]]:
    """Spearman's rank correlation of a method's maps with the raw weights of every head, by layer; special tokens and
    sub-words as they are.

    Of an output, decoder rows that come after it are left out: their gradient is 0 for no merit.
    """
    rows = len(reading.explanation.predicted_tokens) if output is None else output[-1] + 1

    def compute() -> dict[int, tuple[float, ...]]:
        pairs = zip(method_maps(reading, method, output)[kind], reading.explanation.maps[kind], strict=True)
        if kind != "encoder_self":
            pairs = ((first_rows(found, rows), first_rows(raw, rows)) for found, raw in pairs)
        return {raw.layer: map_correlation(found, raw) for found, raw in pairs}

    return _compared().get((reading.identity, method, kind, output), compute)


def first_rows(attention: AttentionMap, count: int) -> AttentionMap:
    """The rows of the first tokens of a target."""
    predicted = attention.predicted_tokens and attention.predicted_tokens[:count]
    queries, mask = attention.query_tokens[:count], attention.visible[:count]
    return replace(
        attention, weights=attention.weights[:, :count], query_tokens=queries, predicted_tokens=predicted, mask=mask
    )


def mean(values: Iterable[float]) -> float:
    """Of those that are numbers; NaN where none is."""
    known = [value for value in values if not math.isnan(value)]
    return sum(known) / len(known) if known else math.nan
