"""Compiled catalogues of texts: `catalogues/CODE/LC_MESSAGES/headlight.mo`, built from the `.po` file beside each."""

import functools
from gettext import GNUTranslations, NullTranslations
from io import BytesIO
from pathlib import Path

CATALOGUES = Path(__file__).parent / "catalogues"
DOMAIN = "headlight"
ENGLISH = "en"


def text_file(code: str) -> Path:
    """Return the path of a language's texts, which translators edit; the compiled ones are beside it, as `.mo`."""
    return CATALOGUES / code / "LC_MESSAGES" / f"{DOMAIN}.po"


@functools.cache
def translations(code: str) -> NullTranslations:
    """Read the texts of a language; those of English are its keys.

    The installation compiles them. A `.po` file that has changed since, in a clone, is compiled here, in memory.

    Raises:
        FileNotFoundError: if the installation has no texts of the language.
    """
    if code == ENGLISH:
        return NullTranslations()
    edited = text_file(code)
    compiled = edited.with_suffix(".mo")
    if not compiled.exists() and not edited.exists():
        raise FileNotFoundError(
            f"found neither {compiled} nor {edited.name}, expected the texts of the language {code!r}: install "
            "Headlight again"
        )
    if compiled.exists() and not (edited.exists() and edited.stat().st_mtime_ns > compiled.stat().st_mtime_ns):
        return GNUTranslations(BytesIO(compiled.read_bytes()))
    return GNUTranslations(BytesIO(compiled_texts(edited)))


def compiled_texts(edited: Path) -> bytes:
    """Return a `.po` file in the format of `.mo` files; fuzzy texts are left out, so they show in English."""
    from babel.messages.mofile import write_mo
    from babel.messages.pofile import read_po

    compiled = BytesIO()
    with edited.open("rb") as file:
        write_mo(compiled, read_po(file))
    return compiled.getvalue()
