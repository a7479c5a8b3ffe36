"""Lines whose translation may mean little are counted."""

from core.cli.file_translation.line_notes import LineNotes
from core.translator import Translator


def test_ordinary_lines_are_not_counted(translator: Translator) -> None:
    notes = LineNotes(translator)
    long = "It rains. " * 200  # was translated sentence by sentence
    lines = [b"A dog.\n", b"\n", b"\xff\n", b"It rains. We stay.\r\n", long.encode(), "It costs 3 \u20ac.".encode()]
    notes.add(0, lines, ["Hund.", "", "", "Es regnet. Wir bleiben.", "Es regnet.", "Es kostet 3 \u20ac.\tEs kostet 3."])
    assert notes.messages() == []


def test_the_first_line_of_each_kind_is_named(translator: Translator) -> None:
    notes = LineNotes(translator)
    notes.add(4, [b"A dog.", "A \ufb01sh. Where?\n".encode(), "A\u00ad dog.".encode()], ["E.", "F.\tF. W.", "E."])
    notes.add(7, [b"It rains. We stay. Where?"], ["Es regnet. Wo?"])
    unseen, shortened = notes.messages()
    assert unseen.startswith(
        "lines with characters that the vocabulary lacks: 2, the first is line 6 with \ufb01 (U+FB01);"
    )
    assert shortened.startswith("lines of several sentences whose translation has fewer: 2, the first is line 6;")
