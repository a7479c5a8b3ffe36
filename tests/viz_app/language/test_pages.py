"""Every page in a pseudo-language, whose texts are the English ones in brackets, beside a visitor who reads English."""

from collections.abc import Callable, Iterable
from gettext import NullTranslations

import pytest
from streamlit.runtime.scriptrunner import get_script_run_ctx

from core import Translator
from core.analysis.interventions.control_pairs import PARTNERS
from core.analysis.model_variations import TABLE_3
from core.formats.model_facts import PENALTIES
from core.images.rendering import FONTS
from tests.viz_app.language.shown_texts import WORD, shown_texts, untranslated
from tests.viz_app.pages import Start, healthy, opened, reading
from viz_app import language
from viz_app.frame.examples import EXAMPLES
from viz_app.language import ENGLISH, LANGUAGES, extraction
from viz_app.page_list import VIEWS
from viz_app.session import models
from viz_app.views.heads.alignment.aligner_list import EXAMPLE as LINKED_LINE
from viz_app.views.models.checkpoint import trial_sentences
from viz_app.views.paper.paper_figures import figure_heads
from viz_app.views.paper.table3.figures import SYMBOLS

SAME_EVERYWHERE = {
    *LANGUAGES.values(),
    *("Headlight", "Python", "BertViz", "CSV", "HTML", "JSON", "NPZ", "NumPy", "PDF", "PNG", "SVG"),
    *("d_model", "d_ff", "d_k", "d_v", "log", "ms", "MB", "Mio", "Mrd", "relu"),  # symbols and units
}
SENTENCE = "Where?"
PARALLEL_LINES = "Where is the station?\tWo ist der Bahnhof?"  # as on the page Score a file
Reads = Callable[[str], None]


class Bracketed(NullTranslations):
    """The texts of the pseudo-language."""

    def gettext(self, message: str) -> str:
        return f"\u27e6{message}\u27e7" if message in extraction.template() else message

    def ngettext(self, msgid1: str, msgid2: str, n: int) -> str:
        return f"\u27e6{super().ngettext(msgid1, msgid2, n)}\u27e7" if msgid1 in extraction.template() else msgid2


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Reads:
    """German texts are those of the pseudo-language; `reads("de")` says who runs the app next.

    Outside the run of a page, an `AppTest` translates the names of options itself.
    """
    own, codes = language.language, [ENGLISH]
    monkeypatch.setattr(language, "translations", {"de": Bracketed(), ENGLISH: NullTranslations()}.__getitem__)
    monkeypatch.setattr(language, "language", lambda: own() if get_script_run_ctx(True) else codes[-1])
    return codes.append


@pytest.fixture
def data_words(translator: Translator) -> set[str]:
    """Words of tokens, sentences, fonts, formulas, tables, and names of parameters and shipped files."""
    tokenizer, parameters = translator.tokenizer, [name for name, _ in translator.model.named_parameters()]
    given = (*EXAMPLES, *PARTNERS, *trial_sentences.SENTENCES["en"], figure_heads.MAKING_SENTENCE, SENTENCE)
    sentences = (*given, PARALLEL_LINES, LINKED_LINE)
    texts = [*tokenizer.pieces(range(tokenizer.vocab_size)), *sentences, *FONTS, *PENALTIES.values(), *parameters]
    return words([*texts, *models.shipped_paths(), *TABLE_3, *SYMBOLS.values()]) | {"Wo", "PPL", "BLEU"}


def words(texts: Iterable[str]) -> set[str]:
    return {word for text in texts for word in WORD.findall(text)}


@pytest.mark.usefixtures("small_pages")
def test_all_texts_are_translated_and_none_is_seen_by_others(start: Start, reads: Reads, data_words: set[str]) -> None:
    """The second visitor meets in every cache what the first one has left there."""
    address = {"beam_size": "2", "text": SENTENCE, "iterations": "2", "paper_text_3": SENTENCE, "picture_text": "Hi"}
    reads("de")
    german = healthy(start(**address, language="de").run())
    reads(ENGLISH)
    english = healthy(start(**address).run())
    known = SAME_EVERYWHERE | data_words | words(each.text for each in reading(german).translation.hypotheses)
    for page in VIEWS:
        reads("de")
        left = untranslated(shown_texts(opened(german, page.name)), known)
        assert left == {}, page.name
        reads(ENGLISH)
        assert [text for text in shown_texts(opened(english, page.name)) if "\u27e6" in text] == [], page.name
