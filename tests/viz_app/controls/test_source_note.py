"""The note below the sentence, on any page."""

import pytest
from streamlit.testing.v1 import AppTest

from core.analysis import unfamiliar_source
from core.analysis.unfamiliar_source import SourceFamiliarity
from tests.viz_app.pages import healthy
from viz_app.controls.source_note import UNKNOWN, copied_text


def notes(app: AppTest, text: str) -> list[str]:
    app.text_input(key="text").set_value(text)
    return [warning.value for warning in healthy(app.run()).warning]


def test_the_note_stands_for_unknown_characters_and_for_sources_that_are_copied(
    app: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not healthy(app.run()).warning
    assert notes(app, "\U0001f600\U0001f436") == [UNKNOWN]
    with monkeypatch.context() as patch:
        patch.setattr(unfamiliar_source, "MARGIN", 100.0)
        patch.setattr(unfamiliar_source, "PROBABLE", -100.0)  # the model is untrained
        (text,) = notes(app, "A dog sleeps.")
    assert "Is this in the language" in text
    assert notes(app, "A dog runs.") == []


def test_the_note_says_how_much_more_probable_the_translation_is() -> None:
    text = copied_text(SourceFamiliarity(0.0, 0.2, -1.0))  # exp(0.2) = 1.22, exp(1.5) = 4.48
    assert "only 1.2 times as probable as the unchanged sentence; ordinary sentences have more than 4.5" in text
