"""Text of unknown origin, escaped for the place where it is shown."""

import re
import unicodedata
from typing import Literal

from viz_app.language import localized

Direction = Literal["ltr", "rtl", ""]
FULL_STOPS = (".", "\u3002")  # the second one is Chinese
RIGHT_TO_LEFT = ("R", "AL")  # Bidi_Class of the letters of Hebrew, of Arabic, and of their relatives

_ISOLATES: dict[Direction, str] = {"": "\u2068", "ltr": "\u2066", "rtl": "\u2067"}  # FIRST STRONG, LEFT-TO-RIGHT, ...


def plain(text: str) -> str:
    """Escape text for Markdown, with question marks for invalid characters; it stays in one line."""
    in_a_line = re.sub(r"\s*[\n\r]\s*", " ", text.encode(errors="replace").decode())
    escaped = re.sub(r"([\\`*_{}\[\]()<>#+\-.!|~$:&=])", r"\\\1", in_a_line)
    return re.sub(r"^[ \t]+", lambda spaces: "&#32;" * len(spaces[0]), escaped)  # which would begin a block of code


def isolated(text: str, reads: Direction = "") -> str:
    """Isolate right-to-left text from the text around it; it reads as its first letter, or as given."""
    turns = any(unicodedata.bidirectional(character) in RIGHT_TO_LEFT for character in text)
    return f"{_ISOLATES[reads]}{text}\u2069" if turns else text  # POP DIRECTIONAL ISOLATE


def in_line(text: str, line: Direction) -> str:
    """Isolate a token that would change the order of those around it, in a line of this reading direction.

    Tokens that read in the direction of their line are left alone, as cursive letters join across them.
    """
    if line != "rtl":
        return isolated(text)
    return text if direction(text) == "rtl" else f"\u2068{text}\u2069"


def direction(text: str) -> Direction:
    """Return the direction of most letters, as HTML's `dir`; without letters "", the direction around the text."""
    classes = [unicodedata.bidirectional(character) for character in text]
    right, left = sum(kind in RIGHT_TO_LEFT for kind in classes), classes.count("L")
    return "" if right == left == 0 else "rtl" if right > left else "ltr"


def decimal(value: float, digits: int, sign: bool = False) -> str:
    """Format a number in the visitor's language, with `sign` also with a plus sign."""
    return localized(value, f"{'+' if sign else ''}.{digits}f")


def sentence_case(message: str) -> str:
    """Return an error message as a sentence, escaped for Markdown.

    The name of a file or a setting at its beginning stays as it is.
    """
    begins_with_name = re.match(r"\S*\w[./_]\w", message)
    first = message[:1] if begins_with_name else message[:1].upper()
    return plain(first + message[1:] + ("" if message.endswith(FULL_STOPS) else "."))


def shortened(text: str, length: int = 80) -> str:
    """Return at most `length` characters, with an ellipsis if there are more."""
    return text if len(text) <= length else text[: length - 1].rstrip() + "\u2026"
