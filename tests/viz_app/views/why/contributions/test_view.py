"""The page "What heads write" without a browser."""

import re

import pytest
from streamlit.testing.v1 import AppTest

from core.analysis.heads.head import Head
from tests.viz_app.pages import Start, healthy, opened, reading, state_of
from viz_app.controls import predicted_token
from viz_app.session.switches import Switches
from viz_app.views.why.contributions import logit_terms
from viz_app.views.why.contributions.logit_terms import MEAN


def said_logit(app: AppTest) -> float:
    text = next(each.value for each in app.caption if each.value.startswith("The logit of")).replace("\\", "")
    number = re.search(r" is ([+\u2212]?[\d.]+) nats", text)
    assert number
    return float(number[1].replace("\u2212", "-"))


def test_the_logit_of_the_selected_token_is_shown_and_an_alternative_subtracted_and_kept_in_the_address(
    app: AppTest,
) -> None:
    opened(app, "contributions")
    about = reading(app)
    for position in range(2):
        healthy(app.selectbox(key="token").set_value(position).run())
        trace = logit_terms.trace_call(about).known
        expected = float(trace.logits[position, trace.predicted_ids[position]])
        assert said_logit(app) == pytest.approx(expected, abs=0.006)
    assert len(app.dataframe[1].value) == 8  # a row for each head of cross-attention

    trace = logit_terms.trace_call(reading(app)).known
    position = app.selectbox(key="token").value
    logits, token = trace.logits[position], trace.predicted_ids[position]
    healthy(app.button_group(key="against").set_value(MEAN).run())
    assert said_logit(app) == pytest.approx(float(logits[token] - logits.mean()), abs=0.006)
    assert app.query_params["against"] == MEAN
    piece = predicted_token.alternatives(reading(app), position)[0]
    value = dict(reading(app).explain().alternatives[position])[piece]
    healthy(app.button_group(key="against").set_value(piece).run())
    assert said_logit(app) == pytest.approx(reading(app).explain().log_probs[position] - value, abs=0.006)


def test_the_address_holds_token_alternative_and_head(start: Start) -> None:
    app = start(beam_size="2", text="Where?", token="2", term="cross L2 H3", against=MEAN)
    opened(app, "contributions")
    assert app.session_state["term"] == Head("cross", 1, 2)
    assert app.selectbox(key="token").value == 1  # counted from 0
    assert app.query_params["token"] == "2"
    assert app.query_params["term"] == "cross L2 H3"
    assert app.query_params["against"] == MEAN
    assert any("Cross L2 H3" in each.value for each in app.markdown)


def test_the_alternative_that_was_asked_about_is_subtracted(app: AppTest) -> None:
    opened(app, "contributions")
    assert app.button_group(key="against").value == logit_terms.NOTHING
    opened(app, "contrast")
    position = app.selectbox(key="token").value
    piece = predicted_token.alternatives(reading(app), position)[1]
    healthy(app.button_group(key="rather_than").set_value(piece).run())
    opened(app, "contributions")
    assert app.button_group(key="against").value == piece
    healthy(app.button_group(key="against").set_value(logit_terms.NOTHING).run())
    assert app.button_group(key="against").value == logit_terms.NOTHING


def test_the_head_that_adds_most_is_switched_off_in_one_click(app: AppTest) -> None:
    opened(app, "contributions")
    terms = logit_terms.terms_call(reading(app), app.selectbox(key="token").value, None).known.heads()
    healthy(app.button(key="term-ask_without").click().run())
    assert state_of(app, Switches).gates == {max(terms, key=terms.__getitem__): 0.0}
    assert app.query_params["switched"] == str(max(terms, key=terms.__getitem__))


@pytest.mark.parametrize("name", ["cross", "encoder L1 H1", "cross L0 H1", "cross L1 H1<b>", "cross L9 H3"])
def test_a_head_that_the_decoder_lacks_is_not_selected(start: Start, name: str) -> None:
    app = opened(start(beam_size="2", text="Where?", term=name), "contributions")
    assert app.session_state["term"] is None
    assert "term" not in app.query_params
