"""Scores of a model that reads pictures: character error rate and exact lines."""

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from core.images.line_reader import LineReader
from core.images.patches import Pixels, from_patches
from train.data.token_shards import DataError, TokenShards
from train.eval.progress_bar import sentence_bar
from train.runs.provenance import now


@dataclass(frozen=True)
class LineScore:
    """The score of a reader with one search setting on a set of pictures."""

    test_set: str
    sentences: int  # number of lines
    # insertions, deletions and substitutions that turn what was read into the texts, in per cent of their characters
    character_error_rate: float
    exact_lines: float  # lines without an error, in per cent
    beam_size: int
    length_penalty: float
    seconds: float  # search time
    date: str

    def __str__(self) -> str:
        return (
            f"{self.test_set}: {self.sentences} lines, beam {self.beam_size}, length penalty {self.length_penalty}, "
            f"{self.seconds:.1f} s\n"
            f"  character error rate {self.character_error_rate:.2f} %  exact lines {self.exact_lines:.1f} %"
        )

    def facts(self) -> dict[str, object]:
        """Return the score as checkpoints record it, with rounded numbers."""
        return {name: round(value, 2) if isinstance(value, float) else value for name, value in asdict(self).items()}


def edit_distance(read: str, text: str) -> int:
    """Return the smallest number of insertions, deletions and substitutions that turn one text into the other.

    Levenshtein 1966, by dynamic programming (Wagner & Fischer 1974).
    """
    above = list(range(len(text) + 1))
    for row, character in enumerate(read, 1):
        line = [row]
        for column, expected in enumerate(text, 1):
            line.append(min(above[column] + 1, line[-1] + 1, above[column - 1] + (character != expected)))
        above = line
    return above[-1]


def pictures_of(folder: Path, reader: LineReader) -> tuple[list[Pixels], list[str]]:
    """Return the pictures and texts of a part of the output of `prepare-lines`.

    Raises:
        DataError: they cannot be read, or have patches of another size than the reader's.
    """
    shards = TokenShards(folder)
    if shards.patch_pixels != reader.patch_size**2:
        content = f"patches of {shards.patch_pixels} pixels" if shards.patch_pixels else "text"
        raise DataError(
            f"{folder} has {content}, the model reads patches of {reader.patch_size**2} pixels: give a test set of "
            f"`python -m train prepare-lines`"
        )
    indices = np.arange(len(shards))
    patches, count = shards.side(0, indices)
    images = [from_patches(part, reader.patch_size, reader.rows) for part in np.split(patches, np.cumsum(count)[:-1])]
    return images, [reader.translator.tokenizer.decode(shards.pair(index)[1]) for index in range(len(shards))]


def evaluate_lines(
    reader: LineReader, name: str, images: Sequence[Pixels], texts: Sequence[str], beam_size: int, length_penalty: float
) -> tuple[LineScore, list[str]]:
    """Read pictures, and return the score and the texts read, in the same order."""
    began = time.perf_counter()
    with sentence_bar(name, len(images)) as show:
        read_texts = [line.text for line in reader.read_batch(images, beam_size, length_penalty, show)]
    seconds = time.perf_counter() - began
    edits = [edit_distance(*pair) for pair in zip(read_texts, texts, strict=True)]
    return LineScore(
        test_set=name,
        sentences=len(texts),
        character_error_rate=100 * sum(edits) / sum(map(len, texts)),
        exact_lines=100 * sum(not number for number in edits) / len(edits),
        beam_size=beam_size,
        length_penalty=length_penalty,
        seconds=seconds,
        date=now(),
    ), read_texts
