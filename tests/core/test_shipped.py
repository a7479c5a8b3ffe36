"""Where shipped files are: in a repository, and in an installed wheel."""

from pathlib import Path

import pytest

from core import shipped


def test_the_repository_comes_first() -> None:
    assert shipped.shipped_checkpoint() == Path(__file__).parents[2] / "checkpoints" / "en-de.safetensors"
    assert shipped.shipped_checkpoint().exists()


@pytest.mark.parametrize("target", [False, True])
def test_an_installed_wheel_has_them_in_share(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: bool) -> None:
    environment = tmp_path / "environment"
    packages = environment if target else environment / "lib" / "site-packages"
    folder = environment / "share" / "headlight" / "checkpoints"
    folder.mkdir(parents=True)
    monkeypatch.setattr(shipped, "REPOSITORY", packages)
    monkeypatch.setattr(shipped.sysconfig, "get_path", lambda _: str(tmp_path if target else environment))
    assert shipped.shipped_checkpoint("parsing") == folder / "parsing.safetensors"


def test_without_any_the_repository_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shipped, "REPOSITORY", tmp_path)
    monkeypatch.setattr(shipped.sysconfig, "get_path", lambda _: str(tmp_path))
    assert shipped.shipped_folder("docs/table3") == tmp_path / "docs/table3"
