"""The line of the signs that fire, and the search for left-out words at the end of the page."""

import pytest
from streamlit.testing.v1 import AppTest

from core.analysis.signs import pair_signs
from core.analysis.signs.left_out import left_out
from core.analysis.signs.pair_signs import SIGNS
from core.analysis.signs.thresholds import SignThresholds, Threshold
from tests.viz_app.pages import Start, healthy, opened, reading, state_of
from viz_app.session import readings, signs
from viz_app.views.translate.translation import forced_target

NEVER = 1e9


def limits(**values: float) -> SignThresholds:
    return SignThresholds({name: Threshold(values.get(name, NEVER), 8, 0.0) for name in SIGNS}, "a sample", 8)


def names(app: AppTest) -> list[str]:
    return [each.label for each in app.button if str(each.key).startswith("sign_")]


def test_nothing_is_shown_if_no_sign_fires(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signs, "thresholds", lambda _: limits())
    app = opened(start(text="Where is the old station?", beam_size="1"), "translate")
    assert names(app) == []
    assert not any("Signs of a bad translation" in each.value for each in app.caption)


def test_of_a_given_translation_signs_of_right_ones_are_not_offered(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(signs, "thresholds", lambda _: limits(doubtful=-NEVER, numbers=1.0))
    app = opened(start(text="Where is room 12?", beam_size="1"), "translate")
    assert "Doubtful words" in names(app)
    app.text_area(key=forced_target.TEXT.key).set_value("Wo ist Zimmer 13?")
    next(button for button in app.button if button.label == "Score it").click()
    assert names(healthy(app.run())) == ["Numbers"]
    assert any(each.value.startswith("Not offered for given translations: doubtful words") for each in app.caption)


def test_a_click_on_a_sign_selects_its_words(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signs, "thresholds", lambda _: limits(doubtful=-NEVER))
    app = opened(start(text="Where is the old station?", beam_size="1"), "translate")
    assert names(app) == ["Doubtful words"]
    sign = signs.signs(reading(app))["doubtful"]
    button = app.button(key="sign_doubtful")
    assert "; the threshold is" in button.help
    assert "translations of 8 sentences (a sample)" in button.help
    healthy(button.click().run())
    assert state_of(app, readings.Current).words.words == tuple(sign.marked(-NEVER))


def test_the_number_of_words_that_are_not_marked_is_said(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signs, "thresholds", lambda _: limits(left_out=-NEVER))
    monkeypatch.setattr(pair_signs, "MOST_MARKED", 1)
    app = opened(start(text="Several children admired wonderful elephants.", beam_size="1"), "translate")
    more = len(signs.signs(reading(app))["left_out"].words) - 1
    assert more > 1
    assert any(each.value == f"and {more} more words" for each in app.caption)
    assert len(reading(app).left_out) == 1
    healthy(app.button(key="sign_left_out").click().run())
    assert len(state_of(app, readings.Current).words.words) == 1


def test_left_out_words_are_looked_for_and_marked(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signs, "thresholds", lambda _: limits(left_out=-NEVER))
    app = opened(start(text="Where is the very old station?", beam_size="1"), "translate")
    about = reading(app)
    expected = left_out(about.model.translator, about.translation.source, about.hypothesis.token_ids)
    found = readings.left_out_sign(about)
    assert found is not None
    assert found.value == pytest.approx(expected.value)
    assert names(app) == ["Left-out words"]
    assert about.left_out == tuple(group for _, group in found.marked(-NEVER))
    assert any(each.label.startswith("Where did") for each in app.button)


def test_a_model_without_thresholds_offers_to_measure_them(start: Start) -> None:
    app = opened(start(text="Where is the old station?", beam_size="1"), "translate")
    assert any("has no thresholds for signs" in each.value for each in app.caption)
    healthy(app.button(key="measure_signs").click().run())
    slot = state_of(app, signs.ThresholdSlot)
    assert slot.measured is not None
    assert slot.measured.job.total == 48
