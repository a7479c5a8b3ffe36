"""Sentences for measurements on a sample: a shipped list, or a visitor's own."""

from core.text.text_files import split_lines
from viz_app.language import marked, tr
from viz_app.session.uploaded_text import decoded

MAX_SENTENCES = 500
MAX_BYTES = 2**20  # of an uploaded text
TOO_LARGE = marked("{name} is larger than {most} MB: upload fewer sentences")
# in the address: which sample was measured, the shipped one or the visitor's own, whose sentences the address lacks
SHIPPED_NAME, OWN_NAME = "shipped", "own"

SHIPPED = (
    "A brown dog runs across the grass.",
    "Two children are sitting on a wooden bench in the park.",
    "I don't know where he lives.",
    "The woman in the red coat is waiting for the bus.",
    "Could you tell me how to get to the station?",
    "A man with a hat is playing the guitar on the street.",
    "She said that she would come back tomorrow.",
    "It was raining, so we stayed at home and read books.",
    "Three young women are laughing at a table in a restaurant.",
    "My father has worked in this factory for twenty years.",
    "The cat that sleeps on the sofa belongs to my neighbour.",
    "Do you want to eat something before we leave?",
    "A boy in a blue shirt jumps into the water.",
    "He has never been to Berlin, but he would like to go.",
    "The old house on the hill was sold last year.",
    "People are standing in front of a large building.",
    "If you are tired, you should go to bed early.",
    "A group of cyclists rides along the river.",
    "Nobody believed him when he told the truth.",
    "The little girl holds a balloon in her hand.",
    "We have to buy bread, milk, eggs and apples.",
    "Tom speaks French better than his teacher.",
    "A white bird is flying over the sea.",
    "The train was late because of the snow.",
    "Please close the window before it gets cold.",
    "An elderly couple is walking through the snow with two dogs.",
    "I would have helped you if you had asked me.",
    "The players of both teams are running after the ball.",
    "Is there a supermarket near the hotel?",
    "A mechanic is repairing a motorcycle in his garage.",
    "What she wrote in her letter surprised everyone.",
    "The street musicians have attracted a large crowd.",
)


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
        raise ValueError(tr("there is no sentence in this text: enter one per line"))
    if len(sentences) > MAX_SENTENCES:
        raise ValueError(
            tr(
                "the text has {count} lines, at most {most} can be scored: shorten it",
                count=len(sentences),
                most=MAX_SENTENCES,
            )
        )
    return sentences


def uploaded_sentences(name: str, content: bytes) -> tuple[str, ...]:
    """Split an uploaded text file into sentences, one per line.

    Raises:
        ValueError: it is too large or not UTF-8, or as `sentences_of`.
    """
    return sentences_of(decoded(name, content, MAX_BYTES, TOO_LARGE))
