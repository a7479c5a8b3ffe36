"""Step by step: one token through the model, with this sentence's own numbers."""

import streamlit as st

from core.analysis.beam_tree import BeamTree
from core.analysis.recorded_call import Call
from core.analysis.token_path.steps import Stack, TokenPath
from core.analysis.token_path.token_walk import follow_token
from core.analysis.tokens.words import readable
from core.analysis.word_scores.least_probable import least_probable_source_token, least_probable_token
from core.drawing.drawing_data import FED_ARROW
from core.trace import STACK_NAMES
from viz_app.controls.check_badge import check_badge
from viz_app.controls.downloads import downloads
from viz_app.controls.widgets import setting_menu, setting_segments
from viz_app.drawing.display_text import isolated, plain
from viz_app.language import marked, tr, tr_values
from viz_app.session import python_code, readings
from viz_app.session.chosen_heads import shown_heads
from viz_app.session.fields import Field
from viz_app.session.readings import Reading, reading_part
from viz_app.session.state import session_object
from viz_app.session.step_place import HEAD, LAYER, STACK, TOKEN, StepPlace, token_names
from viz_app.views.steps.figures.step_views import step_named
from viz_app.views.steps.step_walk import step_walk
from viz_app.views.steps.token_path.figures.step_list import step_list

HOW_TO_READ = marked("""
Each step has the paper's formula, and the numbers that this model computes for this sentence. Go on with the arrow keys
or the list; Home and End lead to the first and the last step.

A vector is a row of **cells**: blue below 0, orange above, on the scale beside its title; or **bars**, where single
products matter. Point at one to read its number; "Numbers" shows all as a table. In the decoder, a row is **fed** one
token and **predicts** the next.

The numbers say exactly what was computed, **not what it means**: a dimension has no meaning of its own, a large score
does not say that the word mattered, and one head is one of many. For what matters, see What heads write, Layer by
layer, and Cut on the page Heads.
""")
ABOUT_BADGE = marked(
    "Every number here is computed by the paper's formulas in float64. The model's own pass, in float32, must give "
    "the same to rounding, relative to the largest number of each vector."
)
ABOUT_STACK = marked("""
The encoder reads the source, the decoder writes the translation: a row of the decoder is fed one token and predicts the
next. A click on a word above follows it: a word of the source through the encoder, a word of the translation through
the decoder that predicts it.
""")


@reading_part
def page(reading: Reading) -> None:
    """Draw everything below the sentence; a click in it runs only this part again."""
    place = session_object(StepPlace)
    place.restore()
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        recorded = path_call(reading, *place_boxes(reading))
        path: TokenPath = recorded.known
    about = about_text(path)
    st.markdown(tr("**Step by step**: {token}", token=plain(isolated(about))), help=tr(HOW_TO_READ))
    piece, target = reading.model.translator.tokenizer.target.piece, reading.hypothesis.token_ids
    views = step_list(path, piece, search_tree(reading), target)
    view = step_named(views, place.step)
    place.write(view is views[0])
    step_walk(views, tr("Steps of one token"), about, place)
    check_badge(
        tr("numbers equal the model's"),
        True,  # others are refused
        tr(ABOUT_BADGE),
        tr("{count} vectors compared, largest difference {gap:.1g}", count=len(path.differences), gap=path.gap),
    )
    title = f"{view.title}, {about}"
    table = recorded.then("table", view.part, view.quantities)
    downloads(f"step-{view.name}", "step_walk", table, title=title)


@python_code.with_result(max_entries=24)
def path_call(about: Reading, stack: Stack, position: int, layer: int, head: int) -> Call:
    """Return the call that follows one token in one layer."""
    return Call("path", follow_token, (*python_code.sentence(about), stack, position, layer, head))


def search_tree(about: Reading) -> BeamTree | None:
    """Return the search for the translation; None for a model whose search is of another kind."""
    if about.model.parser:
        return None
    return python_code.beam_search(about.model, about.search, about.prefix, about.constraints).known


def place_boxes(about: Reading) -> tuple[Stack, int, int, int]:
    """Select stack, token, layer and head; the last three are counted from 0."""
    position = _presets(about)
    stack: Stack = setting_segments(STACK, tr("Stack"), tr_values(STACK_NAMES), help=tr(ABOUT_STACK))
    config = about.model.translator.model.config
    layers, heads = config.num_decoder_layers, config.decoder_heads.num_heads
    if stack == "encoder":
        layers, heads = config.num_encoder_layers, config.encoder_heads.num_heads
    names = token_names(about.explain(), stack)
    first = least_probable_source_token if stack == "encoder" else least_probable_token
    TOKEN.preset_for((about.identity, stack), lambda: names[first(about.explain())])
    if position is not None:
        TOKEN.set(names[position])
    return (
        stack,
        _box(tr("Token"), TOKEN, names, 230),
        _box(tr("Layer"), LAYER, [f"L{layer + 1}" for layer in range(layers)], 90),
        _box(tr("Head"), HEAD, [f"H{head + 1}" for head in range(heads)], 90),
    )


def about_text(path: TokenPath) -> str:
    """Name the followed token, in a line."""
    token, layer, head = readable(path.tokens[path.position]), path.layer + 1, path.head + 1
    if path.stack == "encoder":
        return tr("Encoder: {token}, layer {layer}, head {head}", token=token, layer=layer, head=head)
    return tr(
        "Decoder: fed {token} {arrow} predicts {predicted}, layer {layer}, head {head}",
        token=token,
        arrow=FED_ARROW,
        predicted=readable(path.explanation.predicted_tokens[path.position]),
        layer=layer,
        head=head,
    )


def _presets(about: Reading) -> int | None:
    """Set the widgets before they are drawn, at first to the head that the page Heads shows.

    Returns:
        Position of the token that another page leads to, or that was selected last; None if nothing is new.
    """
    kind, _, heads = shown_heads(about)
    layer, head = next((place for place in heads if place[0] >= 0), (0, 0))
    if STACK.requested is None and kind == "encoder_self":
        STACK.set("encoder")
    LAYER.preset_for(about.model.digest, lambda: f"L{layer + 1}")
    HEAD.preset_for(about.model.digest, lambda: f"H{head + 1}")
    place, words = session_object(StepPlace), readings.selected_words(about)
    is_restored = place.words is None and TOKEN.requested is not None  # a link may have another token than word
    is_new, place.words = words and words != place.words and not is_restored, words
    if start := place.take_start():
        STACK.set(start.stack)
        LAYER.set(f"L{start.layer + 1}")
        HEAD.set(f"H{start.head + 1}")
        return start.position
    if not is_new:
        return None
    side, tokens = words[-1]
    STACK.set("encoder" if side == "source" else "decoder")
    return tokens.start


def _box(label: str, widget: Field[str], names: list[str], width: int) -> int:
    return names.index(setting_menu(widget, label, names, width=width))


page()
