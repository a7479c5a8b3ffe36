"""Files of the tokenizers of imported models, packed into one."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager

import safetensors.torch
import torch
from safetensors import SafetensorError

MAX_PIECE = 512  # characters


def pack_files(files: Mapping[str, bytes]) -> bytes:
    """All files as one, the inverse of `files_of`."""
    tensors = {name: torch.frombuffer(bytearray(data), dtype=torch.uint8) for name, data in files.items()}
    return safetensors.torch.save(tensors)


def files_of(data: bytes) -> dict[str, bytes]:
    """Files of `pack_files`.

    Raises:
        ValueError: the bytes are something else.
    """
    try:
        tensors = safetensors.torch.load(data)
    except SafetensorError as error:
        raise ValueError(f"these {len(data)} bytes are not the files of a tokenizer: {error}") from error
    strange = [name for name, tensor in tensors.items() if tensor.dtype != torch.uint8 or tensor.dim() != 1]
    if strange:
        raise ValueError(f"{strange[0]!r:.60} is not a file of a tokenizer: expected one row of bytes")
    return {name: tensor.numpy().tobytes() for name, tensor in tensors.items()}


def check_piece(piece: str) -> None:
    """Check a piece of an untrusted vocabulary.

    Raises:
        ValueError: it is too long, or has a lone surrogate.
    """
    if len(piece) > MAX_PIECE:
        raise ValueError(f"the piece {piece!r:.60} has {len(piece)} characters, at most {MAX_PIECE} are read")
    try:
        piece.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"the piece {piece!r:.60} has a lone surrogate") from error


@contextmanager
def naming(name: str) -> Generator[None]:
    """Prefix the message of a `ValueError` inside the block with a file name."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error
