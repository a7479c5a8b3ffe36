"""Pages that take scores and norms apart, on a model with relative positions, RMSNorm and gated networks."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from core.formats.checkpoint import save_checkpoint
from core.model import Transformer
from core.model.preset_configs import PRESETS
from core.text.tokenizer import SentencePieceTokenizer
from tests.core.tiny_models import LIKE_T5
from tests.viz_app.pages import Start, comes_to, healthy, opened
from viz_app.controls import job_control


@pytest.fixture
def checkpoint(tmp_path: Path, tokenizer: SentencePieceTokenizer) -> Path:
    path = tmp_path / "t5.safetensors"
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = Transformer(replace(PRESETS["tiny"], vocab_size=tokenizer.vocab_size, **LIKE_T5))
    save_checkpoint(path, model, tokenizer)
    return path


def test_pages_count_the_distance_or_say_what_does_not_apply(
    checkpoint: Path, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_control, "TURN", 60.0)
    app = opened(start(checkpoint, text="Where?", beam_size="1"), "positions")
    said = [each.value for each in healthy(comes_to(app, positions_view="first_layer").run()).caption]
    assert any(each.startswith("Checked now: the 3 parts sum to") for each in said)
    opened(app, "step_through")
    app = opened(comes_to(app, attending_head="encoder L2 H1"), "score_components")
    assert any("bars sum to the score" in each.value for each in app.markdown)
    said = [each.value for each in opened(app, "contrast").caption]
    (why,) = [
        each for each in said if each.startswith("Integrated gradients do not apply to a model with relative pos")
    ]
    assert why.endswith(r"too steep to integrate\.")  # one full stop
