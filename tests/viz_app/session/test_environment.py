"""Settings from environment variables: defaults, accepted values, and refused ones."""

import pytest

from viz_app.session import environment


@pytest.fixture(autouse=True)
def _unset(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (environment.HOSTS_VARIABLE, environment.FRAMES_VARIABLE, environment.UPLOAD_VARIABLE):
        monkeypatch.delenv(name, raising=False)


def test_by_default_only_this_machine_is_answered() -> None:
    assert environment.allowed_hosts() == ["localhost", "127.0.0.1", "[::1]"]
    assert environment.frame_ancestors() == []
    assert environment.upload_megabytes() == 400


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
