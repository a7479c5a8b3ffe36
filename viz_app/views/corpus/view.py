"""Corpus: the strongest examples of every head and neuron over many sentences."""

from functools import partial
from pathlib import Path

import streamlit as st

from core.analysis.corpus.behaviours import BEHAVIOURS
from core.analysis.corpus.head_scores import PAIR
from core.analysis.corpus.index import CORPUS_COMMAND
from core.analysis.corpus.index_file import index_beside, index_bytes
from core.analysis.heads.word_pair import PairHeads
from core.capture import KINDS, Kind
from core.files.console import command_line
from viz_app.controls.job_control import job_control
from viz_app.controls.lines_form import PASTED
from viz_app.controls.pair_answer import pair_answer
from viz_app.controls.widgets import setting_menu, setting_segments
from viz_app.drawing.display_text import plain, sentence_case
from viz_app.drawing.head_names import KIND_NAMES
from viz_app.language import capital, joined, marked, tr
from viz_app.session import address, readings, selected_pair
from viz_app.session.fields import part
from viz_app.session.models import Model
from viz_app.session.python_code import shown_path
from viz_app.session.state import refusals_shown, session_object
from viz_app.views.corpus import opened_index, selection
from viz_app.views.corpus.figures.corpus import MEASURE_NAMES
from viz_app.views.corpus.heads_part import HeadSearch, ScatterSearch, heads_part, scatter_part
from viz_app.views.corpus.neurons_part import NeuronSearch, neurons_part
from viz_app.views.corpus.neurons_part import boxes as neuron_boxes
from viz_app.views.corpus.opened_index import OpenedIndex, OwnIndex

HOW_TO_READ = marked("""
One pass over a corpus keeps, for every **head**, the sentences in which it writes most, anywhere and at each kind of
place, and for every **neuron** of the feed-forward networks those in which its activation is highest. Heads are found
by what they do on average over the corpus. What a head does in all sentences is there, too: its weights, its distances,
the tokens from which and to which it attends, and examples from the weakest to the strongest.

Click an example to see its sentence, this head and these words on the page Heads.

Examples show what a head or neuron responds to most in these sentences. They do not show what the model would do
without it (see Switches and Patching), and a corpus of other sentences has other examples.
""")
ABOUT_FORM = marked("""
Sentences, one per line; after a tab their translations, if they are not to be the model's own, by greedy search. A few
hundred take a minute or two, and the result grows while you read it. For thousands, use the command.
""")
ORIGINS = {
    "given": marked("{corpus}; with given translations by {model}."),
    "1": marked("{corpus}; translated greedily by {model}."),
}
SEARCHED = marked("{corpus}; translated with beam size {size} by {model}.")
ACROSS, UP = marked("Across"), marked("Up")
EVERY_KIND, EVERY_LAYER = "all", marked("All")
BEHAVIOUR = address.BEHAVIOUR


def page() -> None:
    """Draw the page."""
    model, own = readings.model(), session_object(OwnIndex)
    is_missing = opened_index.is_missing(own.of(model))  # before the address is written
    opened, problem = opened_index.opened_index(model)
    job = own.unfinished_job(model)
    if opened is None and job is None:
        st.markdown(tr("**Strongest examples** of every head and neuron over a corpus"), help=tr(HOW_TO_READ))
    if opened is not None and opened.path is None and job is None:
        save_button(model, opened)
    if problem:
        st.warning(sentence_case(problem))
    if is_missing:
        st.caption(
            tr("This link was made with its author's own index, which it does not include: build or open it below.")
        )
    about, linking = readings.reading(), linking_heads()
    if about is not None and linking is not None:
        pair_answer(about, linking)
    if opened is not None or job is not None:
        search = toolbar(model)
        if job is not None:
            job_control(job, "corpus_job", below=partial(shown, model, search))
        else:
            shown(model, search)
    if opened is not None:
        st.caption(origin_text(opened), help=tr(HOW_TO_READ))
    form(model, is_open=opened is None and job is None)


def origin_text(opened: OpenedIndex) -> str:
    """Say where the indexed sentences are from, and which model translated them."""
    facts = opened.index.facts
    origin = plain(joined(filter(None, (tr(facts.corpus), facts.attribution, facts.licence))))
    text = tr(ORIGINS.get(facts.translations, SEARCHED))
    read = tr(
        "{sentences:,} sentences, {tokens:,} predicted tokens", sentences=facts.num_sentences, tokens=facts.num_tokens
    )
    return f"{read}: {text.format(corpus=origin, size=plain(facts.translations), model=plain(facts.checkpoint))}"


