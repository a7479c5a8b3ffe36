"""Texts in the visitor's language: `tr`, `tr_count`, and how they are collected."""

from io import BytesIO
from pathlib import Path

import pytest
import streamlit as st
from babel.messages.extract import extract

from core.files.bundle import bundled_script
from tests.viz_app.language.texts import Texts, own_texts
from tests.viz_app.pages import Start, healthy, opened
from viz_app import language
from viz_app.components.component import script_texts
from viz_app.language import ENGLISH, LANGUAGES, extraction, texts_for_script, tr, tr_count, tr_lower, unwrapped
from viz_app.language.catalogue_files import translations
from viz_app.language.extraction import ROOT

GERMAN = {"{name} attends to": "{name} achtet auf", "{count} head": ["{count} Kopf", "{count} Köpfe"], "Head": "Kopf"}


@pytest.fixture
def german(monkeypatch: pytest.MonkeyPatch) -> None:
    """A visitor with a small German catalogue."""
    monkeypatch.setattr(language, "language", lambda: "de")
    monkeypatch.setattr(language, "translations", {"de": Texts(GERMAN)}.__getitem__)


def test_without_a_visitor_texts_are_english() -> None:
    assert language.language() == ENGLISH
    assert tr("{name} attends to", name="H3") == "H3 attends to"
    assert [tr_count("{count} head", "{count} heads", count) for count in (0, 1, 2)] == ["0 heads", "1 head", "2 heads"]
    assert tr_lower("Head") == "head"
    assert tr(r"\frac{a}{b}") == r"\frac{a}{b}"


@pytest.mark.usefixtures("german")
def test_texts_of_a_catalogue_take_the_place_of_english_ones() -> None:
    assert tr("{name} attends to", name="H3") == "H3 achtet auf"
    assert [tr_count("{count} head", "{count} heads", count) for count in (0, 1, 2)] == ["0 Köpfe", "1 Kopf", "2 Köpfe"]
    assert tr("unknown") == "unknown"
    assert tr_lower("Head") == "Kopf"
    names = (("unknown",), ("Head",), ("{count} head", "{count} heads"), ("{count} layer", "{count} layers"))
    forms = {"one": "{count} Kopf", "other": "{count} Köpfe"}  # by the category of `Intl.PluralRules`
    assert texts_for_script(names) == {"language": "de", "texts": {"Head": "Kopf", "{count} head": forms}}


def test_a_text_without_translation_is_english() -> None:
    assert translations("de").gettext("No such text") == "No such text"
    assert tr("") == ""


def test_a_block_of_text_has_no_line_breaks_and_indentation_of_its_literal() -> None:
    block = """
        One paragraph
        of two lines.

        - a point
        - another
    """
    assert unwrapped(block) == tr(block) == "One paragraph of two lines.\n\n- a point\n- another"
    assert unwrapped(block.replace("        ", "  ")) == unwrapped(block)
    assert unwrapped(" two\n lines") == " two\n lines"


def test_texts_are_collected_from_python() -> None:
    source = """A = marked("one" " text")
f"{tr('nested')}"
tr(A)
tr_count("{count} head", "{count} heads", 3)
Phrase("yes" if A else "no", name=Phrase("inner"))
listed(names, "{first} and {rest}")
"""
    found = extract(extraction.python_messages, BytesIO(source.encode()), extraction.KEYWORDS)
    assert {message for _, message, _, _ in found} == {
        *("one text", "nested", ("{count} head", "{count} heads"), "yes", "no", "inner", "{first} and {rest}")
    }


def test_the_texts_of_a_script_are_those_that_babel_finds() -> None:
    script = 'tr(\n  "a \\"b\\""); trCount("{count} head", "{count} heads", n); str("c"); tr(name); `${tr("d")} e`'
    for source in (script, bundled_script(ROOT / "viz_app/components/sentence_bar.js")):
        found = extract(
            "javascript", BytesIO(source.encode()), extraction.KEYWORDS, options={"parse_template_string": "1"}
        )
        messages = {message if isinstance(message, tuple) else (message,) for _, message, _, _ in found}
        assert set(script_texts(source)) == messages


@pytest.mark.parametrize(
    "script",
    [path for path in sorted((ROOT / "viz_app").rglob("*.js")) if path.with_suffix(".py").exists()],
    ids=lambda path: path.stem,
)
def test_every_text_of_a_component_is_in_the_catalogues(script: Path) -> None:
    texts = extraction.template()
    assert [name for name in script_texts(bundled_script(script)) if name[0] not in texts] == []


def test_the_language_is_in_the_address_and_stays_on_every_page(start: Start) -> None:
    for code in (code for code in LANGUAGES if code != ENGLISH):
        app = healthy(start(language=code).run())
        own = own_texts(code)
        assert app.selectbox(key="language").label == own["Language"]
        assert app.query_params["language"] == code
    assert opened(app, "why").selectbox(key="language").value == code
    assert app.query_params["language"] == code
    app.selectbox(key="language").select(ENGLISH).run()
    assert healthy(app).selectbox(key="language").label == "Language"
    assert "language" not in app.query_params


@pytest.fixture
def german_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    """The browser prefers Austrian German."""
    monkeypatch.setattr(type(st.context), "locale", property(lambda _: "de-AT"))


@pytest.mark.usefixtures("german_browser")
def test_a_first_visit_without_an_address_is_in_the_language_of_the_browser(start: Start) -> None:
    app = healthy(start().run())
    assert app.selectbox(key="language").value == app.query_params["language"] == "de"
    assert opened(app, "why").selectbox(key="language").value == "de"
    app.selectbox(key="language").select(ENGLISH).run()
    # else the browser would decide again when the page is loaded again
    assert healthy(app).query_params["language"] == ENGLISH
    assert opened(app, "score").selectbox(key="language").value == ENGLISH


@pytest.mark.usefixtures("german_browser")
@pytest.mark.parametrize("address", [{"beam_size": "2"}, {"language": "xx"}, {"language": ""}, {"language": ENGLISH}])
def test_an_address_without_a_known_language_is_english(address: dict[str, str], start: Start) -> None:
    app = healthy(start(**address).run())
    assert app.selectbox(key="language").value == ENGLISH
    assert app.query_params["language"] == ENGLISH
