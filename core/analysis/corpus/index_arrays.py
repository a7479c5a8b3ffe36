"""Arrays of an untrusted corpus index, checked before they are used."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]


class CorpusIndexError(ValueError):
    """The file is not a usable corpus index; the message says why."""


def text_of(arrays: Arrays, name: str, most: int) -> str:
    """A text of at most so many bytes."""
    data = array_of(arrays, name, np.uint8, None)
    if data.size > most:
        raise CorpusIndexError(f"its {name} has {data.size} bytes, at most {most} are read")
    return data.tobytes().decode()


def array_of(arrays: Arrays, name: str, dtype: type[np.generic], shape: tuple[int, ...] | None) -> NDArray[Any]:
    """An array of this type and shape; None for any shape of one axis."""
    array = arrays.get(name)
    if array is None:
        raise CorpusIndexError(f"the array {name!r} is missing")
    if array.dtype != dtype or (array.shape != shape if shape is not None else array.ndim != 1):
        wanted = f"{np.dtype(dtype)} {list(shape) if shape is not None else '[any]'}"
        raise CorpusIndexError(f"{name} is {array.dtype} {list(array.shape)}, expected {wanted}")
    return array


def check_places(
    values: NDArray[Any],
    sentences: NDArray[Any],
    lengths: NDArray[Any],
    sides: NDArray[Any],
    positions: tuple[NDArray[Any], ...],
) -> None:
    """Check that every example is in a sentence, by their lengths [N, 2] and the sides [..., 1, len(positions)]."""
    is_example = values > 0
    if (sentences[is_example] >= len(lengths)).any():
        raise CorpusIndexError(f"it has an example beyond its {len(lengths)} sentences")
    for number, each in enumerate(positions):
        length = lengths[np.where(is_example, sentences, 0), np.broadcast_to(sides[..., number], sentences.shape)]
        if (is_example & (each >= length)).any():
            raise CorpusIndexError("it has an example beyond the end of its sentence")
