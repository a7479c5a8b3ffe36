"""Texts of languages for tests: small ones of their own, and those of the catalogues."""

from collections.abc import Mapping
from gettext import NullTranslations

from babel.messages.pofile import read_po

from viz_app.language.catalogue_files import text_file


class Texts(NullTranslations):
    """Texts by their English, that for 1; a list has the forms for 1 and for other numbers."""

    def __init__(self, own: Mapping[str, str | list[str]]) -> None:
        super().__init__()
        self.own = own

    def gettext(self, message: str) -> str:
        return str(self.own.get(message, message))

    def ngettext(self, msgid1: str, msgid2: str, n: int) -> str:
        return self.own.get(msgid1, [msgid1, msgid2])[n != 1]


def own_texts(code: str) -> dict[str, str]:
    """Read the texts of a language that depend on no number."""
    with text_file(code).open("rb") as file:
        return {str(each.id): str(each.string) for each in read_po(file) if each.id and not each.pluralizable}
