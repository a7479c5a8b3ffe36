"""Damaged and hostile folders and archives."""

import errno
import os
import random
import stat
import zipfile
from pathlib import Path

import pytest

from core.formats.checkpoint import CheckpointError
from core.formats.importing import import_checkpoint
from core.formats.source_files import SourceFiles, archive_errors, open_source
from tests.core.formats.small_models import assert_refused
from tests.damage import damaged


def contents(files: SourceFiles) -> dict[str, bytes]:
    return {name: files.read(name) for name in files.names}


def write_archive(path: Path, entries: dict[str, bytes], mode: int = 0) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in entries.items():
            entry = zipfile.ZipInfo(name)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = mode << 16
            archive.writestr(entry, data)
    return path


def test_a_folder_an_archive_and_files_hold_the_same(tmp_path: Path) -> None:
    expected = {"config.json": b"{}", "vocab.json": b"[]"}
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "inner").mkdir()
    for name, data in expected.items():
        (folder / name).write_bytes(data)
    archive = write_archive(tmp_path / "model.zip", {f"model/{name}": data for name, data in expected.items()})
    for sources in ([folder], [archive], [folder / name for name in expected]):
        with open_source(sources) as files:
            assert contents(files) == expected
    with open_source([archive]) as files:
        unpacked = files.path("config.json")
    assert not unpacked.exists()


def test_links_stay_in_the_folder(tmp_path: Path) -> None:
    (tmp_path / "secret.json").write_text('{"password": 1}')
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    (folder / "again.json").symlink_to("config.json")
    with open_source([folder]) as files:
        assert contents(files) == {"config.json": b"{}", "again.json": b"{}"}
    (folder / "vocab.json").symlink_to("../secret.json")
    assert_refused(folder, r"^model: 'vocab.json' is a link to a file outside the folder")


def test_the_cache_of_hugging_face_is_made_of_links(tmp_path: Path) -> None:
    blobs, folder = tmp_path / "models--a--b" / "blobs", tmp_path / "models--a--b" / "snapshots" / "0123"
    blobs.mkdir(parents=True)
    folder.mkdir(parents=True)
    (blobs / "77").write_text("{}")
    (folder / "config.json").symlink_to("../../blobs/77")
    with open_source([folder]) as files:
        assert contents(files) == {"config.json": b"{}"}


@pytest.mark.parametrize(
    "name", ["../config.json", "/etc/config.json", "a/../../b.json", "..\\b.json", "C:b.json", "."]
)
def test_names_stay_in_the_archive(name: str, tmp_path: Path) -> None:
    archive = write_archive(tmp_path / "model.zip", {name: b"{}"})
    assert_refused(archive, r"^model.zip: the name '.*' leads out of the archive$")
    assert [path.name for path in tmp_path.rglob("*")] == ["model.zip"]


def test_links_in_an_archive_are_refused(tmp_path: Path) -> None:
    archive = write_archive(tmp_path / "model.zip", {"config.json": b"/etc/passwd"}, stat.S_IFLNK | 0o777)
    assert_refused(archive, r"^model.zip: 'config.json' is a link, expected only files$")


