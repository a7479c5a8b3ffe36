import re

import pytest

from core.analysis.token_path.token_walk import follow_token
from core.translator import Translator
from viz_app.drawing.theme import DARK
from viz_app.views.steps.export import export_step
from viz_app.views.steps.figures.step_views import StepView, step_named
from viz_app.views.steps.token_path.figures.step_list import step_list


@pytest.fixture(scope="module")
def views(stepped: Translator) -> list[StepView]:
    path = follow_token(stepped, "A dog.", "Ein Hund.", "decoder", 1, 1, 0)
    return step_list(path, stepped.tokenizer.target.piece)


def test_the_format_is_the_one_asked_for(views: list[StepView]) -> None:
    view = step_named(views, "feed_forward-output")
    assert export_step(view, "png").startswith(b"\x89PNG")
    with pytest.raises(ValueError, match="unknown format 'gif'"):
        export_step(view, "gif")  # type: ignore[arg-type]


def test_the_picture_has_the_words_and_the_numbers_of_the_step(views: list[StepView]) -> None:
    view = step_named(views, "cross-scores")
    svg = export_step(view, "svg", DARK, pick=1).decode()
    assert "<image" not in svg
    text = re.sub(r"<[^>]*>", "", svg)
    assert "Cross-attention: Scores (section 3.2.1)" in text
    assert view.details[1].title in text
    for row in view.blocks[0].rows:
        assert f"{abs(row.numbers[0] or 0):.3f}" in text
    scaling = step_named(views, "cross-scaling")
    assert scaling.aside
    assert scaling.aside[0][:60] in re.sub(r"<[^>]*>", "", export_step(scaling, "svg").decode())
    masked = export_step(step_named(views, "decoder_self-softmax"), "svg").decode()
    assert "hidden" in masked
