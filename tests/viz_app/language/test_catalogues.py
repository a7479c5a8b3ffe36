"""The catalogues of the interface: complete in the repository, with the values and the markup of the English texts."""

import os
import re
from collections.abc import Iterator
from gettext import GNUTranslations
from io import BytesIO
from pathlib import Path

import pytest
from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po, write_po

from viz_app.language import ENGLISH, LANGUAGES, __main__, catalogue_files
from viz_app.language.__main__ import content, main, updated
from viz_app.language.checks import faults, missing

CODES = [code for code in LANGUAGES if code != ENGLISH]
PO = '#: app.py\nmsgid "Head"\nmsgstr "Kopf"\n'


def catalogue(code: str) -> Catalog:
    with catalogue_files.text_file(code).open("rb") as file:
        return read_po(file)


@pytest.mark.parametrize("code", CODES)
def test_translations_have_the_values_the_markup_and_the_forms_of_their_texts(code: str) -> None:
    assert list(faults(catalogue(code))) == []


@pytest.mark.parametrize("code", CODES)
def test_a_file_is_as_the_command_writes_it(code: str) -> None:
    """So that a change of one text is a change of its lines alone."""
    path = catalogue_files.text_file(code)
    assert content(catalogue(code)) == path.read_bytes()
    assert not [line for line in path.read_text("utf-8").splitlines() if line.startswith("#:") and ".py:" in line]


@pytest.mark.parametrize(
    ("entry", "fault"),
    [
        ('msgid "{count} head"\nmsgid_plural "{count} heads"\nmsgstr[0] "ein Kopf"\nmsgstr[1] "viele"', "values"),
        (
            'msgid "{count} head"\nmsgid_plural "{count} heads"\nmsgstr[0] "ein Kopf"\nmsgstr[1] ""',
            "1 forms instead of",
        ),
        ('msgid "in {place}"\nmsgstr "in {ort}"', r"values \['ort'\] instead of \['place'\]"),
        ('msgid "**bold**"\nmsgstr "fett"', r"not as many \*\*"),
    ],
)
def test_what_is_wrong_in_a_translation_is_said(entry: str, fault: str) -> None:
    (found,) = faults(read_po(BytesIO(entry.encode()), locale="de"))
    assert re.search(fault, found)


def test_a_text_without_translation_is_missing_and_no_fault() -> None:
    po = 'msgid "a"\nmsgstr ""\n\n#, fuzzy\nmsgid "b {x}"\nmsgstr "c"\n\nmsgid "d"\nmsgstr "D"\n'
    found = read_po(BytesIO(po.encode()), locale="de")
    assert missing(found) == ["a", "b {x}"]
    assert list(faults(found)) == []


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of catalogues, with German alone."""
    monkeypatch.setattr(catalogue_files, "CATALOGUES", tmp_path)
    path = catalogue_files.text_file("de")
    path.parent.mkdir(parents=True)
    path.write_text(PO, "utf-8")
    catalogue_files.translations.cache_clear()
    yield tmp_path
    catalogue_files.translations.cache_clear()


def test_the_command_updates_compiles_and_lists_what_is_missing(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A changed text keeps its translation, which shows once somebody has checked it."""
    texts = Catalog()
    texts.add("Heads", locations=[("app.py", 0)])
    texts.add(("{count} token", "{count} tokens"), locations=[("app.py", 0)])
    monkeypatch.setattr(__main__, "template", lambda: texts)
    monkeypatch.setattr(__main__, "LANGUAGES", {ENGLISH: "English", "de": "Deutsch"})
    assert main([]) == 0
    assert "de: 2 missing, 0 wrong" in (printed := capsys.readouterr().out)
    assert "missing: 'Heads'" in printed
    path = catalogue_files.text_file("de")
    written = path.read_text("utf-8")
    assert '#, fuzzy\nmsgid "Heads"\nmsgstr "Kopf"' in written
    assert GNUTranslations(BytesIO(path.with_suffix(".mo").read_bytes())).gettext("Heads") == "Heads"
    path.write_text(written.replace("#, fuzzy\n", ""), "utf-8")
    assert main([]) == 0
    assert "de: 1 missing, 0 wrong" in capsys.readouterr().out
    assert catalogue_files.translations("de").gettext("Heads") == "Kopf"


def test_a_second_update_changes_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither of changed texts of one or several forms and lines, nor of comments, such as the English of before."""
    long = "One head attends to the next token, and another one to the same token.\n\n" * 3
    texts, path = Catalog(), catalogue_files.text_file("de")
    for text in (f"{long} Always.", "Heads", ("{count} layer", "{count} layers"), "entirely new"):
        texts.add(text, locations=[("app.py", 0)])
    monkeypatch.setattr(__main__, "template", lambda: texts)
    old = Catalog(locale="de")
    old.add(long, long.upper(), previous_id=(long, long), flags=["fuzzy"], user_comments=[f"of a translator {long}"])
    old.add("Head", "Kopf", previous_id=f"Heads {long}")
    old.add(("{count} layer", "{count} layer"), ("a layer", "many layers"), previous_id=("a", "b"))
    with path.open("wb") as file:
        write_po(file, old, include_previous=True)
    updated(path, "de")
    once = path.read_bytes()
    assert once.count(b"#, fuzzy") == 2
    assert b"of a translator" in once
    assert not re.search(rb"^# ?\|", once, re.MULTILINE)
    updated(path, "de")
    assert path.read_bytes() == once


def test_the_command_refuses_arguments(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fr"]) == 2
    assert "expected no arguments, found fr" in capsys.readouterr().err


def test_edited_texts_show_although_older_ones_are_compiled(folder: Path) -> None:
    path = catalogue_files.text_file("de")
    compiled = path.with_suffix(".mo")
    compiled.write_bytes(catalogue_files.compiled_texts(path))
    path.write_text(PO.replace("Kopf", "Haupt"), "utf-8")
    os.utime(compiled, ns=(path.stat().st_mtime_ns,) * 2)
    assert catalogue_files.translations("de").gettext("Head") == "Kopf"  # compiled from it, in the same moment
    catalogue_files.translations.cache_clear()
    os.utime(compiled, ns=(path.stat().st_mtime_ns - 1,) * 2)
    assert catalogue_files.translations("de").gettext("Head") == "Haupt"
    catalogue_files.translations.cache_clear()
    compiled.unlink()
    assert catalogue_files.translations("de").gettext("Head") == "Haupt"


def test_without_its_texts_a_language_says_what_to_do(folder: Path) -> None:
    catalogue_files.text_file("de").unlink()
    with pytest.raises(FileNotFoundError, match=r"found neither .*headlight.mo nor headlight.po, .* install Headlight"):
        catalogue_files.translations("de")
