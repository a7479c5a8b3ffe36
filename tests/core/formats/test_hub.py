"""Models by their names, from a server on this machine that speaks the Hub's protocol."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.cli import commands as cli
from core.formats import hub as hub_module
from core.formats.checkpoint import CheckpointError, load_checkpoint
from core.formats.hub import cached, download, is_cached, is_hub_name, needed_files
from core.formats.importing import import_checkpoint
from core.formats.opening import content_digest
from tests.core.formats import marian_models
from tests.core.formats.hub_server import Hub, running_hub

NAME = "Helsinki-NLP/opus-mt-en-de"
write = marian_models.write_model  # of the fixture `original`


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "cache"))
    with running_hub() as server:
        monkeypatch.setenv("HF_ENDPOINT", server.address)
        yield server


def test_a_model_is_downloaded_once_and_read_offline(hub: Hub, original: Path, tmp_path: Path) -> None:
    commit = hub.add(
        NAME, original, pytorch_model__bin=b"pickle", tf_model__h5=b"x", README__md=b"x", rust_model__ot=b"x"
    )
    expected = import_checkpoint(original)
    cli.main(["convert", NAME, str(tmp_path / "one.safetensors"), "--download"])
    found = load_checkpoint(tmp_path / "one.safetensors")
    assert found.config == expected.config
    assert found.training["imported"]["source"] == NAME
    assert found.training["imported"]["revision"] == commit
    assert "model.safetensors" in hub.fetched()
    assert all(NAME in each for each in hub.requests), "nothing but this model"
    assert not hub.fetched() & {"pytorch_model.bin", "tf_model.h5", "README.md", "rust_model.ot"}
    hub.requests.clear()
    cli.main(["convert", NAME, str(tmp_path / "two.safetensors")])
    cli.main(["convert", NAME, str(tmp_path / "three.safetensors"), "--revision", commit])
    cli.main(["inspect", NAME])
    assert hub.requests == [], "all of it comes from the cache"
    for name in ("two", "three"):
        again = load_checkpoint(tmp_path / f"{name}.safetensors")
        assert again.training == found.training
        assert content_digest(again) == content_digest(found)


def test_nothing_is_fetched_unless_it_is_requested(
    hub: Hub, original: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hub.add(NAME, original)
    assert cli.main(["convert", NAME, str(tmp_path / "out.safetensors")]) != 0
    message = capsys.readouterr().err
    assert f"there is neither a file or folder {NAME} here, nor a model of this name at revision main" in message
    assert "--download" in message
    assert hub.requests == []
    assert not is_cached(NAME)


def test_a_changed_model_has_another_revision(hub: Hub, original: Path) -> None:
    first = hub.add(NAME, original)
    before = download(NAME)
    second = hub.add(NAME, original, generation_config__json=b"{}")
    assert cached(NAME).revision == first == before.revision
    assert download(NAME).revision == second
    assert cached(NAME).revision == second
    assert cached(NAME, first).folder == before.folder


def test_pickles_only_where_there_is_nothing_else() -> None:
    settings = ["config.json", "vocab.json", "source.spm", "target.spm", "tokenizer.json", "README.md"]
    expected = ["config.json", "vocab.json", "source.spm", "target.spm"]
    assert needed_files([*settings, "pytorch_model.bin"], NAME) == [*expected, "pytorch_model.bin"]
    shards = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors", "model.safetensors.index.json"]
    assert needed_files([*settings, "pytorch_model.bin", *shards], NAME) == [*expected, *shards]
    assert needed_files(["config.json", "tokenizer.json", "model.safetensors"], NAME) == [
        *("config.json", "tokenizer.json", "model.safetensors")
    ]
    converted = ["config.json", "model.bin", "shared_vocabulary.json", "README.md", "spm.model"]
    assert needed_files(converted, NAME) == ["config.json", "model.bin", "shared_vocabulary.json", "spm.model"]
    for files, words in (
        (["model.onnx", "config.json"], r"has no parameters that Headlight imports: its files are 'config.json'"),
        (["model.safetensors"], r"has no config.json that Headlight imports"),
        ([], r"its files are none"),
    ):
        with pytest.raises(CheckpointError, match=words):
            needed_files(files, NAME)


def test_a_model_that_is_not_there(hub: Hub) -> None:
    with pytest.raises(CheckpointError, match=rf"^{NAME} cannot be downloaded \(RepositoryNotFoundError: "):
        download(NAME)


def test_a_hub_that_cannot_be_reached(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(CheckpointError, match=rf"^{NAME} cannot be downloaded \("):
        download(NAME)


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(ImportError, match=r"needs huggingface_hub, .* extra `hub`"):
        download(NAME)


@pytest.mark.parametrize("text", ["a", "a/b/c", "../b", "a/..", "/a/b", "a b/c", "~/models", "a/b\n", ""])
def test_other_texts_are_no_names(text: str) -> None:
    assert not is_hub_name(text)
    with pytest.raises(ValueError, match="is no name of a model, expected OWNER/NAME"):
        cached(text)


@pytest.mark.parametrize("revision", ["../../x", "", "/etc/passwd", "a b"])
def test_no_revision_leads_out_of_the_cache(revision: str) -> None:
    with pytest.raises(ValueError, match="expected a branch, a tag or a commit"):
        cached(NAME, revision)


def test_a_damaged_cache_has_no_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_module, "cache_folder", lambda: tmp_path)
    folder = tmp_path / "models--Helsinki-NLP--opus-mt-en-de"
    (folder / "refs").mkdir(parents=True)
    for content in (b"", b"../../..", b"0" * 40, b"\xff\xfe", b"0" * 1000):
        (folder / "refs" / "main").write_bytes(content)
        assert not is_cached(NAME)


def test_a_name_needs_no_options_of_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["convert", str(tmp_path), str(tmp_path / "o.safetensors"), "--download"]) != 0
    assert "--download and --revision are for one model OWNER/NAME" in capsys.readouterr().err


def test_an_existing_folder_is_no_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a" / "b").mkdir(parents=True)
    assert not is_hub_name("a/b")
    assert is_hub_name("a/c")


def test_the_cache_is_where_the_library_has_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    assert hub_module.cache_folder() == Path.home() / ".cache" / "huggingface" / "hub"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "x"))
    assert hub_module.cache_folder() == tmp_path / "x" / "huggingface" / "hub"
    monkeypatch.setenv("HF_HOME", str(tmp_path / "h"))
    assert hub_module.cache_folder() == tmp_path / "h" / "hub"
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "c"))
    assert hub_module.cache_folder() == tmp_path / "c"
