"""Models of the Hugging Face Hub by their names in the sidebar."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.core.formats import marian_models
from tests.core.formats.hub_server import Hub, running_hub
from tests.core.formats.marian_models import Pairs
from tests.viz_app.pages import Start, healthy, reading
from viz_app.session import model_paths
from viz_app.session.models import ModelError

NAME = "Helsinki-NLP/opus-mt-en-de"


@pytest.fixture
def hub(tmp_path: Path, parallel_text: Pairs, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    marian_models.write_model(tmp_path / "model", parallel_text)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(model_paths, "may_type_path", lambda: True)
    with running_hub() as server:
        server.add(NAME, tmp_path / "model")
        monkeypatch.setenv("HF_ENDPOINT", server.address)
        yield server


def test_a_model_is_downloaded_by_a_click_alone(hub: Hub, start: Start, tiny_checkpoint: Path) -> None:
    app = healthy(start(tiny_checkpoint, text="It rains.", beam_size="1").run())
    app.text_input(key="path-0").input(NAME)
    healthy(app.button(key="open_path_button").click().run())
    assert "There is no file or folder Helsinki" in " ".join(error.value for error in app.error)
    assert reading(app).model.name == "tiny.safetensors"
    assert hub.requests == [], "a name alone fetches nothing"
    healthy(app.button(key="download_model").click().run())
    assert reading(app).model.name == NAME
    assert hub.requests
    assert "download_model" not in [button.key for button in app.button]
    hub.requests.clear()
    healthy(app.button(key="close").click().run())
    app.text_input(key="path-1").input(NAME)
    healthy(app.button(key="open_path_button").click().run())
    assert reading(app).model.name == NAME
    assert hub.requests == [], "the second time it comes from the cache"


def test_visitors_from_elsewhere_download_nothing(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_paths, "may_type_path", lambda: False)
    assert not model_paths.is_absent_hub_model(NAME)
    with pytest.raises(ModelError, match="is none of the files and folders that this app offers"):
        model_paths.downloaded(NAME)
    assert hub.requests == []
