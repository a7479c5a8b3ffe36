"""Sentences for measurements on a sample: a shipped list, or a visitor's own."""

from core.analysis.sample_sentences import EVERYDAY
from core.text.text_files import split_lines
from viz_app.language import RefusedError
from viz_app.session.uploaded_text import decoded

MAX_SENTENCES = 500
MAX_BYTES = 2**20  # of an uploaded text
# in the address: which sample was measured, the shipped one or the visitor's own, whose sentences the address lacks
SHIPPED_NAME, OWN_NAME = "shipped", "own"
SHIPPED = EVERYDAY


def sample_name(sentences: tuple[str, ...]) -> str:
    """Return the name of a sample in the address."""
    return SHIPPED_NAME if sentences == SHIPPED else OWN_NAME


def sentences_of(text: str) -> tuple[str, ...]:
    """Split text into sentences, one per line; blank lines are skipped.

    Raises:
        ValueError: there is none, or there are too many.
    """
    sentences = tuple(line.strip() for line in split_lines(text) if line.strip())
    if not sentences:
        raise RefusedError("there is no sentence in this text: enter one per line")
    if len(sentences) > MAX_SENTENCES:
        raise RefusedError(
            "the text has {count} lines, at most {most} can be scored: shorten it",
            count=len(sentences),
            most=MAX_SENTENCES,
        )
    return sentences


def uploaded_sentences(name: str, content: bytes) -> tuple[str, ...]:
    """Split an uploaded text file into sentences, one per line.

    Raises:
        ValueError: it is too large or not UTF-8, or as `sentences_of`.
    """
    return sentences_of(decoded(name, content, MAX_BYTES))
