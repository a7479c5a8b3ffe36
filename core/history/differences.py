"""Checkpoints in 16 bits as the differences from the one before.

A difference is that of the places of two numbers among all numbers of 16 bits in their order, which is the same for
float16 and bfloat16. It is stored with its sign in the lowest bit, so that small ones of both signs have the same high
byte. Less is left to compress of a weight that has moved little.
"""

import zlib

import numpy as np

LENGTH_BYTES = 8  # at the start of a safetensors file: the length of its header
CHECKSUM_BYTES = 4
Data = bytes | bytearray | memoryview


def difference(data: Data, before: Data) -> bytes:
    """Return the difference of a safetensors file from another one.

    Raises:
        ValueError: their tensors take different numbers of bytes.
    """
    (header, tensors), (_, others) = _parts(data), _parts(before)
    if len(tensors) != len(others):
        raise ValueError(f"the tensors take {len(tensors)} and {len(others)} bytes, expected the same number")
    delta = _in_order(_words(tensors)) - _in_order(_words(others))
    return b"".join((_checksum(before), header, ((delta << 1) ^ (delta >> 15)).tobytes(), _odd_byte(tensors)))


def restored(packed: Data, before: Data) -> bytes:
    """Return the file of which `packed` is the `difference`.

    Args:
        packed: untrusted.

    Raises:
        ValueError: it is damaged, or the difference from another file.
    """
    if packed[:CHECKSUM_BYTES] != _checksum(before):
        raise ValueError("is the difference from another snapshot than the one before it")
    header, stored = _parts(memoryview(packed)[CHECKSUM_BYTES:])
    others = _parts(before)[1]
    if len(stored) != len(others):
        raise ValueError(f"has {len(stored)} bytes of differences, expected {len(others)}")
    words = _words(stored)
    delta = ((words >> 1) & 0x7FFF) ^ -(words & 1)
    return b"".join((header, _in_order(_in_order(_words(others)) + delta).tobytes(), _odd_byte(stored)))


def _parts(data: Data) -> tuple[memoryview, memoryview]:
    """The header of a safetensors file, with its length, and its tensors."""
    view = memoryview(data)
    end = LENGTH_BYTES + int.from_bytes(view[:LENGTH_BYTES], "little")
    return view[:end], view[end:]


def _words(data: memoryview) -> np.ndarray:
    return np.frombuffer(data, "<i2", len(data) // 2)


def _odd_byte(data: memoryview) -> memoryview:
    return data[len(data) // 2 * 2 :]


def _in_order(words: np.ndarray) -> np.ndarray:
    """Turn numbers of 16 bits into integers in the same order, or back.

    Of a word with its sign bit set, all other bits are reversed: the larger they are, the lower is the number.
    """
    return words ^ ((words >> 15) & 0x7FFF)


def _checksum(data: Data) -> bytes:
    return zlib.crc32(data).to_bytes(CHECKSUM_BYTES, "little")
