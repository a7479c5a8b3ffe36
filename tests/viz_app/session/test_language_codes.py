"""Codes of target languages at the start of a sentence."""

import pytest

from viz_app.session.language_codes import code_of, with_code, with_target

CODES = (">>deu<<", ">>fra<<")


@pytest.mark.parametrize(
    ("text", "codes", "before", "last", "expected"),
    [
        ("A dog.", CODES, (), "", ">>deu<< A dog."),
        ("A dog.", CODES, (), ">>fra<<", ">>fra<< A dog."),
        ("A dog.", CODES, (), ">>spa<<", ">>deu<< A dog."),
        (">>fra<< A dog.", CODES, (), ">>deu<<", ">>fra<< A dog."),
        (">>xyz<< A dog.", CODES, (), "", ">>xyz<< A dog."),  # the tokenizer says that there is none
        (">>fra<< A dog.", (), CODES, "", "A dog."),
        (">>fra<< A dog.", (), (), "", ">>fra<< A dog."),  # typed for a model without codes
        (">>fra<<A dog.", (">>spa<<",), CODES, "", ">>spa<< A dog."),
        ("", CODES, (), "", ""),
        ("A dog.", (), (), "", "A dog."),
    ],
)
def test_a_sentence_is_as_the_model_expects_it(
    text: str, codes: tuple[str, ...], before: tuple[str, ...], last: str, expected: str
) -> None:
    assert with_code(text, codes, before, last) == expected
    assert with_code(expected, codes, before, last) == expected


def test_the_longest_of_two_codes_counts() -> None:
    assert code_of("zh_Hant rest", ("zh", "zh_Hant")) == "zh_Hant"
    assert code_of("A dog.", CODES) == ""


def test_some_models_take_a_code_of_the_source_too() -> None:
    text = ">>deu<< >>fra<< Ein Hund."
    assert code_of(text, CODES) == ">>fra<<"
    assert with_target(text, CODES, ">>deu<<") == ">>deu<< >>deu<< Ein Hund."
    assert with_target("Ein Hund.", CODES, ">>deu<<") == ">>deu<< Ein Hund."
    assert with_code(text, (), CODES) == "Ein Hund."
    assert with_code(text, CODES) == text
