"""Uploaded files that came together, some of them hostile."""

import io
import re
import tempfile
import zipfile
from pathlib import Path

import pytest

from core.files import budget
from tests.full_disk import no_file_over
from viz_app.session import uploads
from viz_app.session.model_opening import opened_model
from viz_app.session.models import Model, ModelError

pytestmark = pytest.mark.usefixtures("nothing_in_memory")


def upload(*files: tuple[str, bytes]) -> tuple[list[Model], list[str]]:
    found, refusals = uploads.uploaded_models([(name, io.BytesIO(content)) for name, content in files])
    return found, list(map(str, refusals))


def archive(**entries: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in entries.items():
            packed.writestr(name.replace("__", "."), content)
    return file.getvalue()


def test_every_checkpoint_of_headlight_is_a_model_and_a_bad_file_does_not_keep_it_out(tiny_checkpoint: Path) -> None:
    content = tiny_checkpoint.read_bytes()
    found, refusals = upload(("a.safetensors", content), ("notes.txt", b"hello"), ("b.safetensors", content))
    assert [model.name for model in found] == ["a.safetensors", "b.safetensors"]
    assert found[0].translator is found[1].translator
    (refusal,) = refusals
    assert refusal.startswith("notes.txt: its files ('notes.txt') are of no known format")


def test_files_that_are_refused_for_one_reason_are_named_once(tiny_checkpoint: Path) -> None:
    content = tiny_checkpoint.read_bytes().replace(b"num_heads", b"num_beads")
    files = [(f"{number}.safetensors", content) for number in range(12)] + [("n.txt", b"hello")]
    _, refusals = uploads.uploaded_models([(name, io.BytesIO(content)) for name, content in files])
    unknown, damaged = sorted(uploads.by_reason(refusals), reverse=True)
    assert damaged.startswith("12 files are refused for one reason: 0.safetensors, 1.safetensors, 2.safetensors, 3.")
    assert damaged.count("11.safetensors") == damaged.count("its config names") == 1
    assert unknown.startswith("n.txt: its files ('n.txt') are of no known format")


def test_a_full_disk_is_named(tiny_checkpoint: Path) -> None:
    with no_file_over(20):
        models, (refusal,) = upload(("mine.safetensors", tiny_checkpoint.read_bytes()))
    assert not models
    assert re.fullmatch(
        rf"mine.safetensors cannot be stored in {tempfile.gettempdir()} \(File too large\): free disk space there, or "
        rf"start the app with TMPDIR set to another folder.",
        refusal,
    )


def test_a_checkpoint_in_an_archive_has_the_name_of_the_archive(tiny_checkpoint: Path) -> None:
    (model,), _ = upload(("mine.zip", archive(tiny__safetensors=tiny_checkpoint.read_bytes())))
    assert model.name == model.path == "mine.zip"


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ([("..", b"")], "'..' cannot be the name of a file: rename it."),
        ([("a/", b"")], "are of no known format"),
        ([("", b"")], "'' cannot be the name of a file"),
        ([("x" * 300, b"")], "cannot be the name of a file"),
        ([("a\0b", b"")], "cannot be the name of a file"),
        ([("a\ud800", b"")], "cannot be the name of a file"),
        ([("config.json", b"{}")] * 2, "config.json, config.json: two files have the same name"),
        ([(str(number), b"") for number in range(1001)], "These are 1,001 files, at most 1,000 are read"),
        ([("outer.zip", archive(inner__zip=archive(config__json=b"{}")))], "its files ('inner.zip') are of no known"),
        ([("a.zip", archive(**{"../config__json": b"{}"}))], "a.zip: the name '../config.json' leads out of the archi"),
        ([("pytorch_model.bin", b"\x80\x04.")], "its files ('pytorch_model.bin') are of no known format"),
        ([("config.json", b'{"model_type": "marian"}')], "config.json has no weights: expected model.safetensors or"),
    ],
)
def test_whatever_comes_the_answer_is_a_reason(
    files: list[tuple[str, bytes]], reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    found, (refusal,) = upload(*files)
    assert not found
    assert reason in refusal
    assert list(tmp_path.iterdir()) == [], "nothing is left behind"


def test_an_archive_that_would_unpack_to_far_more_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """More than a small file may in any case, which is little here."""
    monkeypatch.setattr(budget, "FREE_BYTES", 2**20)
    found, (refusal,) = upload(("bomb.zip", archive(model__safetensors=bytes(2**24))))
    assert not found
    assert f"and would unpack to {2**24}, at most" in refusal


def test_a_file_that_cannot_be_read_is_a_reason(tiny_checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(path: Path, **_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("core.Translator.from_checkpoint", fails)
    with pytest.raises(ModelError, match=r"tiny\.safetensors cannot be read \(Permission denied\)"):
        opened_model([tiny_checkpoint], "")
