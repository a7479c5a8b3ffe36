"""Pages that take scores and norms apart, on a model with relative positions, RMSNorm and gated networks."""

import pytest

from tests.core.tiny_models import LIKE_T5
from tests.fixtures import SaveModel
from tests.viz_app.pages import Start, comes_to, healthy, opened
from viz_app.controls import job_control


def test_pages_count_the_distance_or_say_what_does_not_apply(
    saved_model: SaveModel, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_control, "TURN", 60.0)
    app = opened(start(saved_model("t5", 0, **LIKE_T5), text="Where?", beam_size="1"), "positions")
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
