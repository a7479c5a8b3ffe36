"""Settings from environment variables: defaults, accepted values, and refused ones."""

import os
from pathlib import Path

import pytest

from core.files import process_memory
from viz_app.session import environment


@pytest.fixture(autouse=True)
def _unset(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("HOSTS", "FRAME_ANCESTORS", "UPLOAD_MB", "FOLDERS", "MEMORY_MB")
    for name in (f"HEADLIGHT_{each}" for each in names):
        monkeypatch.delenv(name, raising=False)


def test_by_default_only_this_machine_is_answered() -> None:
    assert environment.allowed_hosts() == ["localhost", "127.0.0.1", "[::1]"]
    assert environment.frame_ancestors() == []
    assert environment.upload_megabytes() == 400
    assert environment.memory_megabytes() is None
    assert environment.model_folders() == []
    assert environment.is_private()
    environment.check_settings()


def test_further_hosts_come_after_those_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(environment.HOSTS_VARIABLE, "headlight.example.org, *.lab.example, 192.0.2.7,[2001:db8::1],")
    hosts = environment.allowed_hosts()
    assert hosts[3:] == ["headlight.example.org", "*.lab.example", "192.0.2.7", "[2001:db8::1]"]


@pytest.mark.parametrize(
    "entry", ["*", "https://headlight.example.org", "headlight.example.org:8501", "a b", "*.*.org", "ex*mple.org", "-a"]
)
def test_what_is_no_host_name_is_refused(monkeypatch: pytest.MonkeyPatch, entry: str) -> None:
    monkeypatch.setenv(environment.HOSTS_VARIABLE, f"headlight.example.org,{entry}")
    with pytest.raises(environment.SettingError, match=r"HEADLIGHT_HOSTS has the entry .*: expected something like"):
        environment.allowed_hosts()


@pytest.mark.parametrize("entry", ["example.org", "*", "javascript:alert(1)", "https://a; script-src *"])
def test_what_is_no_origin_is_refused(monkeypatch: pytest.MonkeyPatch, entry: str) -> None:
    monkeypatch.setenv(environment.FRAMES_VARIABLE, entry)
    with pytest.raises(environment.SettingError, match="HEADLIGHT_FRAME_ANCESTORS has the entry"):
        environment.frame_ancestors()


@pytest.mark.parametrize("text", ["0", "-1", "1e3", "100001", "9" * 5000, "many"])
def test_an_impossible_upload_limit_is_refused(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv(environment.UPLOAD_VARIABLE, text)
    with pytest.raises(environment.SettingError, match="must be a whole number of megabytes from 1 to 100000"):
        environment.upload_megabytes()


def test_an_impossible_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(environment.MEMORY_VARIABLE, "0")
    with pytest.raises(
        environment.SettingError, match=f"{process_memory.VARIABLE} is '0': it must be a whole number of me"
    ):
        environment.check_settings()
    monkeypatch.setenv(environment.MEMORY_VARIABLE, "2000")
    assert environment.memory_megabytes() == 2000


def test_a_folder_that_does_not_exist_is_refused_at_the_start_and_left_out_later(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(environment.FOLDERS_VARIABLE, os.pathsep.join([str(tmp_path), str(tmp_path / "gone")]))
    with pytest.raises(environment.SettingError, match=r"HEADLIGHT_FOLDERS has the entry '.*gone': there is no such"):
        environment.check_settings()
    assert environment.model_folders() == [tmp_path.resolve()]
    assert environment.has_folders()
    for entry in ("~nobody-of-this-name/models", "x" * 5000):
        monkeypatch.setenv(environment.FOLDERS_VARIABLE, entry)
        with pytest.raises(environment.SettingError, match="there is no such folder"):
            environment.check_settings()


@pytest.mark.parametrize("name", [environment.HOSTS_VARIABLE, environment.FRAMES_VARIABLE])
def test_an_app_with_further_hosts_or_frames_is_not_private(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "https://headlight.example.org")
    assert not environment.is_private()
