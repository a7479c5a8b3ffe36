"""Attribution methods: names, texts, and rank correlations with the raw weights."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import streamlit as st

from core.analysis.attribution.methods import Method
from core.analysis.correlation import map_correlation
from core.analysis.tokens.words import readable, word, word_groups
from core.capture import AttentionMap, Kind
from viz_app.drawing import head_names
from viz_app.drawing.display_text import isolated
from viz_app.language import joined, marked, quoted, tr, tr_count
from viz_app.session.model_passes import Output
from viz_app.session.readings import READING_HASH, Reading

if TYPE_CHECKING:
    from core import Explanation

MAX_NAMED = 4  # words; more are counted
WHOLE = marked("the whole translation")
ABOUT_OUTPUT = marked("""
The gradient of the log-probability of all predicted tokens, or only of those selected: words of the translation, or the
token of a decoding step. It shows which inputs made that output more probable.
""")


def output_text(explanation: "Explanation", output: Output | None) -> str:
    """Name an output as plain text, such as `the whole translation`, `“Hund” (token 3)`; tokens are counted from 1."""
    if output is None:
        return tr(WHOLE)
    names = _names(explanation.predicted_tokens, output)
    if len(names) > MAX_NAMED:
        return tr(
            "{words} and {more} more words ({tokens} tokens)",
            words=joined(names[: MAX_NAMED - 1]),
            more=len(names) - MAX_NAMED + 1,
            tokens=len(output),
        )
    numbers = joined(str(position + 1) for position in output)
    return tr_count(
        "{words} (token {numbers})", "{words} (tokens {numbers})", len(output), words=joined(names), numbers=numbers
    )


def file_part(output: Output | None) -> str:
    """Return the part of a file name for an output; tokens are counted from 0."""
    if output is None:
        return ""
    if len(output) > 2 * MAX_NAMED:
        return f"-output{output[0]}-to-{output[-1]}-{len(output)}-tokens"
    return f"-output{'-'.join(map(str, output))}"


def _names(tokens: Sequence[str], output: Output) -> list[str]:
    """Name the words that the tokens belong to or, of a word that is only partly in the output, the pieces."""
    names: list[str] = []
    for group in word_groups(tokens):
        if pieces := [tokens[position] for position in group if position in output]:
            text = readable(word(pieces)) if len(pieces) == len(group) else " ".join(map(readable, pieces))
            names.append(quoted(isolated(text)))
    return names


METHOD_NAMES: dict[Method, str] = {
    "attention": marked("Attention weights"),
    "norms": marked("Norm-weighted"),
    "gradient": marked("Gradient \u00d7 attention"),
    "rollout": marked("Attention rollout"),
    "contributions": marked("ALTI, within a layer"),
    "rolled_contributions": marked("ALTI, rolled out"),
}
METHOD_HELP = marked("""
**Attention weights**: the raw weights. **Norm-weighted**: each weight times the norm of the transformed value vector,
||a f(x)|| (Kobayashi et al. 2020). **Gradient \u00d7 attention**: each weight times its gradient. **Attention
rollout**: attention multiplied through all layers back to the input (Abnar & Zuidema 2020). **ALTI**: how close each
token's contribution alone comes to the output of a layer (Ferrando et al. 2022), within the layer or rolled out. The
last three give one map per layer, not one per head.
""")
METHOD_TEXTS: dict[Method, str] = {
    "attention": marked("the weights that the model computes"),
    "norms": marked("each weight times the norm of the vector it scales, as shares of its row"),
    "gradient": marked("where a larger weight would make the output more probable, as shares of its row"),
    "rollout": marked("attention multiplied through all layers back to the input; one map per layer"),
    "contributions": marked("how close each token's contribution alone comes to the layer's output; one map per layer"),
    "rolled_contributions": marked("contributions multiplied through all layers back to the input; one map per layer"),
}
METHOD_SOURCES: dict[Method, str] = {
    "attention": marked(
        "Vaswani et al. 2017, equation 1. A large weight says that information may have flowed, not that it mattered."
    ),
    "norms": marked(
        "||a f(x)||, Kobayashi et al. 2020, *Attention is Not Only a Weight*. It takes the value vectors into account, "
        "not what later layers do with them."
    ),
    "gradient": marked(
        "(grad a \u00d7 a)+ for the log-probability of the output: all predicted tokens, unless some are selected. It "
        "is one layer of Chefer et al. 2021, who average it over heads and multiply it through the layers. A row of "
        "zeros: no weight in it raised the log-probability, or the row comes after the output."
    ),
    "rollout": marked(
        "Abnar & Zuidema 2020, *Quantifying Attention Flow in Transformers*. Heads are averaged, half of each row is "
        "the residual connection."
    ),
    "contributions": marked(
        "ALTI, Ferrando et al. 2022. Rows may sum to less than 1; the rest came through the residual connection."
    ),
    "rolled_contributions": marked(
        "ALTI, Ferrando et al. 2022. In the decoder, a row's sum of 1 is divided between source and prefix."
    ),
}
NOTHING_TO_RANK = marked("undefined, as there is nothing to rank")  # instead of a correlation
# methods with one map per layer, not one per head
PER_LAYER: frozenset[Method] = frozenset({"rollout", "contributions", "rolled_contributions"})


@dataclass(frozen=True)
class MethodChoice:
    """The choice of an attribution method."""

    method: Method = "attention"
    output: Output | None = None  # the predicted tokens that the gradient is of; None: all, as for every other method

    @property
    def per_layer(self) -> bool:
        """Whether the method has only one map per layer."""
        return self.method in PER_LAYER

    def name(self, layer: int, head: int) -> str:
        """Name a head, or a layer if the method has one map for each, in English, as widgets' values are."""
        return head_names.layer_name(layer, head) if self.per_layer else head_names.name_of(layer, head)

    @property
    def file_part(self) -> str:
        """The part of a file name for the method; "" for attention weights."""
        return "" if self.method == "attention" else f"-{self.method}{file_part(self.output)}"

    def output_note(self, explanation: "Explanation") -> str:
        """Name the output that the gradient is of, as plain text after the method's name; "" for other methods."""
        if self.method != "gradient":
            return ""
        return tr(" for {output}", output=output_text(explanation, self.output))

    def columns(self, explanation: "Explanation") -> dict[str, str]:
        """Name the method, and the output that the gradient is of, in columns of a table; tokens count from 0."""
        found = {marked("method"): str(self.method)}
        if self.method == "gradient":
            tokens, output = explanation.predicted_tokens, self.output
            names = [f"{position} {readable(tokens[position])}" for position in output or ()]
            found[marked("output")] = "all" if output is None else " ".join(names)
        return found


