"""Going back or forward in the browser's history shows the view of that address."""

from typing import Any

import pytest
from streamlit.runtime.scriptrunner_utils.script_run_context import ScriptRunContext
from streamlit.testing.v1 import AppTest

from tests.viz_app.pages import Start, healthy, opened, parsed, state_of, to_page
from viz_app.session.open_models import OpenModels
from viz_app.views.why.contributions.logit_terms import MEAN

# Of each page two views, as the address has them. What the second one leaves out is at its default there.
VIEWS = [
    ("translate?text=Where?&beam_size=5&length_penalty=1.2&hypothesis=2&word=source.1", "text=Who?"),
    ("heads?text=Where?&kind=encoder_self&heads_encoder_self=L1+H2&heads_encoder_self=L2+H4", "text=Where+is+he?"),
    ("switches?text=Where?&switched=cross+L2+H1", "text=Where?"),
    ("compare?text=Where?&second=3", "text=Where?&second=2"),
    ("lens?text=Where?&cell=2.2", "text=Where?&cell=1.1"),
    (f"contributions?text=Where?&token=2&against={MEAN}&term=cross+L2+H3", "text=Where+is+he?&token=1"),
    ("step_through?text=Where?&at=cross-scores&picked=2", "text=Where?&at=cross-mask"),
    ("training_step?text=Where?&at=gradient&schedule_step=7&reference=Wo?", "text=Where?&at=loss"),
    ("head_paths?text=Where?&path=encoder_self.1.2-cross.2.1-value", "text=Where?"),
    ("paper_figures?text=Where?&selection=encoder_self|norms|L1+H2|Mean+of+all", "text=Where?"),
]


@pytest.fixture
def app(start: Start) -> AppTest:
    return start()


def go(app: AppTest, address: dict[str, str | list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    """Show an address as the browser does that goes back or forward to it."""
    reset = ScriptRunContext.reset

    def navigate(self: ScriptRunContext, *arguments: Any, **options: Any) -> None:
        reset(self, *arguments, **options | {"is_history_navigation": True})

    app.query_params.clear()
    app.query_params.update(address)
    with monkeypatch.context() as patch:
        patch.setattr(ScriptRunContext, "reset", navigate)
        healthy(app.run())


def shown(app: AppTest, names: dict[str, Any]) -> dict[str, str | list[str]]:
    return {name: app.query_params[name] for name in names if name in app.query_params}


@pytest.mark.usefixtures("short_turns")
@pytest.mark.parametrize(("view", "other"), VIEWS)
def test_a_view_comes_back_with_its_address(
    app: AppTest, view: str, other: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (page, first), (_, second) = parsed(view), parsed(f"?{other}")
    app.query_params.update(first)
    opened(app, page)
    assert shown(app, first) == first
    for address in (second, first):
        go(app, address, monkeypatch)
        assert app.session_state["text"] == address["text"]
        assert shown(app, address) == address
        left_out = shown(app, dict.fromkeys(first.keys() - address.keys()))
        assert not left_out.items() & first.items()


def test_an_address_that_lags_behind_changes_nothing(app: AppTest) -> None:
    app.query_params["text"] = "Where?"
    healthy(app.run())
    healthy(app.text_input("text").set_value("Who?").run())
    app.query_params["text"] = "Where?"  # sent before the browser knew of the second sentence
    healthy(app.run())
    assert app.session_state["text"] == app.query_params["text"] == "Who?"


def test_the_address_of_a_change_of_page_keeps_the_sentence(app: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    app.query_params.update({"text": "Where?", "beam_size": "5"})
    healthy(app.run())
    to_page(app, "alignment")
    go(app, {}, monkeypatch)  # the browser has made it, before the app wrote sentence and settings to it
    assert shown(app, {"text": "", "beam_size": ""}) == {"text": "Where?", "beam_size": "5"}


def test_the_address_of_the_beginning_is_the_first_example(app: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    healthy(app.run())
    example = app.session_state["text"]
    healthy(app.text_input("text").set_value("Who?").run())
    app.session_state["settings"] = True  # opened
    healthy(app.run().slider("beam_size").set_value(2).run())
    go(app, {"beam_size": "3"}, monkeypatch)
    assert (app.session_state["text"], app.session_state["beam_size"]) == (example, 3)
    go(app, {}, monkeypatch)
    assert (app.session_state["text"], app.session_state["beam_size"]) == (example, 4)


def test_the_first_model_comes_back(app: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    app.query_params.update({"text": "Where?", "checkpoint": "multi30k"})
    healthy(app.run())
    models = state_of(app, OpenModels)
    assert models.named == "multi30k"
    go(app, {"text": "Where?"}, monkeypatch)
    assert (models.named, models.current) == ("", "")
    go(app, {"text": "Where?", "checkpoint": "multi30k"}, monkeypatch)
    assert models.named == "multi30k"
