"""The page Head to head without a browser."""

import pytest
from streamlit.testing.v1 import AppTest

from core.analysis.composition.edge_effects import estimated_edges, exact_effects
from core.analysis.composition.edges import Edge, Node
from core.analysis.composition.replacement import record_replacement
from tests.viz_app.pages import Start, healthy, measured, opened, reading, said
from viz_app.controls import job_control
from viz_app.session.chosen_heads import heads_widget
from viz_app.views.experiments.head_paths import paths_survey
from viz_app.views.experiments.head_paths.paths_survey import SurveySlot, parsed_edge, select

TEXT, TARGET = "The old house.", "345.28.346.2"
EDGE = Edge(Node("encoder_self", 0, 1), Node("cross", 1, 0), "value")


@pytest.fixture(autouse=True)
def few_edges(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths_survey, "MEASURED", 30)


def page(start: Start, **address: str) -> AppTest:
    return opened(start(**{"text": TEXT, "beam_size": "1", "target": TARGET, "token": "3", **address}), "head_paths")


def test_edges_are_estimated_measured_and_checked(start: Start) -> None:
    app = page(start)
    found, about = measured(app, SurveySlot), reading(app)
    run = record_replacement(about.model.translator, TEXT, about.hypothesis.token_ids, 2)
    assert found.job.finished
    assert found.job.done == found.job.total
    assert {each.edge for each in found.found.edges} == {each.edge for part in estimated_edges(run) for each in part}
    edges = list(found.found.effects)
    assert list(found.found.effects.values()) == pytest.approx(
        exact_effects(run, [(edge, None) for edge in edges]).tolist(), abs=1e-4
    )
    assert found.check is not None
    assert found.check[1] < 1e-3
    assert "an edge repeated with hooks" in "\n".join(str(each) for each in app.get("badge")) + said(app)
    assert "Edges need not add up" in said(app)
    assert "Composition by weights alone and measured change, rank correlation: query" in said(app)


def test_the_address_holds_the_question_and_the_edge(start: Start) -> None:
    app = page(start, paths_by="zero", paths_drawn="10", path="encoder_self.1.2-cross.2.1-value")
    found = measured(app, SurveySlot)
    assert (found.question.by, found.question.position) == ("zero", 2)
    assert parsed_edge(app.session_state["path"]) == EDGE
    assert app.query_params["path"] == "encoder_self.1.2-cross.2.1-value"
    assert "Encoder L1 H2 → Cross L2 H1, value" in said(app)
    assert "the values that it reads change" in said(app)
    assert len(found.positions[EDGE]) == found.run.runs.source_ids.size(1)


def test_the_log_probability_of_a_token_alone(start: Start) -> None:
    app = page(start, paths_metric="log_prob")
    run = measured(app, SurveySlot).run
    about = reading(app)
    assert run.metric == pytest.approx(about.explain().log_probs[2], abs=1e-4)
    assert "Log-probability of" in said(app)


def test_a_click_on_a_node_selects_its_head(start: Start) -> None:
    app = page(start)
    app.session_state["path"] = "target-logit-input"
    healthy(app.run())
    assert app.query_params["path"] == "target-logit-input"
    node = Node("cross", 1, 0)
    with pytest.MonkeyPatch.context() as patch:
        chosen: dict[str, object] = {}
        patch.setattr("viz_app.session.state.Widget.set", lambda widget, value: chosen.update({widget.key: value}))
        select(node)
    assert chosen == {"paths_node": node, "kind": "cross", heads_widget("cross").key: ["L2 H1"]}


def test_a_second_sentence_replaces_outputs(start: Start) -> None:
    app = page(start, paths_by="sentence", paths_second="The old train.")
    found = measured(app, SurveySlot)
    assert found.run.runs.texts == (TEXT, "The old train.")
    app.text_input(key="paths_second").set_value("The old sea.")
    assert "The clean sentence has 10 tokens" in said(healthy(app.run()))
    app.text_input(key="paths_second").set_value(" ")
    assert "Type a second sentence" in said(healthy(app.run()))


def test_a_stopped_survey_shows_what_is_known(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_control, "TURN", 0.0)
    app = page(start)
    next(button for button in app.button if button.label == "Stop").click()
    found = measured(healthy(app.run()), SurveySlot)
    assert 0 < found.job.done < found.job.total
    assert not found.job.running
    assert found.found.edges
    assert f"{found.job.done} of {found.job.total} steps" in said(app)


@pytest.mark.parametrize("text", ["", "source", "source-logit", "source-logit-mouth", "cross.0-logit-input", "a-b-key"])
def test_what_names_no_edge_is_none(text: str) -> None:
    assert parsed_edge(text) is None