@st.cache_resource(max_entries=64, show_spinner=False, hash_funcs=READING_HASH)
def rank_correlations(
    reading: Reading, method: Method, kind: Kind, output: Output | None = None
) -> dict[int, tuple[float, ...]]:
    """Compute rank correlations of a method's maps with the raw weights, by layer.

    Special tokens and sub-words are included. With an output, later decoder rows, whose gradient is 0, are left out.
    """
    explanation = reading.explain()
    rows = len(explanation.predicted_tokens) if output is None else output[-1] + 1
    pairs = zip(reading.method_maps(method, output)[kind], explanation.maps[kind], strict=True)
    if kind != "encoder_self":
        pairs = ((first_rows(own, rows), first_rows(raw, rows)) for own, raw in pairs)
    return {raw.layer: map_correlation(own, raw) for own, raw in pairs}


def first_rows(attention: AttentionMap, count: int) -> AttentionMap:
    """Keep the rows of the first tokens of a target."""
    predicted = attention.predicted_tokens and attention.predicted_tokens[:count]
    queries, mask = attention.query_tokens[:count], attention.visible[:count]
    return replace(
        attention, weights=attention.weights[:, :count], query_tokens=queries, predicted_tokens=predicted, mask=mask
    )


def mean(values: Iterable[float]) -> float:
    """Average the values that are not NaN; NaN if there is none."""
    known = [value for value in values if not math.isnan(value)]
    return sum(known) / len(known) if known else math.nan
