"""Where shipped files are: in a repository, and in an installed wheel."""

from pathlib import Path

import pytest
import torch

from core import shipped_files
from core.checkpoint import load_checkpoint
from core.history import open_history


def test_the_repository_comes_first() -> None:
    assert shipped_files.shipped_checkpoint() == Path(__file__).parents[2] / "checkpoints" / "en-de.safetensors"
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


def test_without_any_the_repository_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shipped_files, "REPOSITORY", tmp_path)
    monkeypatch.setattr(shipped_files.sysconfig, "get_path", lambda _: str(tmp_path))
    assert shipped_files.shipped_folder("docs/table3") == tmp_path / "docs/table3"


def test_the_history_of_the_shipped_model_goes_from_step_0_to_its_checkpoint() -> None:
    folder = shipped_files.shipped_checkpoint().with_suffix(".history")
    assert all(path.stat().st_size < 100e6 for path in folder.parent.rglob("*"))  # hosts of repositories take no more
    history = open_history(folder)
    assert (history.steps[0], len(history.steps), history.in_eight_bits) == (0, 12, False)
    last, own = history.checkpoint(history.steps[-1]).model, load_checkpoint(shipped_files.shipped_checkpoint()).model
    assert all(torch.equal(one, other) for one, other in zip(last.parameters(), own.parameters(), strict=True))
