"""The app shows what `core.model` computes: after a change of it, another translation, other scores and other maps."""

from pathlib import Path

import pytest
import streamlit as st
import torch
from streamlit.testing.v1 import AppTest

from core import Explanation
from tests.changed_modules import CHANGES, change
from tests.viz_app.pages import Start, healthy, reading, translations
from viz_app.frame.source_note import BY_MODULES

TEXT = "Two children are playing with a red ball."


def notes(app: AppTest) -> list[str]:
    return [each.value for each in app.info]


@pytest.mark.parametrize("changed", CHANGES)
def test_the_page_changes_and_says_that_the_model_searched(
    checkpoint_of_any_kind: Path, start: Start, changed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def shown() -> tuple[AppTest, Explanation]:
        st.cache_resource.clear()
        app = healthy(start(checkpoint_of_any_kind, text=TEXT, beam_size="2").run())
        return app, reading(app).explain()

    before, explanation = shown()
    change(changed, monkeypatch)
    after, another = shown()
    one, other = reading(before), reading(after)
    assert other.translation.text != one.translation.text
    assert other.hypothesis.score != pytest.approx(one.hypothesis.score, abs=1e-2)
    assert translations(after) != translations(before)
    for layer, changed_layer in zip(explanation.maps["cross"], another.maps["cross"], strict=True):
        assert not torch.equal(layer.weights[:, 0], changed_layer.weights[:, 0])
    assert other.hypothesis.token_log_probs == pytest.approx(
        another.log_probs[: len(other.hypothesis.token_ids)], abs=1e-4
    )
    assert (BY_MODULES in notes(after)) == other.translation.by_modules
    assert not one.translation.by_modules
    assert BY_MODULES not in notes(before)
