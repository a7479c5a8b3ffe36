"""Settings of dictionary tokenizers, which come from untrusted files."""

from typing import Any

import pytest

from core.text.dictionary_settings import language_ids, language_of, prefixes_of


def test_settings_that_are_not_there() -> None:
    assert (language_of({}, "source_language"), language_ids({}, {}, ("", "")), prefixes_of({}, "")) == ("", {}, {})


def test_settings_that_are_there() -> None:
    assert language_of({"source_language": "en_XX"}, "source_language") == "en_XX"
    assert language_ids({"languages": {"de": "__de__"}}, {"__de__": 7}, ("de", "de")) == {"de": 7}
    assert prefixes_of({"prefixes": {"de": "to German: "}}, "de") == {"de": "to German: "}


@pytest.mark.parametrize(
    ("languages", "message"),
    [
        ([], r"^languages is \[\], expected an object of pieces$"),
        ({"de": 5}, r"^the piece of the language 'de' is 5, expected one of the dictionary$"),
        ({"../x": "__de__"}, r"^the piece of the language '../x' is '__de__', expected one of the dictionary$"),
        ({"de": "__de__"}, r"^languages has no 'en'$"),
    ],
)
def test_languages_that_are_none(languages: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        language_ids({"languages": languages}, {"__de__": 7}, ("en", "de"))


@pytest.mark.parametrize(
    ("prefixes", "message"),
    [
        ("a: ", r"^prefixes is 'a: ', expected an object of texts$"),
        ({"de": ""}, r"^the prefix of the language 'de' is '', expected a text of at most 200 characters$"),
        ({"de": 5}, r"^the prefix of the language 'de' is 5, expected a text of at most 200 characters$"),
        ({"d e": "a: "}, r"^the prefix of the language 'd e' is 'a: ', expected a text of at most 200 characters$"),
        ({"de": "\ud800"}, r"surrogates not allowed$"),
        ({"fr": "a: "}, r"^prefixes has no 'de'$"),
    ],
)
def test_prefixes_that_are_none(prefixes: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        prefixes_of({"prefixes": prefixes}, "de")


def test_a_language_that_is_none() -> None:
    with pytest.raises(ValueError, match=r"^source_language is '../x', expected the code of a language such as 'en'$"):
        language_of({"source_language": "../x"}, "source_language")
