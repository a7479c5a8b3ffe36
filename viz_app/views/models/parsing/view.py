"""Parsing: the sentence as a constituency tree, and the attention at each bracket."""

from collections.abc import Sequence
from functools import partial

import streamlit as st

from core.analysis.heads.bracket_attention import DecoderKind, SymbolAttention, symbol_attention
from core.analysis.heads.head import Head
from core.analysis.recorded_call import Call
from core.capture import AttentionMap
from core.parsing.parser import BEAM_SIZE, LENGTH_PENALTY, Parse, Parser
from viz_app.components.attention_map import attention_map
from viz_app.controls.downloads import downloads
from viz_app.controls.score_products import MapCells
from viz_app.controls.search_progress import stoppable_result
from viz_app.controls.tables import show_table
from viz_app.controls.widgets import page_theme, setting_menu, setting_segments, show_answer, text_button
from viz_app.drawing.display_text import plain
from viz_app.drawing.theme import head_name
from viz_app.language import marked, tr, tr_values
from viz_app.session import address, model_passes, readings
from viz_app.session.fields import part
from viz_app.session.language_codes import codes_of, with_code
from viz_app.session.map_pass import text_pass
from viz_app.session.models import Model, ModelError, not_installed
from viz_app.session.open_models import OpenModels
from viz_app.session.python_code import translator
from viz_app.session.state import session_object
from viz_app.views.models.parsing import parser_model
from viz_app.views.models.parsing.constituency_tree import tree_drawing
from viz_app.views.models.parsing.figures import TreeNode, bracket_map, tree_nodes

NODE = address.NODE  # the selected node
MEAN = marked("Mean of all")
HOW_TO_READ = marked("""
The model reads the words and writes the tree from left to right: `(NP` opens a noun phrase, `/NN` is the tag of a
word, here a noun, and `)NP` closes the phrase. The search puts each word before the brackets in front of it, so that
the model need not count words; one trained without words writes `XX` or `XX/NN` for the next word. Click a bracket or
a word to see what the heads attended to when it was written: the words are tinted by the weights below them. The
labels are those of the Penn Treebank: S sentence, NP noun phrase, VP verb phrase, PP prepositional phrase.

The search keeps 21 hypotheses and allows only trees over these words (section 6.3 of the paper). That a head attended
to a word does not mean that the bracket was chosen because of it.
""")
HOW_TO_READ_MAP = marked("""
A row is a head, a column a word of the sentence (Cross) or a symbol of the tree written before (Decoder).
Each row sums to 1.
""")
KINDS: dict[DecoderKind, str] = {"cross": marked("Cross"), "decoder_self": marked("Decoder")}
TREE, OPENED = "Tree", "Opened"


def parsed(text: str) -> tuple[Model, Parse] | None:
    """Parse the text; None, with the reason on the page, if there is no tree."""
    current = readings.model()
    try:
        model, parser = parser_model.parser_for(current)
    except ModelError as error:
        st.info(not_installed(parser_model.SHIPPED, plain(str(error))))
        return None
    if model.digest != current.digest:
        substitute(current, model)
        text = with_code(text, (), codes_of(current))
    search = partial(model_passes.parse, model, text, parser)
    parse = stoppable_result(st.empty(), (model.digest, text), "parsing", search, marked("Parsing"))
    return None if parse is None else (model, parse)


