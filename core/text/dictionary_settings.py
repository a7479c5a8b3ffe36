"""Settings of `core.text.dictionary_tokenizer` about languages."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from core.files.number_range import NumberRange

TARGET_TOKENS = NumberRange(int, 1, 512)
MAX_PREFIX = 200  # characters
LANGUAGE = re.compile(r"[A-Za-z][A-Za-z_-]{0,15}")


def language_of(settings: Mapping[str, Any], name: str) -> str:
    """Code of a language, "" if it is not set.

    Raises:
        ValueError: the value is not a code.
    """
    code = settings.get(name)
    if code is None:
        return ""
    if not isinstance(code, str) or not LANGUAGE.fullmatch(code):
        raise ValueError(f"{name} is {code!r:.60}, expected the code of a language such as 'en'")
    return code


def no_end_of(settings: Mapping[str, Any]) -> tuple[int | None, dict[str, str]]:
    """`target_tokens` and `aliases`, or raise a `ValueError` if they are no number of tokens or no object of pieces."""
    number, aliases = settings.get("target_tokens"), settings.get("aliases", {})
    is_object = isinstance(aliases, dict) and all(isinstance(each, str) for each in cast("Any", aliases).values())
    if (number is not None and number not in TARGET_TOKENS) or not is_object:
        raise ValueError(f"target_tokens is {number!r:.60} and aliases {aliases!r:.60}, expected a number and pieces")
    return number, cast("dict[str, str]", aliases)


def language_ids(settings: Mapping[str, Any], ids: Mapping[str, int], used: Sequence[str]) -> dict[str, int]:
    """Ids of the pieces of languages by code.

    Raises:
        ValueError: `languages` is not an object of pieces, or lacks a language that is used.
    """
    languages = settings.get("languages", {})
    if not isinstance(languages, dict):
        raise ValueError(f"languages is {languages!r:.60}, expected an object of pieces")
    ids_by_code: dict[str, int] = {}
    for code, piece in cast("dict[str, Any]", languages).items():
        if not LANGUAGE.fullmatch(code) or not isinstance(piece, str) or piece not in ids:
            raise ValueError(f"the piece of the language {code!r:.60} is {piece!r:.60}, expected one of the dictionary")
        ids_by_code[code] = ids[piece]
    if ids_by_code and (missing := [code for code in used if code not in ids_by_code]):
        raise ValueError(f"languages has no {missing[0]!r:.60}")
    return ids_by_code


def prefixes_of(settings: Mapping[str, Any], default: str) -> dict[str, str]:
    """Texts before a source by the code of its target.

    Raises:
        ValueError: `prefixes` is not an object of texts, or lacks the default target.
    """
    prefixes = settings.get("prefixes", {})
    if not isinstance(prefixes, dict):
        raise ValueError(f"prefixes is {prefixes!r:.60}, expected an object of texts")
    for code, text in cast("dict[str, Any]", prefixes).items():
        if not LANGUAGE.fullmatch(code) or not isinstance(text, str) or not 0 < len(text) <= MAX_PREFIX:
            raise ValueError(
                f"the prefix of the language {code!r:.60} is {text!r:.60}, expected a text of at most {MAX_PREFIX} "
                f"characters"
            )
        text.encode()
    if prefixes and default not in prefixes:
        raise ValueError(f"prefixes has no {default!r:.60}")
    return prefixes
