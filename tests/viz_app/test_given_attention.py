"""Attention that another program has computed, opened in the sidebar, on every page."""

import gc
import io
import json
import re
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from streamlit.testing.v1 import AppTest

from core.analysis.recorded_call import code_of
from core.export.attention_arrays import save_arrays
from tests.viz_app.pages import Start, healthy, html_of, opened, reading, upload
from tests.viz_app.test_imported_model import open_path
from viz_app.frame import share_menu
from viz_app.page_list import VIEWS
from viz_app.session import model_paths, python_code
from viz_app.session.chosen_heads import ShownHeads

TOKENS = {
    "source_tokens": np.array(["\u2581The", "\u2581<b>do", "g</b>", "\u2581*runs*", "</s>"]),
    "target_tokens": np.array(["<pad>", "\u2581Der", "\u2581Hund", "</s>"]),
}


def attention(layers: int, *shape: int, causal: bool = False) -> NDArray[np.float32]:
    scores = torch.randn(layers, 3, *shape, generator=torch.Generator().manual_seed(layers)).mul(2)
    if causal:
        scores = scores.masked_fill(torch.ones(shape, dtype=torch.bool).triu(1), -torch.inf)
    return scores.softmax(-1).numpy()


ARRAYS: dict[str, NDArray[Any]] = {
    **TOKENS,
    "encoder_attentions": attention(3, 5, 5),
    "decoder_attentions": attention(2, 3, 3, causal=True),
    "cross_attentions": attention(2, 3, 5),
    "log_probs": np.array([-0.5, -1.0, -0.1]),
}


@pytest.fixture
def arrays(tmp_path: Path) -> Path:
    save_arrays(tmp_path / "attention.npz", ARRAYS)
    return tmp_path / "attention.npz"


@pytest.fixture
def app(start: Start, monkeypatch: pytest.MonkeyPatch) -> AppTest:
    monkeypatch.setattr(model_paths, "may_type_path", lambda: True)
    return healthy(start(text="The house.", beam_size="1", picture_view="table").run())


@pytest.mark.usefixtures("small_pages")
def test_every_page_draws_it_or_says_that_it_needs_a_model(app: AppTest, arrays: Path) -> None:
    upload(app, arrays)
    assert "attention without a model" in html_of(app)
    assert "encoder 3 of 3 heads, decoder 2 of 3 heads, cross 2 of 3 heads" in html_of(app)
    for page in VIEWS:
        if page != VIEWS[0]:
            opened(app, page.name)
        assert not app.error, f"{page.name}: {app.error[0].value}"
        notes = [info.value for info in app.info if "is attention without a model" in info.value]
        assert bool(notes) == ("attention" not in page.models), page.name
        assert reading(app).hypothesis.text == "Der Hund"
    content = weakref.ref(reading(app).explain())
    healthy(app.button(key="close").click().run())
    assert reading(app).translation.source == "The house."
    gc.collect()
    assert content() is None


def test_a_page_that_needs_a_model_offers_one(app: AppTest, arrays: Path) -> None:
    open_path(app, arrays)
    assert reading(app).model.name == "attention.npz"
    healthy(app.button(key="translation_model").click().run())
    assert reading(app).model.name == "tiny.safetensors"
    healthy(app.selectbox(key="open_model").select_index(1).run())
    assert reading(app).explain().source_tokens == tuple(TOKENS["source_tokens"])


@pytest.mark.parametrize("kept", ["encoder_attentions", "decoder_attentions", "cross_attentions"])
def test_one_kind_of_attention_without_probabilities_is_enough(app: AppTest, kept: str, tmp_path: Path) -> None:
    save_arrays(tmp_path / "some.npz", {**TOKENS, kept: ARRAYS[kept]})
    open_path(app, tmp_path / "some.npz")
    for page in ("heads", "alignment", "checkpoint"):
        opened(app, page)
        assert not app.error, page
        assert reading(app).methods == ("attention",)


@pytest.mark.parametrize(
    ("kind", "view", "weights"),
    [("cross", "Map", "attention"), ("encoder_self", "BertViz", "attention"), ("decoder_self", "Table", "rollout")],
)
def test_views_of_heads_and_rollout_need_no_model(
    start: Start, monkeypatch: pytest.MonkeyPatch, arrays: Path, kind: str, view: str, weights: str
) -> None:
    monkeypatch.setattr(model_paths, "may_type_path", lambda: True)
    app = opened(start(beam_size="1", text="Where?", kind=kind, view=view, weights=weights), "heads")
    open_path(app, arrays)
    assert not app.error
    assert all(toggle.key != "cutting" for toggle in app.toggle)
    if view != "BertViz":
        assert list(app.selectbox(key="weights").options) == ["Attention weights", "Attention rollout"]


def test_the_whole_explanation_is_exported(app: AppTest, arrays: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    upload(app, arrays)
    about = reading(app)
    found = json.loads(share_menu.file_content(about, ".json", ShownHeads()))
    assert found["settings"] == {"arrays": "attention.npz"}
    assert b"Hund" in share_menu.file_content(about, ".html", ShownHeads())
    monkeypatch.chdir(arrays.parent)
    names: dict[str, Any] = {}
    exec(share_menu.python(about), names)
    assert json.loads(next(arrays.parent.glob("*.json")).read_text()) == found
    exec(code_of(python_code.recorded_pass(about).all_maps("rollout")), names)
    assert torch.equal(names["all_maps"]["cross"][1].weights, about.method_maps("rollout")["cross"][1].weights)


def archive(**arrays: NDArray[Any]) -> bytes:
    file, found = io.BytesIO(), ARRAYS | arrays
    np.savez(file, allow_pickle=True, **found)
    return file.getvalue()


HOSTILE: dict[str, tuple[bytes, str]] = {
    "NaN": (archive(cross_attentions=np.full((2, 3, 3, 5), np.nan)), "negative or not finite"),
    "objects": (archive(cross_attentions=np.array([print], dtype=object)), "not an NPZ file of arrays, or is damaged"),
    "cut off": (archive()[:-40], "of no known format"),
}


def test_hostile_arrays_are_refused_where_they_were_opened(app: AppTest, tmp_path: Path) -> None:
    for case, (content, reason) in HOSTILE.items():
        (tmp_path / f"{case}.npz").write_bytes(content)
        upload(app, tmp_path / f"{case}.npz")
        assert reading(app).model.name == "tiny.safetensors", case
        (error,) = app.error
        assert re.search(reason, error.value.replace("\\", "")), error.value
