"""The view "One step of training" without a browser."""

import pytest
from streamlit.testing.v1 import AppTest

from tests.viz_app.pages import Start, healthy, opened, reading, state_of
from viz_app.session.step_place import TrainingPlace


def shown(app: AppTest) -> list[str]:
    return [each.value for each in app.markdown]


def test_the_translation_is_trained_on_the_numbers_are_checked_and_the_model_is_as_it_was(start: Start) -> None:
    app = opened(start(text="A dog.", beam_size="1"), "translate")
    model = reading(app).model.translator.model
    before = {name: value.clone() for name, value in model.state_dict().items()}
    opened(app, "training_step")
    assert any("the gradient is right" in each for each in shown(app))
    token = app.selectbox(key="token").value
    label = reading(app).hypothesis.token_ids[token]
    assert any(f"embedding.tokens.weight[{label}, " in each.replace("\\", "") for each in shown(app))
    assert "at" not in app.query_params
    assert reading(app).model.translator.model is model
    assert all(bool((value == before[name]).all()) for name, value in model.state_dict().items())


def test_the_address_has_reference_token_step_and_weight(start: Start) -> None:
    settings = {
        "reference": "Ein Hund.",
        "reference_token": "2",
        "schedule_step": "4000",
        "trained_weight": "decoder.layers.1.feed_forward.inner.weight",
        "weight_index": "3, 4",
        "at": "update",
    }
    app = opened(start(text="A dog.", beam_size="1", **settings), "training_step")
    assert {name: app.query_params[name] for name in settings} == settings
    assert app.selectbox(key="reference_token").value == 1
    assert any("decoder.layers.1.feed_forward.inner.weight[3, 4]" in each.replace("\\", "") for each in shown(app))
    state_of(app, TrainingPlace).keep(("result", None))
    healthy(app.run())
    assert app.query_params["at"] == "result"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"trained_weight": "embedding.tokens.weight", "weight_index": "9999, 1"}, "has no index [9999, 1]"),
        ({"trained_weight": "embedding.tokens.weight", "weight_index": "x"}, "There is no weight"),
        ({"reference": "a " * 2000}, "tokens, at most"),
    ],
)
def test_what_is_wrong_is_said_in_its_place(start: Start, settings: dict[str, str], message: str) -> None:
    app = opened(start(text="A dog.", beam_size="1", **settings), "training_step")
    (error,) = app.error
    assert message in error.value.replace("\\", "")
