"""Texts in the visitor's language: `tr`, `tr_count`, and how they are collected."""

import json
import re

import pytest
import streamlit as st

from tests.viz_app.pages import Start, healthy, opened
from viz_app import language
from viz_app.language import ENGLISH, LANGUAGES, extraction, texts_for_script, tr, tr_count, tr_lower

GERMAN = {"{name} attends to": "{name} achtet auf", "{count} heads": ["{count} Kopf", "{count} Köpfe"], "Head": "Kopf"}


@pytest.fixture
def german(monkeypatch: pytest.MonkeyPatch) -> None:
    """A visitor with a small German catalogue."""
    monkeypatch.setattr(language, "language", lambda: "de")
    monkeypatch.setattr(language, "catalogue", {"de": GERMAN}.__getitem__)


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
    assert texts_for_script(("unknown", "{count} heads")) == {"{count} heads": GERMAN["{count} heads"]}


def test_texts_are_collected_from_python_and_javascript() -> None:
    python = 'A = marked("one" " text")\nf"{tr(\'nested\')}"\ntr(A)\ntr_count("{count} head", "{count} heads", 3)'
    assert list(extraction.python_texts(python)) == [["one text"], ["{count} head", "{count} heads"], ["nested"]]
    script = 'tr(\n  "a \\"b\\""); trCount("{count} head", "{count} heads", n); str("c"); tr(name)'
    assert list(extraction.script_texts(script)) == [['a "b"'], ["{count} head", "{count} heads"]]


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ({}, "missing"),
        ({"{count} heads": "{count} Köpfe"}, "one form in place of several"),
        ({"{count} heads": ["", "{count} Köpfe"]}, "empty"),
        ({"{count} heads": ["ein Kopf", "viele Köpfe"]}, r"other values than \['count'\]"),
        ({"{count} heads": ["{count} Kopf", "{count} Köpfe"], "old": "alt"}, "not in the code: 'old'"),
    ],
)
def test_what_is_wrong_in_a_catalogue_is_said(
    entry: dict[str, str | list[str]], problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = {"{count} heads": ["{count} head", "{count} heads"]}
    monkeypatch.setattr(extraction, "interface_texts", lambda: texts)
    (found,) = extraction.problems(entry)
    assert re.search(problem, found)


def test_the_language_is_in_the_address_and_stays_on_every_page(start: Start) -> None:
    for code in (code for code in LANGUAGES if code != ENGLISH):
        app = healthy(start(language=code).run())
        own = json.loads((language.CATALOGUES / f"{code}.json").read_text(encoding="utf-8"))
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
