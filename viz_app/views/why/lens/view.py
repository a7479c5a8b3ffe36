"""Layer by layer: predictions of decoder layers, translations from encoder layers."""

from functools import partial
from typing import Any

import streamlit as st

from core.analysis.declaration import FIRST
from core.analysis.lens.decoder_lens import EncoderLens, encoder_translations
from core.analysis.lens.layer_removals import layer_removals
from core.analysis.lens.logit_lens import LENS, LensOptions, LogitLens, level_name
from core.analysis.recorded_call import Call
from core.analysis.tokens.words import readable
from core.analysis.word_scores.least_probable import least_probable_token
from viz_app.components.picture import picture
from viz_app.controls.check_badge import check_badge
from viz_app.controls.downloads import downloads
from viz_app.controls.search_progress import stoppable_result
from viz_app.controls.tables import bar_column, number_column, show_table
from viz_app.controls.widgets import show_answer
from viz_app.drawing import ablation
from viz_app.drawing.display_text import decimal, isolated, plain
from viz_app.language import marked, tr, translated
from viz_app.session import address, python_code, readings
from viz_app.session.fields import part
from viz_app.session.models import MODEL_HASH, Model
from viz_app.session.readings import Reading, Search, SearchProgress, reading_part

LEVEL = address.ENCODER_LEVEL
TOP = 10  # tokens of a cell
HOW_TO_READ = marked("""
The **logit lens** (nostalgebraist 2020): the state of the decoder after each layer, read as if it were the last one. A
row for each predicted token, a column for each layer; a cell has the token that the layer would predict, the darker the
more probable (in the dark theme: the lighter). Click a cell for its ten best tokens.

A token is **decided** in the first layer from which on it stays the most probable. A token of a beam search or of your
own translation need not be the most probable in the last layer either.

The output matrix was trained for the last layer. A lower layer may know a token in a form that the lens cannot read.
""")
ABOUT_REMOVAL = marked("""
Each layer is left out alone: the state that enters it passes it unchanged, and the model predicts this token again.
Where less than half of its probability is left, or another token is the most probable, the layer decides. The other
layers are the control: what a layer drawn by lot does. Click a cell for another token.
""")
ABOUT_ENCODER = marked("""
The **DecoderLens** (Langedijk et al. 2023): the encoder stops after a layer, and the decoder translates from there; 0
is the embedding. The decoder was trained on the last layer, so a bad translation does not prove that the layer lacks
the information, only that this decoder does not find it there.
""")
ABOUT_BADGE = marked(
    "The last column is the model's own output: each predicted token must have the same probability as in the replay."
)
ABOUT_ENCODER_BADGE = marked(
    "The translation from the last layer is searched again: it must be as probable as the one above."
)
SAME = marked("{layer}: the same as the translation from the last layer. Log-probability {log_prob}.")
DIFFERENT = marked(
    "{layer}: marked where it differs from the translation from the last layer. Log-probability {log_prob}."
)
SEARCH_TOLERANCE = 1e-3  # nats, of whole translations


@reading_part
def decoder(reading: Reading) -> None:
    """Draw the predictions of each layer of the decoder; a click runs only this part again."""
    recorded = lens_call(reading)
    lens: LogitLens = recorded.known
    place = selected_cell(lens)
    show_answer(removals_call(reading, place[0]).known.answer(), tr(ABOUT_REMOVAL), lens.answer(FIRST))
    left, right = st.container(key="side-by-side").columns([7, 3], gap="medium")
    with left:
        st.markdown(tr("**Decoder**: the most probable token after each layer"), help=tr(HOW_TO_READ))
        (grid,) = lens.pictures(FIRST)
        picture(grid, "lens", place, on_place=address.CELL.set)
        downloads("lens", "lens", recorded.then("table"), title=translated(grid.title))
    with right:
        one_cell(recorded, *place)
    badge(lens)


def one_cell(recorded: Call, row: int, level: int) -> None:
    """Draw the most probable tokens of a cell of a lens, the result of a call."""
    lens: LogitLens = recorded.known
    predicted = plain(isolated(readable(lens.explanation.predicted_tokens[row])))
    st.markdown(tr("**{layer}**, in place of **{token}**", layer=layer_name(level), token=predicted))
    table = lens.cell_table(row, level)
    show_table(
        table,
        height="content",
        column_config={
            "token": st.column_config.TextColumn(tr("Token")),
            "probability": bar_column(tr("Probability"), 3),
        },
    )
    first = lens.decided[row]
    st.caption(
        tr("It is not the most probable token.") if first is None else tr("Decided: {layer}.", layer=layer_name(first))
    )
    downloads("lens-cell", call=recorded.then("cell_table", row, level))


