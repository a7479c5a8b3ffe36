"""Every page with a model whose encoder and decoder differ in layers and heads, for one word and for many tokens."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from streamlit.testing.v1 import AppTest

from core.drawing.drawing_data import MAX_CELL
from core.formats.checkpoint import save_checkpoint
from core.model import Transformer
from core.model.config import TransformerConfig
from core.model.preset_configs import PRESETS
from core.text.tokenizer import SentencePieceTokenizer, Tokenizer
from tests.viz_app.pages import comes_to, reading, to_page
from viz_app.drawing.display_text import plain
from viz_app.page_list import VIEWS
from viz_app.views.heads.grid.figures.bertviz_views import MAX_TOKENS
from viz_app.views.paper.positions.score_decomposition import FIRST_LAYER

LONG = "The old house on the hill was built. " * 7  # too long for BertViz, and reduced in small maps
pytestmark = pytest.mark.usefixtures("caches")
SHELL = str(Path(__file__).parents[2] / "viz_app" / "shell.py")


def opened_on(shape: TransformerConfig, tmp_path: Path, tokenizer: Tokenizer, patch: pytest.MonkeyPatch) -> AppTest:
    """The app before its first run, on a model with random weights."""
    with torch.random.fork_rng():
        torch.manual_seed(2)
        save_checkpoint(tmp_path / "odd.safetensors", Transformer(shape), tokenizer)
    patch.setenv("HEADLIGHT_CHECKPOINT", str(tmp_path / "odd.safetensors"))
    patch.setattr("core.decoding.limits.MAX_EXTRA_TOKENS", 1)  # it never ends a sentence
    test = AppTest.from_file(SHELL, default_timeout=60)
    few = {"iterations": "2", "paper_text_3": "A dog runs.", "picture_view": "table"}
    test.query_params.update({"beam_size": "1", **few})
    return test


@pytest.fixture
def shape(tokenizer: SentencePieceTokenizer) -> TransformerConfig:
    """1 + 2 layers, d_k other than d_v, and self-attention restricted to 4 positions."""
    layers = {"num_encoder_layers": 1, "num_decoder_layers": 2}
    return replace(PRESETS["tiny"], vocab_size=tokenizer.vocab_size, **layers, d_k=3, d_v=5, neighbourhood=4)


def test_pages_of_a_sentence_take_many_tokens(
    shape: TransformerConfig, tmp_path: Path, tokenizer: SentencePieceTokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = opened_on(replace(shape, num_heads=3, num_decoder_heads=1), tmp_path, tokenizer, monkeypatch)
    app.query_params["text"] = LONG
    for name in ("translate", "heads", "alignment"):
        to_page(app, name).run()
        assert any("1 + 2 layers, 3 + 1 heads" in each.proto.body for each in app.get("html"))
        assert not app.exception, f"{name}: {app.exception[0].message}"
        assert not app.error, f"{name}: {app.error[0].value}"
        assert reading(app).translation.source.strip() == LONG.strip(), name
    assert len(reading(app).hypothesis.token_ids) > MAX_TOKENS
    assert len(LONG.split()) > MAX_CELL


@pytest.mark.usefixtures("small_pages")
def test_every_page_shows_a_model_with_other_norms_or_says_why_not(
    shape: TransformerConfig, tmp_path: Path, tokenizer: SentencePieceTokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = replace(
        shape,
        num_heads=2,
        num_decoder_heads=4,
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
    app = opened_on(other, tmp_path, tokenizer, monkeypatch)
    for page in VIEWS:
        to_page(comes_to(app, text=".", positions_view=FIRST_LAYER), page.name).run()
        assert any("1 + 2 layers, 2 + 4 heads" in each.proto.body for each in app.get("html"))
        assert not app.exception, f"{page.name}: {app.exception[0].message}"
        assert not app.error, f"{page.name}: {app.error[0].value}"
        assert reading(app).translation.source == ".", page.name
        if page.name == "positions":
            reason = "This model normalises its embeddings twice before the first attention"
            assert any(info.value.startswith(plain(reason)) for info in app.info)