def save_button(model: Model, opened: OpenedIndex) -> None:
    """Offer the visitor's own index as a file."""
    st.download_button(
        tr("Save this index"),
        partial(index_bytes, opened.index),
        index_beside(Path(model.name)).name,
        on_click="ignore",
        key="corpus_save",
        icon=":material/download:",
        help=tr("Open it again below, in any session. The app opens it by itself if it is beside the checkpoint."),
    )


Search = HeadSearch | ScatterSearch | NeuronSearch


def toolbar(model: Model) -> Search:
    """Select heads by a behaviour, two measures of all heads, or neurons of a layer."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        view = setting_segments(address.CORPUS_VIEW, tr("Show"), hide_label=True)
        boxes = head_boxes, scatter_boxes, neuron_boxes
        return boxes[address.CORPUS_VIEW.codec.values.index(view)](model)


def head_boxes(model: Model) -> HeadSearch:
    """Select a behaviour, a kind of attention and a layer."""
    names = {name: capital(tr(behaviour.name)) for name, behaviour in BEHAVIOURS.items()}
    return HeadSearch(setting_menu(BEHAVIOUR, tr("Behaviour"), names, width=282), *kind_and_layer(model))


def scatter_boxes(model: Model) -> ScatterSearch:
    """Select two measures, a kind of attention and a layer."""
    has_pair = linking_heads() is not None
    names = {measure: capital(tr(name)) for measure, name in MEASURE_NAMES.items() if measure != PAIR or has_pair}
    axes = (address.CORPUS_X, ACROSS), (address.CORPUS_Y, UP)
    x, y = (setting_menu(field, tr(label), names, width=205) for field, label in axes)
    return ScatterSearch(x, y, *kind_and_layer(model))


def kind_and_layer(model: Model) -> tuple[tuple[Kind, ...], int | None]:
    """Select kinds of attention, and a layer or all."""
    names: dict[str, str] = {EVERY_KIND: tr("All"), **{kind: tr(KIND_NAMES[kind]) for kind in KINDS}}
    layers = len(model.translator.model.encoder.layers), len(model.translator.model.decoder.layers)
    options = [EVERY_LAYER, *(str(layer + 1) for layer in range(max(layers)))]
    with st.popover(tr("More")):
        kind = setting_segments(address.CORPUS_KIND, tr("Attention"), names)
        layer = setting_menu(address.CORPUS_LAYER, tr("Layer"), options, width=84)
    kinds: tuple[Kind, ...] = tuple(each for each in KINDS if kind in (EVERY_KIND, each))
    return kinds, None if layer == EVERY_LAYER else int(layer) - 1


def linking_heads() -> PairHeads | None:
    """Return the heads that link the two words that are selected in the sentence bar, by their weight, if two are."""
    about = readings.reading()
    pair = selected_pair.selected_pair(about) if about is not None else None
    return selected_pair.linking_heads(about, pair) if about is not None and pair is not None else None


def shown(model: Model, search: Search) -> None:
    """Draw the index as far as it is built."""
    opened, _ = opened_index.opened_index(model)
    for each in (selection.HEAD, selection.NEURON, selection.RANGE):  # stay in the address of every view
        each.selected()
    if opened is None:
        st.caption(tr("The first sentences are being read."))
    elif isinstance(search, NeuronSearch):
        neurons_part(model, opened, search)
    elif isinstance(search, ScatterSearch):
        scatter_part(model, opened, search, linking_heads())
    else:
        heads_part(model, opened, search)


@part
def form(model: Model, is_open: bool) -> None:
    """Build an index of other sentences, or open one."""
    own, path = session_object(OwnIndex), Path(model.path)
    with st.expander(tr("Index of your own sentences"), expanded=is_open):
        st.caption(tr(ABOUT_FORM))
        with st.form("corpus_form", border=False):
            left, right = st.columns(2, gap="large")
            file = left.file_uploader(tr("File of sentences, or an index"), key="corpus_file", max_upload_size=64)
            text = right.text_area(tr("Or paste lines"), key="corpus_text", height=100, persist_state="session")
            submitted = st.form_submit_button(tr("Index"), key="corpus_submit")
        checkpoint = Path(shown_path(path) if path.is_absolute() else model.name)
        command = command_line(*CORPUS_COMMAND, "--checkpoint", checkpoint, "--input", "sentences.txt")
        st.caption(tr("For thousands of sentences, and an index that the app finds beside the checkpoint:"))
        st.code(command, language=None, wrap_lines=True)
    if submitted:
        with refusals_shown():
            if file is None:
                own.begin(model, PASTED, text or "")
            else:
                own.open(model, file.name, file.getvalue())
        st.rerun()


page()
