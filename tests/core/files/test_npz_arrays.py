import io
import tracemalloc
import warnings
import zipfile

import numpy as np
import pytest

from core.files.npz_arrays import npz_arrays


def archive(**arrays: object) -> io.BytesIO:
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)  # pyright: ignore[reportArgumentType]
    return file


def test_arrays_of_every_type_and_order() -> None:
    numbers = np.arange(6, dtype=np.float32).reshape(2, 3)
    arrays = {
        "rows": numbers,
        "columns": np.asfortranarray(numbers),
        "texts": np.array(["a", "\u00e4\u00f6"]),
        "none": np.zeros((0, 3), np.uint16),
        "one": np.array(0.5),
        "other_end": numbers.astype(">f2"),
    }
    found = npz_arrays(archive(**arrays))
    assert found.keys() == arrays.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array, strict=True)
    found["rows"][0] = 1  # may be modified


def test_claimed_sizes_take_no_memory() -> None:
    file, header = io.BytesIO(), io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (10**8,)})
    with zipfile.ZipFile(file, "w") as entries:
        entries.writestr("huge.npy", header.getvalue())
    tracemalloc.start()
    with pytest.raises(ValueError, match=r"the array 'huge' has type float64 and shape \[100000000\], in 128 b"):
        npz_arrays(file)
    assert tracemalloc.get_traced_memory()[1] < 2**20
    tracemalloc.stop()


def test_a_name_that_is_there_twice() -> None:
    file = archive(a=np.zeros(1))
    with warnings.catch_warnings(action="ignore"), zipfile.ZipFile(file, "a") as entries:
        entries.writestr("a.npy", b"")
    with pytest.raises(ValueError, match="damaged: two arrays have the same name"):
        npz_arrays(file)


def test_the_limit() -> None:
    file = archive(a=np.zeros(100, np.uint8))
    assert npz_arrays(file, max_bytes=228).keys() == {"a"}
    with pytest.raises(ValueError, match=r"^it has \d+ bytes and would unpack to 228, at most 227 are read$"):
        npz_arrays(file, max_bytes=227)


@pytest.mark.parametrize("order", "<>")
def test_characters_beyond_unicode(order: str) -> None:
    points = np.array([[0x61, 0x10FFFF], [0x110000, 0]], f"{order}u4")
    texts = points.view(f"{order}U2")
    assert npz_arrays(archive(texts=texts[:1]))["texts"].tolist() == [["a\U0010ffff"]]
    for each in (texts, texts.T, np.asfortranarray(np.hstack([texts, texts]))):
        with pytest.raises(ValueError, match=r"the array 'texts' has the character 0x110000, the largest one is U\+10"):
            npz_arrays(archive(texts=each))


def test_empty_texts() -> None:
    for texts in (np.array(["", ""]), np.zeros((0, 3), "U5"), np.zeros(2, "U0")):
        assert npz_arrays(archive(texts=texts))["texts"].tolist() == texts.tolist()


def test_a_small_file_unpacks_to_little() -> None:
    """In any case 16 MB, and beyond that 20 times its size."""
    file = archive(a=np.zeros(2**25, np.uint8))
    tracemalloc.start()
    with pytest.raises(ValueError, match=r"^it has \d+ bytes and would unpack to 33554560, at most 174\d+ are read$"):
        npz_arrays(file)
    assert tracemalloc.get_traced_memory()[1] < 2**20
    tracemalloc.stop()
