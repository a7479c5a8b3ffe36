"""Figures: figures 3 to 5 of the paper, and the selection of the page Heads."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import streamlit as st

from core.analysis.heads.head import Head
from core.analysis.heads.mean_and_maximum import layer_map, with_combined
from core.analysis.heads.word_pair import PairHeads
from core.analysis.recorded_call import Call
from core.analysis.tokens.aggregation import mean_of_rows
from core.analysis.tokens.words import readable
from core.analysis.weight_tables import LinePanel, appendix_table
from core.capture import AttentionMap
from viz_app.components.sentence_bar import word_name
from viz_app.controls.downloads import downloads
from viz_app.controls.pair_answer import pair_answer
from viz_app.controls.tables import show_table
from viz_app.controls.toolbar import token_boxes
from viz_app.controls.widgets import page_theme, setting_menu, setting_segments
from viz_app.drawing import head_names
from viz_app.drawing.display_text import isolated, plain
from viz_app.language import joined, localized, marked, tr, tr_lower
from viz_app.session import address, chosen_heads, python_code, readings, word_selection
from viz_app.session.attributions import METHOD_NAMES
from viz_app.session.fields import part
from viz_app.session.model_passes import explanation
from viz_app.session.readings import Reading, TokenView
from viz_app.session.selected_pair import linking_heads, selected_pair
from viz_app.session.state import refusals_shown, session_object
from viz_app.views.paper.paper_figures import figure_heads
from viz_app.views.paper.paper_figures.appendix_figure import KEY, appendix_figure, appendix_payload
from viz_app.views.paper.paper_figures.figure_heads import FIGURES, Linking

SELECTION = marked("Selection on Heads")
ANSWERED = "Figure 4"  # opens with the pair of words that it is about in the sentence at hand
PICTURE = "Picture"
LARGEST = marked("Largest weight of each head: {weights}.")
LARGEST_MEAN = marked("Largest weight of each head, averaged over the selected words: {weights}.")
HOW_TO_READ = marked("""
As in the appendix of "Attention Is All You Need": the words above attend to the words below, a line is as opaque as its
weight, a colour is a head. If only the lines of some words are drawn, each word below also has a square for every head,
in the order of the names above.

Which head does what depends on chance in training, so another model's heads have other layers and numbers than the
paper's. At first, the layer is shown whose head has the most weight between the words of the figure, and of it the
heads with the largest weights on one other word; select any others. That a picture looks like the
paper's proves nothing by itself.
""")


@dataclass(frozen=True)
class Answer:
    """The heads that link two words of the encoder in the sentence at hand."""

    reading: Reading
    found: PairHeads

    @property
    def source(self) -> str:
        """The sentence."""
        return self.reading.translation.source

    @property
    def first(self) -> Head:
        """The head with the most weight."""
        return self.found.heads[0].head

    def row(self, tokens: TokenView) -> int:
        """Return the row of the word that attends, in a map of these tokens."""
        links = word_selection.links(self.reading.explain(), "encoder_self", tokens)
        return links["query"].index(word_name(self.found.pair.query))

    def heads(self, layer: int) -> list[int]:
        """Return the heads of a layer, most weight first."""
        return [head.head for head, _ in self.found.heads if head.layer == layer]


@dataclass
class ShownAnswer:
    """The words of the answer that the figure was last set to."""

    known: Hashable = None

    def is_new(self, answer: Answer) -> bool:
        """Note an answer, and say whether to show it: it is another one, and no address says what to show."""
        words = answer.reading.identity, answer.found.pair
        number = ANSWERED.removeprefix("Figure ")
        is_new = words != self.known and not address.PAPER_TEXTS[number].texts
        self.known = words
        return is_new


def own_answer() -> Answer | None:
    """Return the heads that link two words of the sentence at hand: the selected ones, or the pair of Figure 4."""
    reading = readings.reading()
    if reading is None:
        return None
    pair = selected_pair(reading)
    if pair is None or pair.kind != "encoder_self":
        pair = figure_heads.antecedent_pair(reading.explain())
    return None if pair is None else Answer(reading, linking_heads(reading, pair))


@part
def page() -> None:
    """Draw the page below the sentence, which matters for the selection of the page Heads, and for Figure 4."""
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        figure = setting_segments(
            address.FIGURE, tr("Figure"), {each: figure_name(each) for each in (*FIGURES, SELECTION)}, hide_label=True
        )
        view = setting_segments(address.PAPER_VIEW, tr("View"), hide_label=True)
        tokens = token_boxes()
    with refusals_shown():
        panels, name, maps, note = (*selection(tokens), "") if figure == SELECTION else paper_figure(figure, tokens)
    if not panels or maps is None:
        return
    table = appendix_table(panels)
    if view == PICTURE:
        drawn_name = tr("{figure}: lines between words", figure=figure_name(figure))
        appendix_figure(appendix_payload(panels, page_theme(), drawn_name))
        if text := largest_weights(panels):
            st.caption(tr(LARGEST_MEAN if len(panels[0].queries) > 1 else LARGEST, weights=plain(text)))
    else:
        show_table(table, height=480)
    downloads(
        name,
        KEY if view == PICTURE else None,
        lambda: panels_call(panels, maps),
        title=figure_title(figure, panels),
        of_sentence=figure == SELECTION,
    )
    if figure != SELECTION:
        text = tr("**{name}**: {text}.", name=figure_name(figure), text=tr(FIGURES[figure].about))
        st.markdown(text, help=tr(HOW_TO_READ))
        if note:
            st.caption(note)


def layer_note(linking: Linking | None, attention: AttentionMap, query: int | None, layers: int) -> str:
    """Name the head with the most weight between the words of a figure, and the paper's layer beside it."""
    paper = {"paper_layer": figure_heads.LAYER, "paper_layers": figure_heads.PAPER_LAYERS, "layers": layers}
    nearest = figure_heads.nearest_layer(layers)
    if linking is None or query is None or not linking.keys:
        if layers == figure_heads.PAPER_LAYERS:
            return ""
        return tr(
            "The paper shows layer {paper_layer} of {paper_layers}; of the {layers} layers of this encoder the "
            "nearest is {layer}.",
            **paper,
            layer=nearest + 1,
        )
    best, of_paper = linking.best(), linking.best(nearest)
    return tr(
        "From {word} to {keys}, {head} has the most weight of all layers: {weight:.2f}. The paper shows layer "
        "{paper_layer} of {paper_layers}; in layer {layer} of {layers} here, {other} has the most: {second:.2f}.",
        **paper,
        word=f"*{plain(readable(attention.query_tokens[query]))}*",
        keys=joined([f"*{plain(readable(attention.key_tokens[key]))}*" for key in linking.keys]),
        head=head_names.name_of(best.layer, best.head),
        weight=linking.of(best),
        layer=nearest + 1,
        other=head_names.name_of(of_paper.layer, of_paper.head),
        second=linking.of(of_paper),
    )


