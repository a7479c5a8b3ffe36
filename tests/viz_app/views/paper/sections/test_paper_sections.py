"""Sections of the paper: links to pages in the visitor's language."""

from urllib.parse import parse_qs, urlsplit

import pytest

from viz_app import language
from viz_app.views.paper.sections.paper_sections import SECTIONS


def test_a_link_has_its_options_in_the_language_that_it_names(monkeypatch: pytest.MonkeyPatch) -> None:
    section = next(each for each in SECTIONS if each.settings.get("kind") == "Encoder")
    english = parse_qs(urlsplit(section.address).query)
    monkeypatch.setattr(language, "language", lambda: "de")
    monkeypatch.setattr(language, "catalogue", {"de": {"Encoder": "Kodierer"}}.__getitem__)
    monkeypatch.setattr("viz_app.views.paper.sections.paper_sections.language", lambda: "de")
    german = parse_qs(urlsplit(section.address).query)
    assert "language" not in english
    assert german == english | {"language": ["de"], "kind": ["Kodierer"]}
