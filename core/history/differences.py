"""Checkpoints in 16 bits as the differences from the one before.

A difference is that of the places of two numbers among all numbers of 16 bits in their order, which is the same for
float16 and bfloat16. It is stored with its sign in the lowest bit, so that small ones of both signs have the same high
byte. Less is left to compress of a weight that has moved little.
"""

import zlib

import numpy as np

LENGTH_BYTES = 8  # of a safetensors file's header, which they tell the length of
CHECKSUM_BYTES = 4


def difference(data: bytes, before: bytes) -> bytes:
    """Return what is left of a safetensors file when another one is known.

    Raises:
        ValueError: their tensors take different numbers of bytes.
    """
    (header, words), (_, others) = _parts(data), _parts(before)
    if len(words) != len(others):
        raise ValueError(f"the tensors take {len(words)} and {len(others)} bytes, expected the same number")
    delta = _places(words) - _places(others)
    return _checksum(before) + header + ((delta << 1) ^ (delta >> 15)).tobytes() + _odd(words)


def restored(packed: bytes, before: bytes) -> bytes:
    """Return the file of which `packed` is the `difference`.

    Args:
        packed: untrusted.

    Raises:
        ValueError: it is damaged, or the difference from another file.
    """
    if packed[:CHECKSUM_BYTES] != _checksum(before):
        raise ValueError("is the difference from another snapshot than the one before it")
    header, stored = _parts(packed[CHECKSUM_BYTES:])
    others = _parts(before)[1]
    if len(stored) != len(others):
        raise ValueError(f"has {len(stored)} bytes of differences, expected {len(others)}")
    words = np.frombuffer(stored, "<i2", len(stored) // 2)
    delta = ((words >> 1) & 0x7FFF) ^ -(words & 1)
    return header + _numbers(_places(others) + delta).tobytes() + _odd(stored)


def _parts(data: bytes) -> tuple[bytes, bytes]:
    """The header of a safetensors file, with its length, and its tensors."""
    end = LENGTH_BYTES + int.from_bytes(data[:LENGTH_BYTES], "little")
    return data[:end], data[end:]


def _places(data: bytes) -> np.ndarray:
    """The places of numbers of 16 bits, from the lowest: -0 just before 0."""
    return _numbers(np.frombuffer(data, "<i2", len(data) // 2))


def _numbers(places: np.ndarray) -> np.ndarray:
    """Undo `_places`: the other bits of a number with a sign are reversed, twice."""
    return places ^ ((places >> 15) & 0x7FFF)


def _odd(data: bytes) -> bytes:
    return data[len(data) // 2 * 2 :]


def _checksum(data: bytes) -> bytes:
    return zlib.crc32(data).to_bytes(CHECKSUM_BYTES, "little")
