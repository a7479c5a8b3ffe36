"""Every page with a model whose encoder and decoder differ in layers and heads, for one word and for many tokens."""

import pytest

from core.drawing.drawing_data import MAX_CELL
from tests.fixtures import SaveModel
from tests.viz_app.pages import Start, comes_to, reading, to_page
from viz_app.drawing.display_text import plain
from viz_app.page_list import VIEWS
from viz_app.views.heads.grid.figures.bertviz_views import MAX_TOKENS
from viz_app.views.paper.positions.score_decomposition import FIRST_LAYER

LONG = "The old house on the hill was built. " * 7  # too long for BertViz, and reduced in small maps
pytestmark = pytest.mark.usefixtures("caches")
# 1 + 2 layers, d_k other than d_v, and self-attention restricted to 4 positions
SHAPE = {"num_encoder_layers": 1, "num_decoder_layers": 2, "d_k": 3, "d_v": 5, "neighbourhood": 4}
OTHER = {"norm": "pre", "final_norm": True, "embedding_norm": True, "activation": "gelu", "positions": "learned"}
OTHER |= {"max_positions": 256, "tied": "none", "output_bias": True, "source_end": False, "forced_first_id": 5}
FEW = {"beam_size": "1", "iterations": "2", "paper_text_3": "A dog runs.", "picture_view": "table"}


def test_pages_of_a_sentence_take_many_tokens(start: Start, saved_model: SaveModel) -> None:
    app = start(saved_model("odd", 2, **SHAPE, num_heads=3, num_decoder_heads=1), **FEW, text=LONG)
    for name in ("translate", "heads", "alignment"):
        to_page(app, name).run()
        assert any("1 + 2 layers, 3 + 1 heads" in each.proto.body for each in app.get("html"))
        assert not app.exception, f"{name}: {app.exception[0].message}"
        assert not app.error, f"{name}: {app.error[0].value}"
        assert reading(app).translation.source.strip() == LONG.strip(), name
    assert len(reading(app).hypothesis.token_ids) > MAX_TOKENS
    assert len(LONG.split()) > MAX_CELL


@pytest.mark.usefixtures("small_pages")
def test_every_page_shows_a_model_with_other_norms_or_says_why_not(start: Start, saved_model: SaveModel) -> None:
    other = saved_model("odd", 2, **SHAPE, **OTHER, num_heads=2, num_decoder_heads=4)
    app = start(other, **FEW)
    for page in VIEWS:
        to_page(comes_to(app, text=".", positions_view=FIRST_LAYER), page.name).run()
        assert any("1 + 2 layers, 2 + 4 heads" in each.proto.body for each in app.get("html"))
        assert not app.exception, f"{page.name}: {app.exception[0].message}"
        assert not app.error, f"{page.name}: {app.error[0].value}"
        assert reading(app).translation.source == ".", page.name
        if page.name == "positions":
            reason = "This model normalises its embeddings twice before the first attention"
            assert any(info.value.startswith(plain(reason)) for info in app.info)
