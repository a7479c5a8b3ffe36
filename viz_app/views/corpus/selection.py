"""Selection of a head, a neuron and ranges of scores on the page Corpus, and examples opened on the page Heads."""

import math
import re
from collections.abc import Callable, Sequence

import streamlit as st

from core.analysis.corpus.head_scores import Range
from core.analysis.corpus.index import CorpusIndex, HeadExample, IndexedSentence, NeuronExample
from core.analysis.corpus.recording import Neuron
from core.analysis.corpus.shown_examples import ShownExample, sides
from core.analysis.tokens.words import word_groups
from core.trace import STACKS, Head, Stack
from viz_app.components.sentence_bar import Side, WordSelection
from viz_app.controls.check_badge import check_badge
from viz_app.controls.widgets import way_to
from viz_app.language import marked, tr
from viz_app.session import address, chosen_heads, readings
from viz_app.session.models import Model
from viz_app.session.state import lead_to
from viz_app.views.corpus.corpus_examples import ShownMap, corpus_examples
from viz_app.views.corpus.figures.corpus import AXIS_NAMES

HEAD, NEURON, RANGE = address.CORPUS_HEAD, address.CORPUS_NEURON, address.CORPUS_RANGE
TOLERANCE = 1e-3  # of the value of an example, as a share of it


def selected_head(index: CorpusIndex) -> Head | None:
    """Return the selected head, and write it to the address; None before a click, or if the model has no such head."""
    head = HEAD.selected()
    return head if head in index.rows else None


def selected_neuron(index: CorpusIndex) -> Neuron | None:
    """Return the selected neuron, likewise."""
    neuron = parsed_neuron(NEURON.selected() or "")
    return neuron if neuron is not None and index.has_neuron(neuron) else None


def selected_ranges() -> dict[str, Range]:
    """Return the selected ranges of axes of the parallel coordinates, and write them to the address."""
    return dict(filter(None, map(parsed_range, RANGE.selected() or ())))


def set_range(key: str, chosen: Range | None) -> None:
    """Select a range of an axis; None: the whole axis."""
    ranges = selected_ranges() | ({key: chosen} if chosen else {})
    RANGE.set([f"{name}_{low:.4g}_{high:.4g}" for name, (low, high) in ranges.items() if chosen or name != key])


def parsed_neuron(name: str) -> Neuron | None:
    """Parse a neuron such as `encoder L3 N512`; None for other text."""
    parts = re.fullmatch(r"(encoder|decoder) L([1-9]\d{0,2}) N([1-9]\d{0,6})", name)
    if parts is None:
        return None
    stack: Stack = STACKS[0] if parts[1] == STACKS[0] else STACKS[1]
    return Neuron(stack, int(parts[2]) - 1, int(parts[3]) - 1)


def parsed_range(text: str) -> tuple[str, Range] | None:
    """Parse a range such as `previous_0.5_1`; None for other text."""
    key, *ends = text.split("_")
    try:
        low, high = map(float, ends)
    except ValueError:
        return None
    return (key, (low, high)) if key in AXIS_NAMES and math.isfinite(low) and math.isfinite(high) else None


def open_head(model: Model, head: Head, example: HeadExample) -> None:
    """Show an example's sentence on all pages, with this head and its words selected; call it in a callback."""
    _open(model, example.sentence, example_words(model, head, example.sentence, example.query, example.key))
    chosen_heads.select_head(head)
    chosen_heads.keep_heads(chosen_heads.heads_widget(head.kind))


def open_neuron(model: Model, neuron: Neuron, example: NeuronExample) -> None:
    """Show an example's sentence on all pages, with its word selected; call it in a callback."""
    _open(model, example.sentence, neuron_words(model, neuron, example))


def example_words(model: Model, head: Head, sentence: IndexedSentence, query: int, key: int) -> list[WordSelection]:
    """Return the words of a query and a key.

    Row t of the decoder predicts token t; the key at t in its self-attention is token t - 1 of the translation.
    """
    if head.kind == "encoder_self":
        return _words(model, sentence, ("source", query), ("source", key))
    if head.kind == "decoder_self":
        return _words(model, sentence, ("target", query), ("target", key - 1))
    return _words(model, sentence, ("target", query), ("source", key))


def neuron_words(model: Model, neuron: Neuron, example: NeuronExample) -> list[WordSelection]:
    """Return the word of a neuron's token; none for `<s>`."""
    if neuron.stack == "encoder":
        return _words(model, example.sentence, ("source", example.position))
    return _words(model, example.sentence, ("target", example.position - 1))


def _words(model: Model, sentence: IndexedSentence, *places: tuple[Side, int]) -> list[WordSelection]:
    """The words of tokens, each once, in order; a token before the first has none."""
    source, _, predicted = sides(model.translator, sentence)
    groups = {"source": word_groups(source), "target": word_groups(predicted)}
    words: list[WordSelection] = [
        (side, group) for side, position in places for group in groups[side] if position in group
    ]
    return list(dict.fromkeys(words))


def _open(model: Model, sentence: IndexedSentence, words: list[WordSelection]) -> None:
    target = (*sentence.target, model.translator.model.config.eos_id)
    search = readings.Search(sentence.source, num_hypotheses=1)
    readings.show_target(model, search, target, words)
    lead_to("heads")


def examples(
    shown: Sequence[ShownExample], on_click: Callable[[int], None], key: str, maps: Sequence[ShownMap] = ()
) -> None:
    """Draw examples; a click on one opens it on the page Heads."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.caption(tr("Click an example to see its sentence and these words on the page"), width="content")
        way_to("heads", tr("Heads"))
    corpus_examples(shown, tr("See it on Heads"), on_click, key=key, maps=maps)


def agreement_badge(indexed: float, again: float, about: str) -> None:
    """Draw the badge: the value of an example in the index, and as the model computes it again."""
    text = tr(
        "{indexed:.5f} in the index, {again:.5f} now, gap {gap:.1g}",
        indexed=indexed,
        again=again,
        gap=abs(again - indexed),
    )
    check_badge(marked("index agrees with the model"), abs(again - indexed) <= TOLERANCE * indexed, about, text)
