"""Sections of the paper: links to pages in the visitor's language."""

from urllib.parse import parse_qs, urlsplit

import pytest

from viz_app.session.fields import FIELDS
from viz_app.views.paper.sections.paper_sections import SECTIONS


def test_a_link_names_the_language_and_the_same_settings_in_each(monkeypatch: pytest.MonkeyPatch) -> None:
    section = next(each for each in SECTIONS if each.settings.get("kind") == "encoder_self")
    english = parse_qs(urlsplit(section.address).query)
    monkeypatch.setattr("viz_app.views.paper.sections.paper_sections.language", lambda: "de")
    german = parse_qs(urlsplit(section.address).query)
    assert "language" not in english
    assert german == english | {"language": ["de"]}


def test_every_setting_of_a_link_is_a_field() -> None:
    for section in SECTIONS:
        for name, text in section.settings.items():
            FIELDS[name].codec.decode([text])
