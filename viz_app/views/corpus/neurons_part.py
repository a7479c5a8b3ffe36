"""The feed-forward neurons of a corpus index: those of a layer, and the examples of one."""

from dataclasses import dataclass

import streamlit as st

from core.analysis.corpus.index import NeuronExample
from core.analysis.corpus.promotion import promoted_by_neuron
from core.analysis.corpus.recomputation import neuron_activation
from core.analysis.corpus.recording import Neuron, Stack
from core.analysis.corpus.shown_examples import NeuronSort, examples_table, index_tokens, neuron_examples, neurons_table
from core.analysis.recorded_call import Call
from core.analysis.tokens.words import readable
from core.trace import STACK_NAMES
from viz_app.controls.downloads import downloads
from viz_app.controls.tables import number_column, selectable_table
from viz_app.controls.widgets import setting_menu, setting_segments
from viz_app.drawing.display_text import isolated, plain, sentence_case
from viz_app.language import joined, marked, tr, tr_lower, tr_values
from viz_app.session import address
from viz_app.session.models import MODEL_HASH, Model
from viz_app.session.python_code import translator
from viz_app.views.corpus import selection
from viz_app.views.corpus.figures import corpus as figures
from viz_app.views.corpus.opened_index import OpenedIndex, index_call, sentence_tokens

ABOUT_NEURONS = marked("""
A feed-forward network computes max(0, x W1 + b1) W2 + b2 (3.3): a **neuron** is a column of W1 and a row of W2, and its
**activation** is its number after the activation function. In the encoder its token is the one at its position, in the
decoder the one that was fed. **Active** is the share of tokens with an activation above 0.

The ten strongest of thousands show the extreme: what a neuron does at small activations may be something else, and most
neurons have no single meaning.
""")
ABOUT_PROMOTES = marked("""
When active, a neuron of the decoder adds a multiple of one vector to the state. Read through the norms that follow and
through the output matrix, this vector promotes some tokens (Geva et al. 2022). Only the direct path counts.
""")
ABOUT_BADGE = marked(
    "The strongest example shown is computed again by the model, from the input of the layer in a pass of its own "
    "sentence alone. It must agree with the index to one part in a thousand."
)
PROMOTED = 8


@dataclass(frozen=True)
class NeuronSearch:
    """The neurons to show: those of a layer, or those with an example whose token contains a text."""

    stack: Stack
    layer: int
    sort: NeuronSort
    containing: str


def neurons_part(model: Model, opened: OpenedIndex, search: NeuronSearch) -> None:
    """Draw the neurons of a layer, and the examples of one of them."""
    index = opened.index
    try:
        tokens = sentence_tokens(model, opened)
    except ValueError as error:
        st.error(sentence_case(str(error)))
        return
    stack, layer, sort, containing = search.stack, search.layer, search.sort, search.containing
    table = neurons_table(index, stack, layer, tokens, sort, containing)
    text = tr(
        "**{count:,} neurons** of {total:,}: {stack}, layer {layer}. Tokens are those of their ten strongest examples.",
        count=len(table["neuron"]),
        total=len(index.neurons[stack].active[layer]),
        stack=tr_lower(STACK_NAMES[stack]),
        layer=layer + 1,
    )
    st.caption(text, help=tr(ABOUT_NEURONS))
    neurons = [Neuron(stack, layer, neuron) for neuron in table["neuron"]]
    neuron = selection.selected_neuron(index)
    if not neurons:
        st.info(
            tr("No neuron of this layer has such a token among its examples. Type another, or select another layer.")
        )
    neuron = neuron or (neurons[0] if neurons else None)
    left, right = st.container(key="side-by-side").columns([5, 6], gap="large")
    with left:
        if neurons:
            selectable_table(
                {"name": list(map(neuron_name, neurons)), **table},
                "corpus-neurons",
                lambda row: selection.NEURON.set(str(neurons[row])),
                height=520,
                columns={
                    "name": st.column_config.TextColumn(tr("Neuron"), width=130),
                    "tokens": tr("Tokens of its examples"),
                    "highest": number_column(tr("Highest"), 2, width=70),
                    "active": st.column_config.NumberColumn(tr("Active"), format="percent", width=70),
                },
            )
            downloads("corpus-neurons", call=lambda: neurons_call(model, opened, search).returning(table))
    with right:
        if neuron is not None:
            one_neuron(model, opened, neuron)


