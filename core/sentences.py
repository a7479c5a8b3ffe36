"""Text to sentences, by a simple rule, such that nothing between them is lost."""

import re

ENDS = (".", "!", "?", "…")
# may stand between a sentence's end and the white space; German closes with the English opening quotes
CLOSERS = "\"')]}»”’“‘"


def split_sentences(text: str) -> list[tuple[str, str]]:
    """Split at line breaks, and at white space that follows . ! ? or an ellipsis unless a lower-case letter comes next.

    So "e.g. this" stays whole; "Mr. Smith" does not.

    Returns:
        Pairs of a sentence and the white space after it: joined, they are the text again. The first sentence is empty
        if the text begins with white space; no other one is.
    """
    pairs: list[tuple[str, str]] = []
    start = word = 0  # where the sentence and its last word begin
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
