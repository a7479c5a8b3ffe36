"""Where shipped files are: in a repository, and in an installed wheel."""

from pathlib import Path

import pytest
import torch

from core.analysis.over_training.history import open_history
from core.analysis.over_training.history.eight_bits import to_eight_bits
from core.files import shipped_files
from core.formats.checkpoint import load_checkpoint


def test_the_repository_comes_first() -> None:
    assert shipped_files.shipped_checkpoint() == Path(__file__).parents[3] / "checkpoints" / "en-de.safetensors"
    assert shipped_files.shipped_checkpoint().exists()


@pytest.mark.parametrize("target", [False, True])
def test_an_installed_wheel_has_them_in_share(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: bool) -> None:
    environment = tmp_path / "environment"
    packages = environment if target else environment / "lib" / "site-packages"
    folder = environment / "share" / "headlight" / "checkpoints"
    folder.mkdir(parents=True)
    monkeypatch.setattr(shipped_files, "REPOSITORY", packages)
    monkeypatch.setattr(shipped_files.sysconfig, "get_path", lambda _: str(tmp_path if target else environment))
    assert shipped_files.shipped_checkpoint("parsing") == folder / "parsing.safetensors"


def test_an_installation_finds_them_where_a_variable_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shipped_files, "REPOSITORY", tmp_path / "packages")
    monkeypatch.setattr(shipped_files.sysconfig, "get_path", lambda _: str(tmp_path))
    for folder in ("release", shipped_files.SHARE):
        (tmp_path / folder / "checkpoints").mkdir(parents=True)
    assert shipped_files.shipped_folder("checkpoints") == tmp_path / shipped_files.SHARE / "checkpoints"
    monkeypatch.setenv("HEADLIGHT_SHARE", str(tmp_path / "release"))
    assert shipped_files.shipped_folder("checkpoints") == tmp_path / "release" / "checkpoints"


def test_without_any_the_repository_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shipped_files, "REPOSITORY", tmp_path)
    monkeypatch.setattr(shipped_files.sysconfig, "get_path", lambda _: str(tmp_path))
    assert shipped_files.shipped_folder("docs/table3") == tmp_path / "docs/table3"


def test_the_shipped_history_goes_from_step_0_to_its_checkpoint(tmp_path: Path) -> None:
    """Rounded to 8 bits."""
    checkpoint = shipped_files.shipped_checkpoint("multi30k")
    history = open_history(checkpoint.with_suffix(".history.zip"))
    assert (history.steps[0], len(history.steps), history.in_eight_bits) == (0, 13, True)
    to_eight_bits(checkpoint).write_checkpoint(tmp_path / "rounded.safetensors")
    own, last = load_checkpoint(tmp_path / "rounded.safetensors"), history.checkpoint(history.steps[-1])
    assert last.training["steps"] == own.training["steps"]
    assert all(map(torch.equal, last.model.parameters(), own.model.parameters()))


def test_what_is_shipped_is_small_enough_to_clone() -> None:
    """Hosts of repositories take files up to 100 MB, and the newest commit takes 40 s at 50 Mbit/s."""
    files = [path for path in shipped_files.shipped_folder("checkpoints").rglob("*") if path.is_file()]
    sizes = {path.name: path.stat().st_size for path in files}
    assert max(sizes.values()) < 100e6
    assert sizes["multi30k.history.zip"] <= 20e6
    assert sum(sizes.values()) <= 250e6
