"""The catalogues of the interface are complete."""

import pytest

from viz_app.language import ENGLISH, LANGUAGES, catalogue
from viz_app.language.__main__ import main
from viz_app.language.extraction import interface_texts, problems


@pytest.mark.parametrize("code", [code for code in LANGUAGES if code != ENGLISH])
def test_a_catalogue_has_every_text_and_no_other(code: str) -> None:
    assert list(problems(catalogue(code))) == []


@pytest.mark.parametrize("code", [code for code in LANGUAGES if code != ENGLISH])
def test_markdown_and_code_of_a_text_are_kept(code: str) -> None:
    for english, own in catalogue(code).items():
        forms = [own] if isinstance(own, str) else own
        for form in forms:
            assert form.count("**") == english.count("**"), english
            assert form.count("`") == english.count("`"), english
            assert form.count("$") == english.count("$"), english


def test_the_command_counts_the_texts_and_refuses_other_arguments(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    assert capsys.readouterr().out.startswith(f"{len(interface_texts()):,} texts, in {len(LANGUAGES)} languages")
    assert main(["de"]) == 0
    assert main(["fr"]) == 2
    assert "expected one of zh, ko, de, or nothing; found fr" in capsys.readouterr().err
