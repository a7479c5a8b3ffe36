"""Notes on a sentence whose translation means little, with a better input, or that was translated by another search."""

from typing import TYPE_CHECKING

import streamlit as st

from viz_app.controls.widgets import text_button
from viz_app.drawing.display_text import isolated, plain, shortened
from viz_app.language import joined, marked, tr, tr_count
from viz_app.session import readings
from viz_app.session.models import MODEL_HASH, Model
from viz_app.session.source_doubts import Doubts

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

UNKNOWN = marked(
    "The model does not know most of these characters and reads them byte by byte: its translation means little."
)
OTHER_LANGUAGE = marked(
    "Is this in the language that the model translates from? Its words, names left out, are spelled unlike those of "
    "the sentences in the model's index. A model copies or makes up what it cannot read: translation and attention "
    "then mean little."
)
CAPITALS = marked(
    "This is in capitals, of which the model has learned from few: it may copy words that it knows in lower case."
)
BY_MODULES = marked(
    "The fast search computes something else here than the model, by more than rounding. So the model itself, which "
    "takes longer, has translated this sentence."
)
ICON = ":material/translate:"
NAMED = 5  # characters that the vocabulary lacks
SENTENCES_KEY = "sentence-by-sentence"


def source_note(reading: readings.Reading, doubts: Doubts, place: "DeltaGenerator") -> None:
    """Draw the notes in an empty place close to the sentence."""
    with place.container():
        if doubts.by_modules:
            st.info(tr(BY_MODULES), icon=ICON)
        if doubts.problem:
            st.warning(_text(doubts), icon=ICON)
        if doubts.plainer:
            st.button(
                tr("Translate instead: {sentence}", sentence=plain(shortened(doubts.plainer))),
                key="plainer-sentence",
                on_click=readings.new_sentence,
                args=(doubts.plainer,),
            )
        if doubts.has_fewer:
            _sentences_note(reading)


def _text(doubts: Doubts) -> str:
    if doubts.problem == "unseen":
        return unseen_text(doubts.unseen)
    if doubts.problem == "unknown":
        return f"{tr(UNKNOWN)} {_names(doubts.unseen)}".rstrip()
    return tr(CAPITALS if doubts.problem == "capitals" else OTHER_LANGUAGE)


def unseen_text(characters: tuple[str, ...]) -> str:
    """Name the characters that the vocabulary lacks."""
    return tr_count(
        "The vocabulary of the model lacks the character {characters}. It met it in training seldom or never, and may "
        "write anything in its place.",
        "The vocabulary of the model lacks the characters {characters}. It met them in training seldom or never, and "
        "may write anything in their place.",
        len(characters),
        characters=_names(characters),
    )


def _names(characters: tuple[str, ...]) -> str:
    from core.analysis.unseen_characters import character_names

    names = [plain(isolated(name, "ltr")) for name in character_names(characters[:NAMED])]
    return joined([*names, *(["\u2026"] if len(characters) > NAMED else [])])


def _sentences_note(reading: readings.Reading) -> None:
    """Say that the translation has fewer sentences, and translate them one by one."""
    from core.text.sentences import num_sentences

    text = tr(
        "You entered {source} sentences, and the translation has {target}. The model learned to translate single "
        "sentences: it may leave out some of several.",
        source=num_sentences(reading.translation.source),
        target=num_sentences(reading.hypothesis.text),
    )
    st.warning(text, icon=ICON)
    menu = st.popover(tr("Sentence by sentence"), key=SENTENCES_KEY, on_change="rerun")
    if not menu.open:
        return
    search = reading.search
    with menu:
        st.caption(tr("Select a sentence to see it alone, on every page."))
        pairs = _sentence_by_sentence(reading.model, search)
        for number, (sentence, translation) in enumerate(pairs):
            text_button(plain(sentence), readings.new_sentence, sentence, key=f"{SENTENCES_KEY}-{number}")
            st.markdown(plain(translation))


@st.cache_resource(max_entries=64, show_spinner=False, hash_funcs=MODEL_HASH)
def _sentence_by_sentence(model: Model, search: readings.Search) -> list[tuple[str, str]]:
    """Sentences of the source with their translations."""
    sizes = search.beam_size, search.length_penalty
    translated = model.translator.translate_text(search.text, *sizes, constraints=search.constraints())
    return [(each.source, each.text) for each in translated.sentences]
