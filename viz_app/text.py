"""Text from elsewhere, made safe for where it is shown."""

import re


def plain(text: str) -> str:
    """Text as it is, where Markdown is read."""
    return re.sub(r"([\\`*_{}\[\]()<>#+\-.!|~$:])", r"\\\1", text)


def sentence_case(message: str) -> str:
    """An error's message as a sentence, where Markdown is read."""
    return plain(message[:1].upper() + message[1:] + ("" if message.endswith(".") else "."))


def shortened(text: str, length: int = 80) -> str:
    """At most `length` characters, the last a mark that there were more."""
    return text if len(text) <= length else text[: length - 1].rstrip() + "\u2026"