def figure_name(figure: str) -> str:
    """Return the name of a figure, or of the selection, in the visitor's language."""
    return tr(SELECTION) if figure == SELECTION else tr("Figure {number}", number=figure.removeprefix("Figure "))


def figure_title(figure: str, panels: Sequence[LinePanel]) -> str:
    """Name a figure and its heads for the caption of a slide, and the sentence if the figure is one of the paper's."""
    heads = dict.fromkeys(head_names.name_of(each.attention.layer, head) for each in panels for head in each.heads)
    if figure == SELECTION:
        kind = tr(head_names.KIND_NAMES[panels[0].attention.kind])
        return tr("{kind} attention, {heads}", kind=kind, heads=joined(map(tr, heads)))
    return tr(
        "{figure}, encoder attention, {heads}: \u201c{words}\u201d ({model})",
        figure=figure_name(figure),
        heads=joined(heads),
        words=" ".join(map(readable, panels[0].attention.query_tokens)),
        model=readings.model().name,
    )


def panels_call(panels: Sequence[LinePanel], maps: Call) -> Call:
    """Return the call of the table of some panels, each of one of the maps."""
    drawn = [
        Call("panel", LinePanel, (Call("attention", layer_map, (maps, each.attention.layer)), each.heads, each.queries))
        for each in panels
    ]
    return Call("table", appendix_table, (drawn,))


def paper_figure(figure: str, tokens: TokenView) -> tuple[list[LinePanel], str, Call | None, str]:
    """Select sentence, layer, word and heads of one of the paper's figures.

    Return its drawings, a file name, the call of its maps, and a note on the layer.
    """
    about, model = FIGURES[figure], readings.model()
    number = figure.removeprefix("Figure ")
    answer = own_answer() if figure == ANSWERED else None
    is_new = answer is not None and session_object(ShownAnswer).is_new(answer)
    if answer is not None and is_new:
        address.PAPER_TEXTS[number].set(answer.source)
        address.PAPER_LAYER.set(head_names.layer_name(answer.first.layer, 0))
    sentence = address.PAPER_TEXTS[number].draw(st.text_input, tr("Sentence of the figure"), default=about.sentence)
    if answer is not None and sentence == answer.source:
        pair_answer(answer.reading, answer.found)
    else:
        answer = None
    maps = explanation(model, sentence or "", "").maps["encoder_self"]  # without a translation: figures need none
    shown = [tokens.apply(each) for each in maps]
    row = None if answer is None else answer.row(tokens)
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        place, of_layer = st.container(width="content"), st.container(width="content")
        layers = [head_names.layer_name(layer, 0) for layer in range(len(maps))]
        with of_layer:
            query = word_box(shown[0], about.word, number, row if is_new else None) if about.word else None
        found = None if query is None else figure_heads.linking(about, shown, query)
        nearest = figure_heads.nearest_layer(len(maps)) if found is None else found.best().layer
        if answer is None:
            address.PAPER_LAYER.preset_for((figure, sentence, query, model.digest), lambda: layers[nearest])
        with place:
            layer = layers.index(setting_menu(address.PAPER_LAYER, tr("Encoder layer"), layers, width=130))
        attention = shown[layer]
        linking = () if answer is None or query != row else answer.heads(layer)
        heads = heads_box(attention, query, about.num_heads, number, (sentence, layer, query, model.digest), linking)
    if not heads:
        st.caption(tr("Select a head to draw its lines."))
        return [], "", None, ""
    recorded = python_code.RecordedPass(model, sentence or "", "").maps("encoder_self", tokens)
    drawn = figure_heads.panels(figure, attention, heads, query)
    return drawn, f"figure{number}-layer{layer}", recorded, layer_note(found, attention, query, len(maps))


