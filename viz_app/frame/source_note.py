"""Notes on a sentence whose translation means little, with a better input, or that was translated by another search."""

from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from viz_app.drawing.display_text import isolated, plain, shortened
from viz_app.language import joined, marked, tr, tr_count
from viz_app.session import model_paths, readings
from viz_app.session.models import MODEL_HASH, Model
from viz_app.session.state import kept

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

    from core.analysis.unfamiliar_source import SourceLanguage

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


@st.cache_resource(max_entries=8, show_spinner=False, hash_funcs=MODEL_HASH)
def _source_language(model: Model) -> "SourceLanguage | None":
    """The language that a model translates from; None if there is no index of it to know it by."""
    from core.analysis.corpus.cli import index_beside
    from core.analysis.corpus.index_file import load_index
    from core.analysis.unfamiliar_source import SourceLanguage

    beside = index_beside(Path(model.path))
    try:
        path = model_paths.file_in(beside.parent, beside.name) if beside.is_absolute() else None
        index = load_index(path) if path else None
        if index is None or index.facts.digest != model.digest:
            return None
        decode = model.translator.tokenizer.target.decode
        translations = (decode(list(each.target)) for each in index.sentences)
        return SourceLanguage([each.source for each in index.sentences], translations)
    except (ValueError, OSError):  # the page Corpus says why an index cannot be used
        return None


@st.cache_resource(max_entries=256, show_spinner=False, hash_funcs=MODEL_HASH)
def _unseen(model: Model, source: str) -> tuple[tuple[str, ...], str]:
    """Characters that the vocabulary lacks, and the source in a plainer form, if one can be read."""
    from core.analysis.unfamiliar_source import UNKNOWN_SHARE, without_capitals
    from core.analysis.unseen_characters import Alphabet
    from core.text.text_normalization import normalized

    alphabet = Alphabet(model.translator.tokenizer)
    plainer = alphabet.plain_form(source)
    lacking = {*alphabet.unseen(plainer)}
    is_unknown = sum(character in lacking for character in plainer) > UNKNOWN_SHARE * len(plainer)
    plainer = without_capitals(plainer) or plainer
    return alphabet.unseen(source), "" if is_unknown or plainer == normalized(source) else plainer


@st.cache_resource(max_entries=64, show_spinner=False, hash_funcs=MODEL_HASH)
def _sentence_by_sentence(model: Model, search: readings.Search) -> list[tuple[str, str]]:
    """Sentences of the source with their translations."""
    sizes = search.beam_size, search.length_penalty
    translated = model.translator.translate_text(search.text, *sizes, constraints=search.constraints())
    return [(each.source, each.text) for each in translated.sentences]


def source_note(reading: readings.Reading, place: "DeltaGenerator") -> None:
    """Draw the notes, if any, after the page is drawn, as they may run the model once.

    Args:
        place: an empty one, close to the sentence.
    """
    model, by_modules = reading.model, reading.translation.by_modules
    known_for = reading.identity, reading.forced
    text, plainer, has_fewer = kept("notes_on_the_source", known_for, lambda: _notes(reading))
    if not text and not has_fewer and not by_modules:
        return
    with place.container():
        if by_modules:
            st.info(tr(BY_MODULES), icon=ICON)
        if text:
            st.warning(text, icon=ICON)
        if plainer and model.parser is None:
            st.button(
                tr("Translate instead: {sentence}", sentence=plain(shortened(plainer))),
                key="plainer-sentence",
                on_click=readings.new_sentence,
                args=(plainer,),
            )
        if has_fewer:
            _sentences_note(reading)


def _notes(reading: readings.Reading) -> tuple[str, str, bool]:
    """What there is to say of the source, a plainer form of it, and whether the translation has fewer sentences."""
    from core.analysis.unfamiliar_source import UNKNOWN_SHARE, unknown_share, without_capitals

    unseen, plainer = _unseen(reading.model, reading.translation.source)
    source, language = reading.translation.source, _source_language(reading.model)
    text = ""
    if unknown_share(reading.translation) > UNKNOWN_SHARE:
        text = f"{tr(UNKNOWN)} {_names(unseen)}".rstrip()
    elif without_capitals(source):
        text = tr(CAPITALS)
    elif language and language.is_other(source):
        text = tr(OTHER_LANGUAGE)
    elif unseen:
        text = unseen_text(unseen)
    return text, plainer, _has_fewer_sentences(reading)


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
    """Names of the first characters."""
    from core.analysis.unseen_characters import character_names

    names = [plain(isolated(name, "ltr")) for name in character_names(characters[:NAMED])]
    return joined([*names, *(["\u2026"] if len(characters) > NAMED else [])])


def _has_fewer_sentences(reading: readings.Reading) -> bool:
    """Whether the search has left out a sentence of several."""
    from core.text.sentences import missing_sentences

    is_translation = reading.model.parser is None and reading.forced is None
    return is_translation and missing_sentences(reading.translation.source, reading.hypothesis.text) > 0


def _sentences_note(reading: readings.Reading) -> None:
    """Say that the translation has fewer sentences, and translate them one by one."""
    from core.text.sentences import num_sentences

    st.warning(
        tr(
            "You entered {source} sentences, and the translation has {target}. The model learned to translate single "
            "sentences: it may leave out some of several.",
            source=num_sentences(reading.translation.source),
            target=num_sentences(reading.hypothesis.text),
        ),
        icon=ICON,
    )
    menu = st.popover(tr("Sentence by sentence"), key=SENTENCES_KEY, on_change="rerun")
    if not menu.open:
        return
    search = reading.search
    with menu:
        st.caption(tr("Select a sentence to see it alone, on every page."))
        pairs = _sentence_by_sentence(reading.model, search)
        for number, (sentence, translation) in enumerate(pairs):
            st.button(
                plain(sentence),
                type="tertiary",
                key=f"{SENTENCES_KEY}-{number}",
                on_click=readings.new_sentence,
                args=(sentence,),
            )
            st.markdown(plain(translation))
