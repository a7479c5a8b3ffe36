"""Every page with a model whose encoder and decoder differ in layers and heads, for one word and for many tokens."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import streamlit as st
import torch
from streamlit.testing.v1 import AppTest

from core.checkpoint import save_checkpoint
from core.config import TransformerConfig
from core.model import Transformer
from core.preset_configs import PRESETS
from core.tokenizer import SentencePieceTokenizer, Tokenizer
from tests.viz_app.pages import reading
from viz_app.features.positions.score_decomposition import FIRST_LAYER
from viz_app.figures.display_text import plain
from viz_app.pages import PAGES

SHELL = str(Path(__file__).parents[3] / "viz_app" / "shell.py")


def opened_on(shape: TransformerConfig, tmp_path: Path, tokenizer: Tokenizer, patch: pytest.MonkeyPatch) -> AppTest:
    """The app before its first run, on a model with random weights."""
    with torch.random.fork_rng():
        torch.manual_seed(2)
        save_checkpoint(tmp_path / "odd.safetensors", Transformer(shape), tokenizer)
    patch.setenv("HEADLIGHT_CHECKPOINT", str(tmp_path / "odd.safetensors"))
    patch.setattr("core.text_codec.MAX_EXTRA_TOKENS", 1)  # it never ends a sentence
    test = AppTest.from_file(SHELL, default_timeout=60)
    test.query_params.update({"beam_size": "1", "iterations": "2", "paper_text_3": "A dog runs."})
    return test


@pytest.fixture
def app(
    heads: tuple[int, int], tmp_path: Path, tokenizer: SentencePieceTokenizer, monkeypatch: pytest.MonkeyPatch
) -> Iterator[AppTest]:
    """Opened on a model of 1 + 3 layers with these heads, d_k other than d_v, and self-attention restricted to 4
    positions.
    """
    layers = {"num_encoder_layers": 1, "num_decoder_layers": 3, "num_heads": heads[0], "num_decoder_heads": heads[1]}
    shape = replace(PRESETS["tiny"], vocab_size=tokenizer.vocab_size, **layers, d_k=3, d_v=5, neighbourhood=4)
    yield opened_on(shape, tmp_path, tokenizer, monkeypatch)
    st.cache_resource.clear()


@pytest.mark.usefixtures("small_pages")
@pytest.mark.parametrize(
    ("heads", "text", "names"),
    [
        ((2, 4), ".", [page.name for page in PAGES]),
        ((3, 1), "The old house on the hill was built. " * 9, ["translate", "heads", "alignment"]),
    ],
)
def test_every_page_shows_it(app: AppTest, heads: tuple[int, int], text: str, names: list[str]) -> None:
    app.query_params["text"] = text
    for name in names:
        app.switch_page(f"app_pages/{name}.py").run()
        assert any(f"1 + 3 layers, {heads[0]} + {heads[1]} heads" in each.proto.body for each in app.get("html"))
        assert not app.exception, f"{name}: {app.exception[0].message}"
        assert not app.error, f"{name}: {app.error[0].value}"
        assert reading(app).translation.source.strip() == text.strip(), name


@pytest.mark.usefixtures("small_pages")
def test_every_page_shows_a_model_with_other_norms_or_says_why_not(
    tmp_path: Path, tokenizer: SentencePieceTokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    shape = replace(
        PRESETS["tiny"],
        vocab_size=tokenizer.vocab_size,
        norm="pre",
        final_norm=True,
        embedding_norm=True,
        activation="gelu",
        positions="learned",
        max_positions=256,
        tied="none",
        output_bias=True,
        source_end=False,
        forced_first_id=5,
    )
    app = opened_on(shape, tmp_path, tokenizer, monkeypatch)
    app.query_params["text"] = "Where?"
    app.query_params["positions_view"] = FIRST_LAYER
    for page in PAGES:
        app.switch_page(f"app_pages/{page.name}.py").run()
        assert not app.exception, f"{page.name}: {app.exception[0].message}"
        assert not app.error, f"{page.name}: {app.error[0].value}"
        if page.name == "positions":
            reason = "This model normalises its embeddings twice before the first attention"
            assert any(info.value.startswith(plain(reason)) for info in app.info)
    st.cache_resource.clear()
