"""Every page in a pseudo-language, whose texts are the English ones in brackets."""

import re
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from core import Translator
from tests.viz_app.language.shown_texts import shown_texts, untranslated
from tests.viz_app.pages import Start, healthy, opened
from viz_app import language
from viz_app.language import Catalogue, extraction
from viz_app.layout.sentence_input import EXAMPLES
from viz_app.pages import GROUPS, PAGES

SAME_EVERYWHERE = {"Headlight"}
SENTENCE = "Where?"


def bracketed() -> Catalogue:
    """The catalogue of the pseudo-language."""
    texts = extraction.interface_texts()
    return {
        key: f"\u27e6{key}\u27e7" if len(forms) == 1 else [f"\u27e6{form}\u27e7" for form in forms]
        for key, forms in texts.items()
    }


@pytest.fixture
def pseudo(monkeypatch: pytest.MonkeyPatch) -> None:
    """German texts are those of the pseudo-language."""
    monkeypatch.setattr(language, "catalogue", {"de": bracketed(), "en": {}}.__getitem__)


@pytest.fixture
def data_words(tiny_checkpoint: Path) -> set[str]:
    """Words of tokens and sentences."""
    tokenizer = Translator.from_checkpoint(tiny_checkpoint).tokenizer
    texts = [*tokenizer.pieces(range(tokenizer.vocab_size)), *EXAMPLES, SENTENCE]
    return {word for text in texts for word in re.findall(r"[A-Za-z]{2,}", text)}


def test_titles_of_pages_are_in_the_catalogues() -> None:
    assert {*GROUPS, *(page.title for page in PAGES)} <= set(extraction.interface_texts())


@pytest.mark.usefixtures("pseudo", "small_pages")
def test_all_texts_are_translated(start: Start, data_words: set[str]) -> None:
    app = healthy(start(beam_size="2", text=SENTENCE, language="de").run())
    for page in PAGES:
        opened(app, page.name)
        for text, words in untranslated(shown_texts(app), SAME_EVERYWHERE | data_words).items():
            print(page.name, words, repr(text[:300]))
