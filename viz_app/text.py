"""Text from elsewhere, made safe for where it is shown."""

import re
import unicodedata


def plain(text: str) -> str:
    """Text as it is, where Markdown is read."""
    return re.sub(r"([\\`*_{}\[\]()<>#+\-.!|~$:])", r"\\\1", text)


def isolated(text: str) -> str:
    """Text that may be read from the right, so that what stands around it stays where it is."""
    turns = any(unicodedata.bidirectional(character) in ("R", "AL") for character in text)
    return f"\u2068{text}\u2069" if turns else text  # FIRST STRONG ISOLATE, POP DIRECTIONAL ISOLATE


def sentence_case(message: str) -> str:
    """An error's message as a sentence, where Markdown is read."""
    return plain(message[:1].upper() + message[1:] + ("" if message.endswith(".") else "."))


def shortened(text: str, length: int = 80) -> str:
    """At most `length` characters, the last a mark that there were more."""
    return text if len(text) <= length else text[: length - 1].rstrip() + "\u2026"
