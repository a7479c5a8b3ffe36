"""Bring the catalogues up to date with the code, and list the texts that they lack: `python -m viz_app.language`.

A changed text keeps its translation, marked as fuzzy, until somebody has read it and taken the mark away; until then,
as without a translation, it shows in English.
"""

import sys
from copy import deepcopy
from io import BytesIO
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po, write_po

from viz_app.language import ENGLISH, LANGUAGES
from viz_app.language.catalogue_files import compiled_texts, text_file
from viz_app.language.checks import faults, missing
from viz_app.language.extraction import template

HEADERS = ("Language", "Plural-Forms", "MIME-Version", "Content-Type", "Content-Transfer-Encoding")
WIDTH = 100  # columns of a line


def main(arguments: list[str]) -> int:
    """Run the command, and return its exit status: 1 if a translation has other values or forms than its text."""
    if arguments:
        print(f"expected no arguments, found {' '.join(arguments)}", file=sys.stderr)
        return 2
    print(f"{len(template()):,} texts")
    has_faults = False
    for code in (code for code in LANGUAGES if code != ENGLISH):
        catalog = updated(text_file(code), code)
        lacking, wrong = missing(catalog), list(faults(catalog))
        print(f"{code}: {len(lacking):,} missing, {len(wrong):,} wrong, in {text_file(code)}")
        print(
            "".join(f"  missing: {text!r}\n" for text in lacking) + "".join(f"  {fault}\n" for fault in wrong), end=""
        )
        has_faults |= bool(wrong)
    return int(has_faults)


def updated(path: Path, code: str) -> Catalog:
    """Update a catalogue, which need not exist yet, by the texts of the code, write it, compile it, and return it."""
    catalog = read_po(BytesIO(path.read_bytes() if path.exists() else b""), locale=code)
    catalog.update(deepcopy(template()), update_creation_date=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content(catalog))
    path.with_suffix(".mo").write_bytes(compiled_texts(path))
    return catalog


def content(catalog: Catalog) -> bytes:
    """Return a `.po` file that changes only where texts do: sorted, without numbers of lines and dates."""
    for message in catalog:
        message.flags -= {"python-format", "python-brace-format"}  # Babel's guess, also of "10 % of"
        # `#| msgid "English of before"`, by other tools: Babel reads it as a comment of the translator.
        message.user_comments = [each for each in message.user_comments if not each.startswith("|")]
    file = BytesIO()
    headers = dict(catalog.mime_headers)
    lines = "".join(f'"{name}: {headers[name]}\\n"\n' for name in HEADERS)
    file.write(f'msgid ""\nmsgstr ""\n{lines}\n'.encode())
    write_po(file, catalog, width=WIDTH, omit_header=True, sort_output=True, ignore_obsolete=True, include_lineno=False)
    return file.getvalue()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
