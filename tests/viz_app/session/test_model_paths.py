"""Which paths on the machine of the app a visitor may open."""

import os
import shutil
import zipfile
from collections.abc import Iterator
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
    (tmp_path / "link").symlink_to(tmp_path)
    assert model_paths.openable_path(str(tmp_path / "link" / ".." / tmp_path.name)) == tmp_path.resolve()


def test_no_device_pipe_or_socket_is_opened(irregular: list[str], tmp_path: Path) -> None:
    for path in irregular:
        with pytest.raises(ModelError, match="is neither a file nor a folder: the app reads no device, named pipe or"):
            model_paths.openable_path(path)
        with pytest.raises(ModelError):
            model_paths.read(Path(path), 10)
        name = Path(path).name
        if Path(path).parent == tmp_path:
            with pytest.raises(
                ModelError, match=f"{name} is not a regular file of the folder {tmp_path.name}: the app"
            ):
                model_paths.file_in(tmp_path, name)
    assert model_paths.entries(tmp_path) == {}


def test_what_is_no_path_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")
    os.symlink(os.fsencode(tmp_path) + b"/\xff", tmp_path / "latin")
    os.mkdir(os.fsencode(tmp_path) + b"/\xff")
    for text in (
        str(tmp_path / "nowhere"),
        str(tmp_path / "file" / "inner"),
        "~nobody-of-this-name/model",
        "/x" * 1500,
    ):
        with pytest.raises(ModelError, match=r"There is no file or folder .* on the machine that runs the app") as said:
            model_paths.openable_path(text)
        assert len(str(said.value)) < 300
    for text in ("a\0b", "x" * 5000, "/x" * 5000, str(tmp_path / "loop"), str(tmp_path / "latin"), "\ud800", '""'):
        with pytest.raises(ModelError, match="is not a path on this machine"):
            model_paths.openable_path(text)


@pytest.fixture
def nobody() -> Iterator[None]:
    """Run as a user without rights, as root may read everything."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def closed(tmp_path: Path) -> Iterator[Path]:
    """A folder that nobody can list, with a file that nobody can read."""
    folder = tmp_path / "closed"
    folder.mkdir()
    (folder / "file").write_bytes(b"secret")
    for path in tmp_path.parents[:2]:
        path.chmod(0o755)
    (folder / "file").chmod(0)
    folder.chmod(0)
    yield folder
    folder.chmod(0o700)


def test_what_may_not_be_read_is_said(closed: Path, tmp_path: Path, nobody: None) -> None:
    with pytest.raises(ModelError, match=r"The app may not read .*closed/file\."):
        model_paths.openable_path(str(closed / "file"))
    with pytest.raises(ModelError, match=r"file cannot be read \(Permission denied\)"):
        model_paths.read(closed / "file", 10)
    assert model_paths.entries(closed) == {}
    assert model_paths.file_in(closed, "file") is None


def test_a_file_is_read_up_to_a_limit(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes(b"x" * 2**20)
    assert model_paths.read(path, 2**20) == path.read_bytes()
    path.write_bytes(b"x" * (2**20 + 1))
    with pytest.raises(ModelError, match="text is larger than 1 MB, the most that is read"):
        model_paths.read(path, 2**20)
    (tmp_path / "link").symlink_to(path)
    with pytest.raises(ModelError, match="link cannot be read"):  # the path was checked, and has been replaced since
        model_paths.read(tmp_path / "link", 2**30)


def test_a_file_of_a_folder_is_no_link_out_of_it(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "inner").write_bytes(b"inner")
    (folder / "again").symlink_to("inner")
    (tmp_path / "secret").write_bytes(b"secret")
    (folder / "out").symlink_to("../secret")
    (folder / "nowhere").symlink_to("../no-secret")
    assert model_paths.file_in(folder, "again") == model_paths.file_in(folder, "inner") == (folder / "inner").resolve()
    assert model_paths.file_in(folder, "missing") is None
    refusals: set[str] = set()
    for name in ("out", "nowhere"):  # the refusal does not say whether there is such a file
        with pytest.raises(ModelError) as refusal:
            model_paths.file_in(folder, name)
        refusals.add(str(refusal.value).removeprefix(name))
    assert len(refusals) == 1
    assert set(model_paths.entries(folder)) == {"again", "inner"}


@pytest.mark.parametrize("name", model_paths.PROXY_HEADERS)
def test_nobody_behind_a_proxy_may_type_a_path(name: str, headers: dict[str, str], tmp_path: Path) -> None:
    headers[name] = "192.0.2.7"
    assert not model_paths.may_type_path()
    with pytest.raises(ModelError, match="is none of the files and folders that this app offers"):
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
    with pytest.raises(ModelError, match="is none of the files and folders"):
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
    (folder / "loop.zip").symlink_to("loop.zip")
    (folder / "zero.zip").symlink_to("/dev/zero")
    os.mkfifo(folder / "pipe.zip")
    os.mkdir(os.fsencode(folder) + b"/\xff")
    monkeypatch.setenv(environment.FOLDERS_VARIABLE, str(folder))
    assert not model_paths.may_type_path()
    listed = model_paths.listed_paths()
    files = ["B.SAFETENSORS", "a.safetensors", "archive", "c.zip", "d.npz", "no-suffix", "notes.safetensors.txt"]
    assert sorted(listed) == sorted([*files, "again", "opus-mt-en-de"])
    assert sorted(model_paths.listed_paths(suffixes=())) == ["again", "opus-mt-en-de"]
    assert model_paths.openable_path("opus-mt-en-de") == (folder / "opus-mt-en-de").resolve()
    refusals: set[str] = set()
    for text in ("../outside", "../nowhere", "/tmp", "/dev/zero", "link", ".hidden", "notes.txt", "again/.."):
        with pytest.raises(ModelError, match="is none of the files and folders that this app offers") as refusal:
            model_paths.openable_path(text)
        refusals.add(str(refusal.value).replace(repr(text), ""))
    assert len(refusals) == 1  # whether there is such a path or not


def test_a_folder_that_is_gone_offers_nothing_and_opens_nothing_else(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(environment.FOLDERS_VARIABLE, str(tmp_path / "gone"))
    assert not model_paths.may_type_path()
    assert model_paths.listed_paths() == {}