def word_box(attention: AttentionMap, default: str, number: str, row: int | None = None) -> int:
    """Select the word whose lines are drawn, as a position; at first the paper's word, if the sentence has it.

    A `row` is selected now.
    """
    texts = [readable(token) for token in attention.query_tokens]
    names = [text if text not in texts[:place] else f"{text} ({place + 1})" for place, text in enumerate(texts)]
    first, setting = default if default in names else names[0], address.PAPER_WORDS[number]
    if row is not None:
        setting.set(names[row])
    return names.index(setting_menu(setting, tr("Lines from"), names, first, width=170))


def heads_box(
    attention: AttentionMap,
    query: int | None,
    count: int | None,
    number: str,
    about: Hashable,
    linking: Sequence[int] = (),
) -> list[int]:
    """Select heads, counted from 0; at first, and whenever `about` changes, those `linking` two words, best first, or
    else the sharpest ones.
    """
    names = [head_names.name_of(attention.layer, head) for head in range(attention.num_heads)]
    widget = address.PAPER_HEADS[number]

    def default() -> list[str]:
        heads = sorted(linking[:count]) if linking else figure_heads.sharpest_heads(attention, query, count)
        return [names[head] for head in heads]

    widget.preset_for((about, tuple(linking[:count])), default)
    selected = widget.draw(st.multiselect, tr("Heads"), names, select_all=False, placeholder=tr("Select"))
    return [names.index(name) for name in selected]


def selection(tokens: TokenView) -> tuple[list[LinePanel], str, Call | None]:
    """Draw the selection of the page Heads, layer by layer; if words are selected, only their lines.

    Returns as `paper_figure`, but for the note.
    """
    reading = readings.reading()
    if reading is None:
        st.caption(tr("The selection of the page Heads is drawn here once a sentence is translated."))
        return [], "", None
    chosen_heads.restore_selection(reading)
    kind, weights, heads = chosen_heads.shown_heads(reading)
    chosen_heads.write_selection(kind, weights, heads)
    method, explanation = weights.method, reading.explain()
    names = [weights.name(*head) for head in heads]
    values = {"kind": tr(head_names.KIND_NAMES[kind]), "heads": joined(map(tr, names))}
    if method == "attention":
        text = tr("**{kind} attention**, {heads}: as selected on the page Heads.", **values)
    else:
        text = tr(
            "**{kind} attention**, {heads}, {method}: as selected on the page Heads.",
            method=plain(tr_lower(METHOD_NAMES[method]) + weights.output_note(explanation)),
            **values,
        )
    st.markdown(text, help=tr(HOW_TO_READ))
    maps = with_combined(reading.maps(kind, tokens, method, weights.output), heads)
    links = word_selection.links(explanation, kind, tokens)
    rows = word_selection.highlighted(word_selection.selected_names(reading), links)["query"]
    panels = [
        LinePanel(attention, tuple(head for layer, head in heads if layer == attention.layer), tuple(rows))
        for attention in sorted(maps, key=lambda attention: attention.layer)
        if any(layer == attention.layer for layer, _ in heads)
    ]
    recorded = python_code.recorded_pass(reading).maps(kind, tokens, method, weights.output)
    if any(layer < 0 for layer, _ in heads):
        recorded = Call("combined", with_combined, (recorded, list(heads)))
    return panels, "-".join([kind, *names]).lower().replace(" ", "-"), recorded


def largest_weights(panels: Sequence[LinePanel]) -> str:
    """Describe the largest weight of each head, for the word whose lines are drawn."""
    return tr("{first}; {rest}", first="", rest="").join(
        f"{tr(head_names.name_of(panel.attention.layer, head))}: "
        f"{isolated(readable(panel.attention.key_tokens[place]))} {localized(float(weights[place]), '.2f')}"
        for panel in panels
        if panel.queries
        for head in panel.heads
        for weights in (mean_of_rows(panel.attention, panel.queries)[head],)
        for place in (int(weights.nan_to_num().argmax()),)
    )


page()
