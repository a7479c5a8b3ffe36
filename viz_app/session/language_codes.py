"""Codes of target languages, such as `>>fra<<`, with which a sentence begins for a model with several."""

from collections.abc import Sequence

from viz_app.session.models import Model

MARK = ">>"  # begins every code


def codes_of(model: Model) -> tuple[str, ...]:
    """Return the codes of a model, that of its default target first.

    There are none for a model with one target language, and without a model.
    """
    if model.explanation is not None:
        return ()
    tokenizer = model.translator.tokenizer
    return tuple(sorted(tokenizer.language_codes, key=lambda code: code.strip("<>") != tokenizer.languages[1]))


def leading_codes(text: str, codes: Sequence[str]) -> str:
    """Return the beginning of a text that has only codes: of its target or, in some models, of source and target."""
    rest = text
    while code := max((code for code in codes if rest.startswith(code)), key=len, default=""):
        rest = rest.removeprefix(code).lstrip()
    return text.removesuffix(rest)


def code_of(text: str, codes: Sequence[str]) -> str:
    """Return the code of the target at the beginning of a text, or ""."""
    beginning = leading_codes(text, codes).rstrip()
    return max((code for code in codes if beginning.endswith(code)), key=len, default="")


def with_target(text: str, codes: Sequence[str], code: str) -> str:
    """Return a text with another code of its target; that of its source stays."""
    beginning = leading_codes(text, codes)
    return f"{beginning.rstrip().removesuffix(code_of(text, codes))}{code} {text.removeprefix(beginning)}"


def with_code(text: str, codes: Sequence[str], before: Sequence[str] = (), last: str = "") -> str:
    """Return a text as a model with these codes expects it.

    Args:
        codes: of the model; none if it has one target language.
        before: codes of another model that the text was for: those at its start are left out.
        last: the code to begin with, if it is one of them; by default the first one.
    """
    old = code_of(text, before)
    if old and old not in codes:
        text = text.removeprefix(leading_codes(text, before))
    if codes and text.strip() and not text.startswith(MARK) and not code_of(text, codes):
        return f"{last if last in codes else codes[0]} {text}"
    return text