def substitute(current: Model, parser: Model) -> None:
    """Say that the current model writes no trees, and which parser is used instead."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        text = tr(
            "{model} translates, it writes no trees: {parser} does here.",
            model=plain(current.name),
            parser=plain(parser.name),
        )
        st.caption(text, width="content")
        text_button(tr("Use it on all pages"), session_object(OpenModels).add, parser, key="use_parser")


def selected_node(parse: Parse, nodes: list[TreeNode]) -> int:
    """Return the selected node: the one clicked in this tree, or in the address, or else the first below the root."""
    first = min(1, len(nodes) - 1)
    NODE.preset_for(parse.text, lambda: first)
    return NODE.selected(first, range(len(nodes)).__contains__) or 0


@part
def picture(model: Model, parse: Parse) -> None:
    """Draw the tree and the heads; a click in it runs only this part again."""
    nodes = tree_nodes(parse.tree)
    selected = selected_node(parse, nodes)
    node = nodes[selected]
    text = tr(
        "Parsed by {model}, beam {beam}, length penalty {penalty}",
        model=model.name,
        beam=BEAM_SIZE,
        penalty=LENGTH_PENALTY,
    )
    show_answer(parse.answer(), tr(HOW_TO_READ), text)
    view = setting_segments(address.PARSING_VIEW, tr("View"), hide_label=True)
    place = st.container()
    explanation = model_passes.explanation(model, parse.text, parse.token_ids)
    half, kind, head = bracket_boxes(node, explanation.maps["cross"])
    position = parse.positions[node.opened if half == OPENED else node.closed]
    cross = symbol_attention(explanation, parse.words, position, "cross")
    with place:
        if view == TREE:
            weights = cross.weights.mean((0, 1)) if head is None else cross.weights.flatten(0, 1)[head]
            tree_drawing(parse.tree, NODE.set, selected=selected, weights=weights.tolist())
        else:
            show_table(parse.table())
        tree_files(model, parse, view == TREE)
    written = tr("the word {word}", word=node.label) if node.is_word else cross.symbol
    shown = cross if kind == "cross" else symbol_attention(explanation, parse.words, position, kind)
    text = tr(
        "**Heads** when `{written}` was written, at position {position} of {count}",
        written=written,
        position=position + 1,
        count=len(parse.token_ids),
    )
    st.markdown(text, help=tr(HOW_TO_READ_MAP))
    if view == TREE:
        heads_map(model, parse, position, shown)
    else:
        show_table(shown.table())
    heads_files(model, parse, position, shown, written, view == TREE)


def bracket_boxes(node: TreeNode, cross: Sequence[AttentionMap]) -> tuple[str, DecoderKind, int | None]:
    """Select the bracket of a node, the attention shown by the map, and the head that tints the words of the tree.

    Returns:
        "Opened" or "Closed", the kind, and the head, from the first of the first layer on; None for the mean of all.
    """
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium", key="bracket_options"):
        half = setting_segments(address.BRACKET_HALF, tr("Bracket"), disabled=node.is_word)
        kind = setting_segments(address.BRACKET_KIND, tr("Attention"), tr_values(KINDS))
        names = [MEAN, *(head_name(each.layer, head) for each in cross for head in range(each.num_heads))]
        name = setting_menu(address.BRACKET_HEAD, tr("Head that tints the words"), names, width=180)
    return half, kind, names.index(name) - 1 if name != MEAN else None


def tree_files(model: Model, parse: Parse, is_drawn: bool) -> None:
    """Offer the tree as files."""
    title = tr("Tree of \u201c{text}\u201d by {model}", text=parse.text, model=model.name)
    table = parse_call(model, parse).then("table")
    downloads("tree", "tree" if is_drawn else None, table, title=title, of_sentence=False)
    st.code(str(parse.tree), language=None, wrap_lines=True)


def heads_map(model: Model, parse: Parse, position: int, shown: SymbolAttention) -> None:
    """Draw the attention of all heads at one position and, below, the products behind the cell that was clicked."""
    of, name = text_pass(model, parse.text, parse.token_ids), tr("All heads")
    cells = MapCells("bracket_map", of, partial(bracket_cell, shown, position))
    attention_map(bracket_map(shown), 0, page_theme(), key=cells.key, on_cell=cells.click, name=lambda *_: name)
    cells.show(lambda cell: (cell.head.kind, cell.query) == (shown.kind, position))


def heads_files(
    model: Model, parse: Parse, position: int, shown: SymbolAttention, written: str, is_drawn: bool
) -> None:
    """Offer the attention of all heads when a symbol was written as files."""
    title = tr(
        "{kind} attention when {written} was written: \u201c{text}\u201d, by {model}",
        kind=tr(KINDS[shown.kind]),
        written=written,
        text=parse.text,
        model=model.name,
    )
    table = symbol_call(model, parse, position, shown).then("table")
    downloads("bracket", "bracket_map" if is_drawn else None, table, title=title, of_sentence=False)


def bracket_cell(shown: SymbolAttention, position: int, row: int, column: int) -> tuple[Head, range, range]:
    """Return the head, and the positions of query and keys, of a map's cell."""
    layer, head = divmod(row, shown.weights.size(1))
    return Head(shown.kind, layer, head), range(position, position + 1), shown.positions[column]


def parse_call(model: Model, parse: Parse) -> Call:
    """Return the call that parses the words."""
    return Call("parse", "parse", (Call("parser", Parser, (translator(model),)), list(parse.words))).returning(parse)


def symbol_call(model: Model, parse: Parse, position: int, shown: SymbolAttention) -> Call:
    """Return the call that computes the attention when a symbol was written."""
    parsed = parse_call(model, parse)
    text, token_ids, words = (Call(name, f".{name}", (parsed,)) for name in ("text", "token_ids", "words"))
    explanation = Call("explanation", "explain", (translator(model), text, token_ids))
    return Call("attention", symbol_attention, (explanation, words, position, shown.kind)).returning(shown)


reading = readings.reading()
if reading is not None and (found := parsed(reading.search.text)):
    picture(*found)
