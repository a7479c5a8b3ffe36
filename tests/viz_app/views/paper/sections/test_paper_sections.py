"""Sections of the paper: links to pages in the visitor's language."""

import importlib
import inspect
import re
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from core.files.shipped_files import shipped_checkpoint
from core.parsing.parser import Parser
from core.translator import Translator
from viz_app.session.fields import FIELDS
from viz_app.views.paper.sections.paper_sections import SECTIONS


def test_a_link_names_the_language_and_the_same_settings_in_each(monkeypatch: pytest.MonkeyPatch) -> None:
    section = next(each for each in SECTIONS if each.settings.get("kind") == "encoder_self")
    english = parse_qs(urlsplit(section.address).query)
    monkeypatch.setattr("viz_app.views.paper.sections.paper_sections.language", lambda: "de")
    german = parse_qs(urlsplit(section.address).query)
    assert section.parts == {"MultiHeadAttention": "overview?part=attention&language=de"}
    assert "language" not in english
    assert german == english | {"language": ["de"]}


def test_every_setting_of_a_link_is_a_field() -> None:
    for section in SECTIONS:
        for name, text in section.settings.items():
            FIELDS[name].codec.decode([text])


def test_the_code_of_a_section_is_public_and_documented() -> None:
    for section in SECTIONS:
        assert section.code
        for name in section.code:
            module, _, attribute = name.rpartition(".")
            if module.rpartition(".")[2][0].isupper():  # a method
                module, _, of_class = module.rpartition(".")
                attribute = f"{of_class}.{attribute}"
            found = importlib.import_module(module)
            for part in attribute.split("."):
                found = getattr(found, part)
            assert (found.__module__, found.__qualname__) == (module, attribute)
            assert inspect.getdoc(found), name


def test_the_documentation_has_the_same_sections_and_code() -> None:
    text = (Path(__file__).resolve().parents[5] / "docs" / "paper.md").read_text("utf-8")
    parts = re.split(r"^## ", text, flags=re.MULTILINE)
    described = {
        re.split(r"[ :]", part)[0]: tuple(re.findall("`([^`]+)`", code))
        for part in parts
        for code in re.findall(r"^Code: (.+)$", part, re.MULTILINE)
    }
    assert described == {section.number: section.code for section in SECTIONS}


def test_the_sentence_for_parsing_has_its_tree() -> None:
    (section,) = [each for each in SECTIONS if each.page == "parsing"]
    tree = Parser(Translator.from_checkpoint(shipped_checkpoint("parsing"))).parse(section.sentence).tree
    assert str(tree) == (
        "(S (NP (DT The) (JJ old) (NN man)) (VP (VBD walked) (PP (TO to) (NP (DT the) (NN bank)))) (. .))"
    )
