"""Differences between checkpoints in 16 bits: undone to the bit, small where weights moved little, and refused."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from core.history.differences import difference, restored


def file(tensors: bytes, header: bytes = b"{}") -> bytes:
    """A safetensors file, as far as differences look into it."""
    return len(header).to_bytes(8, "little") + header + tensors


@given(st.data(), st.integers(0, 9))
def test_a_difference_is_undone(data: st.DataObject, length: int) -> None:
    tensors, others = (data.draw(st.binary(min_size=length, max_size=length)) for _ in range(2))
    one, before = file(tensors, b'{"a": 1}'), file(others)
    assert restored(difference(one, before), before) == one


@pytest.mark.parametrize("of_others", [0, 1, 0x7FFF, 0x8000, 0xFFFF])
def test_all_numbers_of_16_bits_are_restored(of_others: int) -> None:
    every = np.arange(2**16, dtype="<u2")
    before = file(np.full_like(every, of_others).tobytes())
    assert restored(difference(file(every.tobytes()), before), before) == file(every.tobytes())


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_neighbours_differ_by_one_place(dtype: torch.dtype) -> None:
    """1 is stored for the next lower number, 2 for the next higher one."""
    numbers = torch.tensor([-2.0, -1.0, -1e-6, 1e-6, 1.0, 2.0], dtype=dtype)
    for direction, stored in ((-float("inf"), 1), (float("inf"), 2)):
        places = numbers.view(torch.int16) + torch.where((numbers > 0) == (direction > 0), 1, -1).short()
        neighbours = places.view(dtype)
        assert ((neighbours > numbers) == (direction > 0)).all()
        before = file(numbers.view(torch.int16).numpy().tobytes())
        found = difference(file(neighbours.view(torch.int16).numpy().tobytes()), before)
        assert np.frombuffer(found[-2 * len(numbers) :], "<i2").tolist() == [stored] * len(numbers)


def test_what_is_no_difference_from_the_file_is_refused() -> None:
    packed = difference(file(b"abcd"), file(b"efgh"))
    for before in (file(b"efgi"), b""):
        with pytest.raises(ValueError, match=r"^is the difference from another snapshot than the one before it$"):
            restored(packed, before)
    with pytest.raises(ValueError, match=r"^has 3 bytes of differences, expected 4$"):
        restored(packed[:-1], file(b"efgh"))
    with pytest.raises(ValueError, match=r"^the tensors take 3 and 4 bytes, expected the same number$"):
        difference(file(b"abc"), file(b"efgh"))
