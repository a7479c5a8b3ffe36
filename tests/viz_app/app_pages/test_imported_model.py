"""Every page with a converted model of another project."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from core import __main__ as cli
from tests.core.formats.marian_models import Pairs, write_model
from tests.viz_app.pages import reading
from viz_app.pages import PAGES

SHELL = str(Path(__file__).parents[3] / "viz_app" / "shell.py")


@pytest.fixture
def app(tmp_path: Path, parallel_text: Pairs, monkeypatch: pytest.MonkeyPatch) -> Iterator[AppTest]:
    """Opened on a Marian model with two vocabularies, of 1 + 2 layers."""
    write_model(tmp_path / "model", parallel_text, two=True, codes=[">>deu<<", ">>bar<<"], encoder_layers=1)
    assert cli.main(["convert", str(tmp_path / "model"), str(tmp_path / "marian.safetensors")]) == 0
    monkeypatch.setenv("HEADLIGHT_CHECKPOINT", str(tmp_path / "marian.safetensors"))
    test = AppTest.from_file(SHELL, default_timeout=60)
    test.query_params["beam_size"] = "1"
    yield test
    st.cache_resource.clear()


def test_every_page_shows_it(app: AppTest) -> None:
    app.query_params["text"] = ">>deu<< The old house."
    app.run()
    facts = "".join(each.proto.body for each in app.get("html"))
    assert "1 + 2 layers" in facts
    assert "begin a source with its target language: &gt;&gt;deu&lt;&lt;, &gt;&gt;bar&lt;&lt;" in facts
    for name in (page.name for page in PAGES):
        app.switch_page(f"app_pages/{name}.py").run()
        assert not app.exception, f"{name}: {app.exception[0].message}"
        assert not app.error, f"{name}: {app.error[0].value}"
        assert reading(app).translation.source_tokens[0] == ">>deu<<", name
    app.switch_page("app_pages/positions.py").run()
    app.query_params["positions_view"] = "Similarity"
    assert any("The model's own have the order halves" in each.value for each in app.run().caption)
