"""Sentence splitting by a simple rule that loses no text."""

import re
from collections.abc import Iterable

LANGUAGE_CODES = re.compile(r"(>>[^<>\s]+<<\s*)+")  # such as `>>fra<<`, at the start of a source
ENDS = (".", "!", "?", "…")
# allowed between the end of a sentence and white space; German closing quotes are the English opening ones
CLOSERS = "\"')]}»”’“‘"


def split_sentences(text: str) -> list[tuple[str, str]]:
    """Split at line breaks, and at white space after . ! ? or an ellipsis.

    No split is made before a lower-case letter: "e.g. this" stays whole; "Mr. Smith" does not.

    Returns:
        Pairs of a sentence and the white space after it; joined, they are the text. The first sentence is empty if the
        text begins with white space; no other is.
    """
    pairs: list[tuple[str, str]] = []
    start = word = 0  # start of the sentence, and of its last word
    for gap in re.finditer(r"\s+", text):
        ended = (
            text[word : gap.start()].rstrip(CLOSERS).endswith(ENDS) and not text[gap.end() : gap.end() + 1].islower()
        )
        if gap.start() == 0 or gap.end() == len(text) or "\n" in gap[0] or ended:
            pairs.append((text[start : gap.start()], gap[0]))
            start = gap.end()
        word = gap.end()
    if start < len(text):
        pairs.append((text[start:], ""))
    return pairs


def with_language_codes(sentences: Iterable[str]) -> list[str]:
    """Begin every sentence with the language codes that apply to it.

    They are those that the last sentence before it began with. A sentence with codes of its own keeps them.
    """
    found: list[str] = []
    codes = ""
    for sentence in sentences:
        own = LANGUAGE_CODES.match(sentence)
        found.append(sentence if own else codes + sentence)
        codes = own[0] if own else codes
    return found