def neuron_name(neuron: Neuron) -> str:
    """Return the name of a neuron, counted from 1: `Encoder L3 N512`."""
    return f"{tr(STACK_NAMES[neuron.stack])} L{neuron.layer + 1} N{neuron.neuron + 1}"


def neurons_call(model: Model, opened: OpenedIndex, search: NeuronSearch) -> Call:
    """Return the call of the table of neurons."""
    index = index_call(opened)
    tokens = Call("tokens", index_tokens, (translator(model), index))
    arguments = index, search.stack, search.layer, tokens, search.sort, search.containing
    return Call("neurons", neurons_table, arguments)


def boxes(model: Model) -> NeuronSearch:
    """Select a stack, a layer, an order, and a token."""
    stack: Stack = setting_segments(address.CORPUS_STACK, tr("Neurons of"), tr_values(STACK_NAMES))
    stacks = {"encoder": model.translator.model.encoder, "decoder": model.translator.model.decoder}
    layers = [str(layer + 1) for layer in range(max(len(each.layers) for each in stacks.values()))]
    layer = setting_menu(address.NEURON_LAYER, tr("Layer"), layers, width=90)
    sort: NeuronSort = setting_menu(address.NEURON_SORT, tr("Sorted"), tr_values(figures.NEURON_SORTS), width=240)
    containing = address.NEURON_TOKEN.draw(
        st.text_input,
        tr("Token"),
        width=180,
        placeholder=tr("such as not"),
        help=tr("Only neurons with an example whose token has this in it."),
    )
    return NeuronSearch(stack, min(layers.index(layer), len(stacks[stack].layers) - 1), sort, containing or "")


def one_neuron(model: Model, opened: OpenedIndex, neuron: Neuron) -> None:
    """Draw the strongest examples of a neuron; a click on one opens its sentence on the page Heads."""
    table, at = opened.index.neurons[neuron.stack], (neuron.layer, neuron.neuron)
    name = neuron_name(neuron)
    usual = figures.quantile_text(table.quantiles[at].tolist(), marked("tokens"))
    st.markdown(
        tr(
            "**{neuron}**: active for {percent:.1f} % of the tokens; {activation}",
            neuron=name,
            percent=100 * float(table.active[at]),
            activation=usual,
        )
    )
    if neuron.stack == "decoder":
        ids = promoted_by_neuron(model.translator.model, neuron.layer, neuron.neuron, PROMOTED)
        pieces = [plain(isolated(readable(model.translator.tokenizer.target.piece(each)))) for each in ids]
        st.caption(tr("Promotes: {tokens}", tokens=joined(pieces)), help=tr(ABOUT_PROMOTES))
    examples = opened.index.neuron_examples(neuron)
    if not examples:
        st.info(tr("{neuron} is not active for any token of the corpus.", neuron=name))
        return
    shown = neuron_examples(model.translator, neuron, examples)
    selection.examples(
        shown, lambda number: selection.open_neuron(model, neuron, examples[number]), key="neuron-examples"
    )
    recorded = Call("examples", "neuron_examples", (index_call(opened), neuron))
    recorded = Call("shown", neuron_examples, (translator(model), neuron, recorded)).returning(shown)
    title = tr("{neuron}, strongest examples", neuron=name)
    recorded_table = Call("table", examples_table, (recorded, "activation"))
    downloads("corpus-neuron-examples", "neuron-examples", recorded_table, title=title, of_sentence=False)
    again = recomputed(model, opened.key, neuron, examples[0])
    selection.agreement_badge(examples[0].activation, again, ABOUT_BADGE)


@st.cache_resource(max_entries=256, show_spinner=False, hash_funcs=MODEL_HASH)
def recomputed(model: Model, key: str, neuron: Neuron, _example: NeuronExample) -> float:
    """Return the activation of a neuron's first example, from the model."""
    return neuron_activation(model.translator, neuron, _example)
