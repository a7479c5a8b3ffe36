"""Every page in a pseudo-language, whose texts are the English ones in brackets, beside a visitor who reads English."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.runtime.scriptrunner import get_script_run_ctx

from core import Translator
from tests.viz_app.language.shown_texts import shown_texts, untranslated
from tests.viz_app.pages import Start, healthy, opened
from viz_app import language
from viz_app.language import ENGLISH, LANGUAGES, Catalogue, extraction
from viz_app.layout.sentence_input import EXAMPLES
from viz_app.pages import GROUPS, PAGES

SAME_EVERYWHERE = {
    *LANGUAGES.values(),
    *("Headlight", "Python", "CSV", "HTML", "JSON", "NPZ", "NumPy", "PDF", "PNG", "SVG"),
    *("d_model", "d_ff", "ms", "MB"),
}
SENTENCE = "Where?"
UNFINISHED = {"x"}
Reads = Callable[[str], None]


def bracketed() -> Catalogue:
    """The catalogue of the pseudo-language."""
    texts = extraction.interface_texts()
    return {
        key: f"\u27e6{key}\u27e7" if len(forms) == 1 else [f"\u27e6{form}\u27e7" for form in forms]
        for key, forms in texts.items()
    }


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Reads:
    """German texts are those of the pseudo-language; `reads("de")` says who runs the app next.

    Outside the run of a page, an `AppTest` translates the names of options itself.
    """
    own, codes = language.language, [ENGLISH]
    monkeypatch.setattr(language, "catalogue", {"de": bracketed(), ENGLISH: {}}.__getitem__)
    monkeypatch.setattr(language, "language", lambda: own() if get_script_run_ctx(True) else codes[-1])
    return codes.append


@pytest.fixture
def data_words(tiny_checkpoint: Path) -> set[str]:
    """Words of tokens and sentences."""
    tokenizer = Translator.from_checkpoint(tiny_checkpoint).tokenizer
    texts = [*tokenizer.pieces(range(tokenizer.vocab_size)), *EXAMPLES, SENTENCE]
    return {word for text in texts for word in re.findall(r"[A-Za-z]{2,}", text)}


def test_titles_of_pages_are_in_the_catalogues() -> None:
    assert {*GROUPS, *(page.title for page in PAGES)} <= set(extraction.interface_texts())


@pytest.mark.usefixtures("small_pages")
def test_all_texts_are_translated_and_none_is_seen_by_others(start: Start, reads: Reads, data_words: set[str]) -> None:
    """The second visitor meets in every cache what the first one has left there."""
    address = {"beam_size": "2", "text": SENTENCE}
    reads("de")
    german = healthy(start(**address, language="de").run())
    reads(ENGLISH)
    english = healthy(start(**address).run())
    left: dict[str, dict[str, list[str]]] = {}
    for page in PAGES:
        reads("de")
        found = untranslated(shown_texts(opened(german, page.name)), SAME_EVERYWHERE | data_words)
        if found and page.name not in UNFINISHED:
            left[page.name] = found
        reads(ENGLISH)
        mixed = [text for text in shown_texts(opened(english, page.name)) if "\u27e6" in text]
        assert mixed == [], page.name
    for p, found in left.items():
        for text, words in found.items():
            print(p, words, repr(text[:300]))
    assert left == {}