def test_weights_that_unpack_to_far_more_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At most to twice their size: three quarters of zeros are too many; a vocabulary compresses as well as that."""
    monkeypatch.setattr("core.files.budget.FREE_BYTES", 0)
    data = random.Random(0).randbytes(2**18) + bytes(3 * 2**18)
    archive = write_archive(tmp_path / "bomb.zip", {"model.safetensors": data, "tokenizer.json": b"{}"})
    assert_refused(archive, r"^bomb.zip has \d+ bytes and would unpack to 1048578, at most \d+ are")
    archive = write_archive(tmp_path / "bomb.zip", {"model.safetensors": b"{}", "vocab.json": data})
    assert_refused(archive, r"^bomb.zip: its files .* are of no known format")


def test_an_entry_larger_than_declared_is_cut(tmp_path: Path) -> None:
    """Both places that declare the size of an entry say 10 bytes: it unpacks to 1,000,000."""
    path = write_archive(tmp_path / "model.zip", {"config.json": bytes(1_000_000)})
    path.write_bytes(path.read_bytes().replace((1_000_000).to_bytes(4, "little"), (10).to_bytes(4, "little")))
    assert_refused(path, r"^model.zip is a damaged or unusual zip archive: copy or download it")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("\u00e4\n".encode("utf-16"), "v.txt is not UTF-8 text: it is UTF-16; convert it to UTF-8"),
        (b"a\n\xff", "v.txt is not UTF-8: 'utf-8' codec can't decode byte 0xff in position 2"),
    ],
)
def test_a_text_in_another_encoding_is_refused_by_its_name(content: bytes, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "v.txt"
    path.write_bytes(content)
    with open_source([tmp_path]) as files, pytest.raises(CheckpointError, match=f"^{tmp_path.name}: {problem}"):
        files.text("v.txt")
    path.write_bytes(b"\xef\xbb\xbfa\x00\xc2\x85\n")  # all but the mark may be in a piece
    with open_source([tmp_path]) as files:
        assert files.text("v.txt") == "a\x00\x85\n"


def test_two_files_of_one_name_are_refused(tmp_path: Path) -> None:
    archive = write_archive(tmp_path / "model.zip", {"a/config.json": b"{}", "b/config.json": b"{}"})
    assert_refused(archive, r"^model.zip has two files named 'config.json': give one checkpoint$")


def test_too_many_files_are_refused(tmp_path: Path) -> None:
    archive = write_archive(tmp_path / "model.zip", {str(number): b"" for number in range(1001)})
    assert_refused(archive, r"^model.zip has 1001 files, at most 1000 are read$")


def test_every_cut_of_an_archive_is_an_error(tmp_path: Path) -> None:
    data = write_archive(tmp_path / "model.zip", {"config.json": b"{}" * 50, "vocab.json": b"[]"}).read_bytes()
    for length in range(0, len(data), 7):
        (tmp_path / "cut.zip").write_bytes(data[:length])
        with pytest.raises(CheckpointError):
            import_checkpoint(tmp_path / "cut.zip")


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_damaged_archive_is_refused_or_unpacked(compression: int, tmp_path: Path) -> None:
    path, refused = tmp_path / "model.zip", 0
    with zipfile.ZipFile(path, "w", compression) as archive:
        archive.writestr("config.json", b"{}" * 50)
        archive.writestr("w\u00f6rter.txt", bytes(range(256)))
    data = path.read_bytes()
    for seed in range(100):
        path.write_bytes(damaged(data, random.Random(seed)))
        try:
            with open_source([path]) as files:
                contents(files)
        except CheckpointError:
            refused += 1
    assert refused > 50


def test_a_full_disk_is_no_damage(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No space left") as error, archive_errors("model.zip"):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert error.value.errno == errno.ENOSPC


def test_a_source_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"^there is no .*nowhere: give a folder, a zip archive, or the files"):
        import_checkpoint(tmp_path / "nowhere")
    advice = "give the folder, a zip archive of it, or all its files"
    assert_refused(tmp_path, rf"its files \(none\) are of no known format: {advice}")
    (tmp_path / "other.txt").write_text("hello")
    assert_refused(tmp_path / "other.txt", r"its files \('other.txt'\) are of no known format")
    os.mkfifo(tmp_path / "pipe.zip")
    for path in (tmp_path / "pipe.zip", "/dev/zero"):  # to read them would never end
        assert_refused(path, r"is not a regular file: give one folder, one archive, or files$")


def test_an_archive_alone_in_a_folder_is_opened(tmp_path: Path) -> None:
    write_archive(tmp_path / "translate-ar_en-1_0.argosmodel", {"package/config.json": b"{}"})
    with open_source([tmp_path]) as files:
        assert contents(files) == {"config.json": b"{}"}
        assert files.label == "translate-ar_en-1_0.argosmodel"
    (tmp_path / "notes.txt").write_bytes(b"")
    with open_source([tmp_path]) as files:
        assert files.names == {"translate-ar_en-1_0.argosmodel", "notes.txt"}
