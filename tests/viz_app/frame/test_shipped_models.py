"""The choice of a shipped model in the sidebar, and its name in the address."""

import shutil
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.viz_app.pages import Start, healthy, reading
from viz_app.session import models


@pytest.fixture
def shipped(tiny_checkpoint: Path, tree_checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copy(tiny_checkpoint, tmp_path / "first.safetensors")
    shutil.copy(tree_checkpoint, tmp_path / "trees.safetensors")
    monkeypatch.setattr(models, "translation_checkpoint", lambda: tmp_path / "first.safetensors")
    return tmp_path


def named(start: Start, shipped: Path, name: str) -> AppTest:
    """The app before its first run, at an address that names a model."""
    app = start(shipped / "first.safetensors", text="It rains.", beam_size="1")
    app.query_params["checkpoint"] = name
    return app


def choose(app: AppTest, name: str, label: str = "") -> None:
    healthy(app.selectbox(key="open_model").select(label or name).run())
    assert reading(app).model.name == name


def test_a_shipped_model_is_chosen_by_name_and_stays_in_the_address_and_one_that_is_gone_or_damaged_is_refused(
    start: Start, shipped: Path
) -> None:
    app = healthy(start(shipped / "first.safetensors", text="It rains.", beam_size="1").run())
    assert app.selectbox(key="open_model").options == ["first.safetensors", "trees.safetensors"]
    assert "checkpoint" not in app.query_params
    choose(app, "trees.safetensors")
    assert app.query_params["checkpoint"] in ("trees", ["trees"])
    assert len(app.selectbox(key="open_model").options) == 2
    choose(app, "first.safetensors")
    assert "checkpoint" not in app.query_params
    choose(app, "trees.safetensors", "Parses sentences")  # open, it is known to write trees
    healthy(app.button(key="close").click().run())
    assert reading(app).model.name == "first.safetensors"
    assert "checkpoint" not in app.query_params

    (shipped / "trees.safetensors").unlink()
    healthy(app.selectbox(key="open_model").select("trees.safetensors").run())
    assert reading(app).model.name == "first.safetensors"
    assert app.selectbox(key="open_model").options == ["first.safetensors"]
    (shipped / "torn.safetensors").write_bytes((shipped / "first.safetensors").read_bytes()[:1000])
    healthy(app.run())
    healthy(app.selectbox(key="open_model").select("torn.safetensors").run())
    assert "torn.safetensors is truncated" in app.sidebar.error[0].value.replace("\\", "")
    assert reading(app).model.name == "first.safetensors"


def test_an_address_opens_the_shipped_model_that_it_names(start: Start, shipped: Path) -> None:
    app = healthy(named(start, shipped, "trees").run())
    assert reading(app).model.name == "trees.safetensors"
    assert not app.sidebar.error


def test_an_address_with_another_name_is_refused(start: Start, shipped: Path) -> None:
    app = healthy(named(start, shipped, "../en-de").run())
    (message,) = [error.value.replace("\\", "") for error in app.sidebar.error]
    assert message.startswith("The address names the checkpoint ../en-de, which is not shipped: first, trees are.")
    assert reading(app).model.name == "first.safetensors"
    assert "checkpoint" not in app.query_params
