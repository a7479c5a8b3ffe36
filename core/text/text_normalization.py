"""Normalisation of text before it becomes tokens, in training as in translation."""

from core.files.argument_types import require_type
from core.text.text_files import BOM

# Recorded in checkpoints as the training fact `text_normalization`. Those without it learned from text with its white
# space as it was, and have always translated with single spaces.
VERSION = 1


def normalized(text: str) -> str:
    """The text with single spaces for white space, none at its ends, and no byte-order mark in front.

    White space is defined as by `str.split`, no-break spaces and U+2028 included.

    Raises:
        TypeError: it is no text.
    """
    require_type("the text", text, str, "one text, such as 'A dog runs.'; translate_batch takes a list of them")
    return " ".join(text.removeprefix(BOM).split())
