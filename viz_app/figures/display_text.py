"""Text from elsewhere, made safe for where it is shown."""

import re
import unicodedata
from typing import Literal

Direction = Literal["ltr", "rtl", ""]
RIGHT_TO_LEFT = ("R", "AL")  # Bidi_Class of the letters of Hebrew, of Arabic, and of their relatives


def plain(text: str) -> str:
    """Text as it is, where Markdown is read."""
    return re.sub(r"([\\`*_{}\[\]()<>#+\-.!|~$:])", r"\\\1", text)


def isolated(text: str) -> str:
    """Text that may be read from the right, so that what stands around it stays where it is."""
    turns = any(unicodedata.bidirectional(character) in RIGHT_TO_LEFT for character in text)
    return f"\u2068{text}\u2069" if turns else text  # FIRST STRONG ISOLATE, POP DIRECTIONAL ISOLATE


def direction(text: str) -> Direction:
    """Where most letters of a text are read from, as HTML's `dir`, whatever the first one is; without letters "", so
    as the text around it.
    """
    classes = [unicodedata.bidirectional(character) for character in text]
    right, left = sum(found in RIGHT_TO_LEFT for found in classes), classes.count("L")
    return "" if right == left == 0 else "rtl" if right > left else "ltr"


def decimal(value: float, digits: int, sign: bool = False) -> str:
    """A number to be read: a minus and not a hyphen before it, and with `sign` a plus."""
    return format(value, f"{'+' if sign else ''}.{digits}f").replace("-", "\u2212").replace("inf", "\u221e")


def sentence_case(message: str) -> str:
    """An error's message as a sentence, where Markdown is read."""
    return plain(message[:1].upper() + message[1:] + ("" if message.endswith(".") else "."))


def shortened(text: str, length: int = 80) -> str:
    """At most `length` characters, the last a mark that there were more."""
    return text if len(text) <= length else text[: length - 1].rstrip() + "\u2026"
