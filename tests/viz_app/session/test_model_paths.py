"""Which paths on the machine of the app a visitor may open."""

import shutil
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from viz_app.session import environment, model_paths
from viz_app.session.models import ModelError


@pytest.fixture(autouse=True)
def headers(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The headers of the visitor's request, to the app on this machine."""
    found: dict[str, str] = {}
    for name in (environment.HOSTS_VARIABLE, environment.FRAMES_VARIABLE, environment.FOLDERS_VARIABLE):
        monkeypatch.delenv(name, raising=False)
    options = {"server.address": "127.0.0.1"}
    monkeypatch.setattr(
        model_paths, "st", SimpleNamespace(get_option=options.get, context=SimpleNamespace(headers=found))
    )
    return found


def test_on_this_machine_any_path_may_be_typed(tmp_path: Path) -> None:
    assert model_paths.may_type_path()
    assert model_paths.openable_path(f' "{tmp_path}" ') == tmp_path.resolve()
    with pytest.raises(ModelError, match=r"There is no file or folder .*nowhere on the machine that runs the app"):
        model_paths.openable_path(str(tmp_path / "nowhere"))
    for text in ("a\0b", "x" * 5000):
        with pytest.raises(ModelError):
            model_paths.openable_path(text)


@pytest.mark.parametrize("name", model_paths.PROXY_HEADERS)
def test_nobody_behind_a_proxy_may_type_a_path(name: str, headers: dict[str, str], tmp_path: Path) -> None:
    headers[name] = "192.0.2.7"
    assert not model_paths.may_type_path()
    with pytest.raises(ModelError, match="is not among the checkpoints that this app offers"):
        model_paths.openable_path(str(tmp_path))


@pytest.mark.parametrize(
    "setting",
    [
        (environment.HOSTS_VARIABLE, "headlight.example.org"),
        (environment.FRAMES_VARIABLE, "https://course.example.org"),
        ("server.address", "0.0.0.0"),
        ("server.address", ""),
    ],
)
def test_an_app_that_is_served_to_others_opens_no_typed_path(
    setting: tuple[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    name, value = setting
    if name.startswith("server"):
        monkeypatch.setattr(model_paths.st, "get_option", {name: value}.get)
    else:
        monkeypatch.setenv(name, value)
    assert not model_paths.may_type_path()
    assert model_paths.listed_paths() == {}
    with pytest.raises(ModelError, match="is not among the checkpoints"):
        model_paths.openable_path(str(tmp_path))


def test_what_the_folders_hold_is_offered_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, tiny_checkpoint: Path
) -> None:
    folder, outside = tmp_path / "models", tmp_path / "outside"
    for path in (folder / "opus-mt-en-de", folder / ".hidden", outside):
        path.mkdir(parents=True)
    for name in ("a.safetensors", "B.SAFETENSORS", "no-suffix", "notes.safetensors.txt"):
        shutil.copy(tiny_checkpoint, folder / name)
    for name in ("c.zip", "d.npz", "archive"):
        with zipfile.ZipFile(folder / name, "w") as archive:
            archive.writestr("config.json", "{}")
    (folder / "notes.txt").write_text("notes")
    (folder / "pipe.safetensors").symlink_to("nowhere")
    (folder / "link").symlink_to(outside)
    (folder / "again").symlink_to("opus-mt-en-de")
    monkeypatch.setenv(environment.FOLDERS_VARIABLE, str(folder))
    assert not model_paths.may_type_path()
    listed = model_paths.listed_paths()
    files = ["B.SAFETENSORS", "a.safetensors", "archive", "c.zip", "d.npz", "no-suffix", "notes.safetensors.txt"]
    assert sorted(listed) == sorted([*files, "again", "opus-mt-en-de"])
    assert model_paths.openable_path("opus-mt-en-de") == (folder / "opus-mt-en-de").resolve()
    for text in ("../outside", str(outside), "link", ".hidden", "notes.txt", "opus-mt-en-de/.."):
        with pytest.raises(ModelError, match="is not among the checkpoints that this app offers"):
            model_paths.openable_path(text)


def test_a_folder_that_is_gone_offers_nothing_and_opens_nothing_else(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(environment.FOLDERS_VARIABLE, str(tmp_path / "gone"))
    assert not model_paths.may_type_path()
    assert model_paths.listed_paths() == {}