def layer_name(level: int) -> str:
    """Return the name of a level in the visitor's language."""
    return translated(level_name(level))


def badge(lens: LogitLens) -> None:
    """Compare the last level with the replay."""
    pairs = zip(lens.predicted_log_probs[-1].tolist(), lens.explanation.log_probs, strict=True)
    gap = max(abs(own - replayed) for own, replayed in list(pairs)[lens.explanation.num_forced :])
    detail = tr("largest difference {gap:.1g} nats", gap=gap)
    check_badge(tr("last layer equals the model"), True, tr(ABOUT_BADGE), detail)  # others are refused


def encoder() -> None:
    """Draw the translation from each layer of the encoder."""
    reading = readings.reading()
    if reading is None:
        return
    st.markdown(tr("**Encoder**: the translation from each layer"), help=tr(ABOUT_ENCODER))
    waiting, below = st.empty(), st.container()
    searched = reading.model, reading.search
    search = partial(translations_by_level, *searched)
    translations = stoppable_result(waiting, (reading.model.digest, reading.search), "levels", search)
    if translations is not None:
        with below:
            levels(reading, translations)


@part
def levels(reading: Reading, lens: EncoderLens) -> None:
    """Draw the translation from the selected level, and a table of all."""
    translations = lens.translations
    last = len(translations) - 1
    level = LEVEL.draw(st.slider, tr("Layers of the encoder"), 0, last, default=last, width=320, help=tr(ABOUT_ENCODER))
    shown, whole = (ablation.words_of(translations[each].tokens) for each in (level, last))
    marks = ablation.difference(whole, shown)
    st.html(ablation.marked_text(shown, marks[1], "ins"))
    log_prob = decimal(translations[level].log_prob, 2)
    st.caption(tr(SAME if shown == whole else DIFFERENT, layer=layer_name(level), log_prob=log_prob))
    show_table(
        {**lens.table(), "level": [layer_name(each) for each in range(len(translations))]},
        column_config={
            "level": st.column_config.TextColumn(tr("Layer"), width=60),
            "translation": st.column_config.TextColumn(tr("Translation")),
            "log_prob": number_column(tr("Log-probability"), 2, width=120),
        },
    )
    recorded = levels_call(reading.model, reading.search).returning(lens)
    downloads("encoder-levels", call=recorded.then("table"))
    own, replayed = reading.translation.hypotheses[0].log_prob, translations[last].log_prob
    detail = tr("log-probabilities {own:.4f} and {replayed:.4f}", own=own, replayed=replayed)
    check_badge(
        tr("last layer equals the translation"), abs(own - replayed) < SEARCH_TOLERANCE, tr(ABOUT_ENCODER_BADGE), detail
    )


@python_code.with_result(max_entries=24)
def lens_call(about: Reading) -> Call:
    """Return the call that reads what each layer of the decoder predicts."""
    return LENS.call(*python_code.sentence(about), LensOptions(top=TOP))


@python_code.with_result(max_entries=128)
def removals_call(about: Reading, position: int) -> Call:
    """Return the call that leaves out each layer alone and predicts a token again."""
    return Call("removals", layer_removals, (*python_code.sentence(about), position))


def levels_call(model: Model, search: Search, progress: SearchProgress | None = None) -> Call:
    """Return the call that translates from each encoder level; the `progress` of the search is not in a script."""
    options = search.text, search.beam_size, search.length_penalty
    shown: dict[str, Any] = {} if progress is None else {"progress": progress}
    shown |= {"constraints": search.constraints()} if search.min_length else {}
    translations = Call("translations", encoder_translations, (python_code.translator(model), *options), shown)
    return Call("result", EncoderLens, (translations,))


@st.cache_resource(max_entries=64, show_spinner=False, hash_funcs=MODEL_HASH)
def translations_by_level(model: Model, search: Search, _progress: SearchProgress | None = None) -> EncoderLens:
    """Return the translation from each encoder level."""
    return levels_call(model, search, _progress).run()


def selected_cell(lens: LogitLens) -> tuple[int, int]:
    """Return the selected cell, and write it to the address.

    By default it is that of the least probable word, just before its token was decided.
    """
    rows, levels = len(lens.explanation.predicted_tokens), lens.num_layers
    if place := address.CELL.selected(possible=lambda place: place[0] < rows and place[1] <= levels):
        return place
    row = least_probable_token(lens.explanation)
    decided = lens.decided[row]
    return row, max((levels if decided is None else decided) - 1, 0)


decoder()
encoder()
