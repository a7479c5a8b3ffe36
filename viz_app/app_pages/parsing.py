"""Parsing: the sentence as a constituency tree, and what the heads looked at when each bracket was written."""

import re

import pandas as pd
import streamlit as st

from core.analysis.heads.bracket_attention import DecoderKind, symbol_attention
from core.parsing.parser import BEAM_SIZE, LENGTH_PENALTY, Parse
from core.parsing.trees import constituents
from viz_app.components.constituency_tree import tree_drawing
from viz_app.controls.downloads import downloads
from viz_app.controls.search_progress import stoppable
from viz_app.controls.tables import show_table
from viz_app.features.parsing import parser_model
from viz_app.figures.bracket_attention import bracket_map, bracket_table
from viz_app.figures.constituency_tree import Node, export_tree, tree_nodes
from viz_app.figures.display_text import decimal, plain, sentence_case
from viz_app.figures.export.plotly_chart import export_chart
from viz_app.figures.plotly_chart import CHART_CONFIG
from viz_app.figures.theme import head_name, theme_named
from viz_app.session import permalink, readings
from viz_app.session.models import Model, ModelError

NODE = "tree_node"  # where the session keeps which node is looked at, and of which sentence; its name in the address
MEAN = "Mean of all"
HOW_TO_READ = """
The model reads the words and writes the tree from left to right: `(NP` opens a noun phrase, `XX` stands for the next
word, or `XX/NN` where the model gives tags, and `)NP` closes the phrase. Click a bracket or a word to see what the
heads looked at when it was written: the words are tinted by it, with the weight below. The labels are those of the Penn
Treebank: S sentence, NP noun phrase, VP verb phrase, PP prepositional phrase.

The search keeps 21 hypotheses and admits only trees over these words (section 6.3 of the paper). That a head looked at
a word does not say that it chose the bracket for it.
"""
HOW_TO_READ_MAP = """
A row is a head, a column a word of the sentence (Cross) or a symbol of the tree that had been written before (Decoder).
Each row sums to 1.
"""
KINDS: dict[DecoderKind, str] = {"cross": "Cross", "decoder_self": "Decoder"}


def parsed(text: str) -> tuple[Model, Parse] | None:
    """The tree of the text; None, with the reason on the page, where there is none."""
    try:
        model, parser = parser_model.parser_for(readings.model())
    except ModelError as error:
        st.info(plain(str(error)))
        return None
    waiting = st.empty()
    progress = stoppable(waiting, (model.digest, text), "parsing", "Parsing")
    if progress is None:
        return None
    try:
        parse = parser_model.parses().get((model.digest, text), lambda: parser.parse(text, progress=progress))
    except ValueError as error:
        waiting.error(sentence_case(str(error)))
        return None
    waiting.empty()
    return model, parse


def constituent_table(parse: Parse) -> pd.DataFrame:
    """A row a bracket pair, with what the model thought of each half. Words are counted from 1."""
    found = constituents(parse.tree)
    return pd.DataFrame(
        {
            "label": [each.label for each in found],
            "depth": [each.depth for each in found],
            "first_word": [each.start + 1 for each in found],
            "last_word": [each.end for each in found],
            "text": [" ".join(parse.words[each.start : each.end]) for each in found],
            "opening_log_prob": [parse.token_log_probs[each.opened] for each in found],
            "closing_log_prob": [parse.token_log_probs[each.closed] for each in found],
        }
    )


def selected_node(parse: Parse, nodes: list[Node]) -> int:
    """The node that is looked at: the one clicked, at first that of the address, else the first below the root."""
    if NODE not in st.session_state and re.fullmatch("[0-9]{1,4}", asked := st.query_params.get(NODE, "")):
        st.session_state[NODE] = (parse.text, int(asked))
    text, node = st.session_state.get(NODE, (None, 0))
    first = min(1, len(nodes) - 1)
    node = node if text == parse.text and node < len(nodes) else first
    permalink.put(NODE, "" if node == first else str(node))
    return node


@st.fragment
def picture(model: Model, parse: Parse) -> None:
    """The tree and the heads; a click in here runs nothing else again."""
    nodes = tree_nodes(parse.tree)
    selected = selected_node(parse, nodes)
    node, words = nodes[selected], "1 word" if len(parse.words) == 1 else f"{len(parse.words)} words"
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        view: str = st.segmented_control(
            "View",
            ("Tree", "Table"),
            default="Tree",
            required=True,
            key="parsing_view",
            bind="query-params",
            label_visibility="collapsed",
        )
        st.markdown(
            f"**Tree**: {words}, log-probability {decimal(parse.log_prob, 2)}", help=HOW_TO_READ, width="content"
        )
        st.caption(f"Parsed by {plain(model.name)}, beam {BEAM_SIZE}, length penalty {LENGTH_PENALTY}", width="content")
    place = st.container()
    table = constituent_table(parse)
    explanation = readings.explanations().get(
        (model.digest, parse.text, parse.token_ids), lambda: model.translator.explain(parse.text, parse.token_ids)
    )
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium", key="bracket_options"):
        half = st.segmented_control(
            "When",
            ("Opened", "Closed"),
            default="Opened",
            required=True,
            key="bracket_half",
            bind="query-params",
            disabled=node.is_word,
        )
        kind: DecoderKind = st.segmented_control(
            "Looked at",
            tuple(KINDS),
            default="cross",
            required=True,
            format_func=KINDS.__getitem__,
            key="bracket_kind",
            bind="query-params",
        )
        layers, heads = len(explanation.maps["cross"]), explanation.maps["cross"][0].num_heads
        names = [MEAN, *(head_name(layer, head) for layer in range(layers) for head in range(heads))]
        head = st.selectbox("Tint of the words", names, key="bracket_head", bind="query-params", width=180)
    position = node.opened if half == "Opened" else node.closed
    cross = symbol_attention(explanation, parse.words, position, "cross")
    chosen = names.index(head) - 1
    weights = cross.weights.mean((0, 1)) if chosen < 0 else cross.weights.flatten(0, 1)[chosen]
    with place:
        if view == "Tree":
            tree_drawing(
                parse.tree,
                lambda clicked: st.session_state.__setitem__(NODE, (parse.text, clicked)),
                selected=selected,
                weights=weights.tolist(),
            )
        else:
            show_table(table)
        downloads(
            "tree",
            lambda file_format: export_tree(parse.tree, file_format, theme_named(st.context.theme.type)),
            lambda: table,
        )
        st.code(str(parse.tree), language=None, wrap_lines=True)
    written = f"the word {node.label}" if node.is_word else cross.symbol
    shown = cross if kind == "cross" else symbol_attention(explanation, parse.words, position, kind)
    st.markdown(
        f"**Heads** when `{written}` was written, at position {position + 1} of {len(parse.token_ids)}",
        help=HOW_TO_READ_MAP,
    )
    theme = theme_named(st.context.theme.type)
    figure = bracket_map(shown, theme)
    if view == "Tree":
        alt = "What each head looked at when the chosen bracket was written"
        st.plotly_chart(figure, theme=None, config=CHART_CONFIG, key="bracket_map", alt=alt)
    else:
        show_table(bracket_table(shown))
    downloads("bracket", lambda file_format: export_chart(figure, file_format, theme), lambda: bracket_table(shown))


reading = readings.reading()
if reading is None:
    st.caption("The tree appears here as soon as there is a sentence to parse.")
elif found := parsed(reading.search.text):
    picture(*found)
