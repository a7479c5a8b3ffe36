"""Cuts on the page Heads without a browser."""

import pytest
from streamlit.testing.v1 import AppTest

from core.analysis.heads.head import Head
from core.analysis.interventions.cuts import Cut, parse_cut
from tests.viz_app.pages import Start, healthy, opened, reading, state_of
from viz_app.controls import job_control
from viz_app.views.heads.cuts import cut_panel
from viz_app.views.heads.cuts.cut_panel import Cuts

NAMES = ["cross L2 H3 row 1 column 1 to 0.5 rest", "encoder L1 H1"]


def test_the_address_holds_the_cuts_and_undo_removes_the_last(start: Start) -> None:
    app = start(beam_size="2", text="Where?", cutting="true")
    app.query_params["cut"] = NAMES
    opened(app, "heads")
    state = state_of(app, Cuts)
    assert list(map(str, state.cuts)) == NAMES
    assert any("With these cuts, " in each.value for each in app.markdown)
    healthy(app.button(key="cut-undo").click().run())
    assert list(map(str, state.cuts)) == NAMES[:1]
    healthy(app.button(key="cut-remove-0").click().run())
    assert not state.cuts
    assert "cut" not in app.query_params


def test_the_same_place_again_is_no_cut(app: AppTest) -> None:
    opened(app, "heads")
    about, cuts = reading(app), Cuts()
    first, second = Cut(Head("cross", 0, 0), range(1), range(1)), Cut(Head("cross", 0, 1))
    cuts.toggle(about, [first])
    cuts.toggle(about, [second])
    assert cuts.of(about) == (first, second)
    cuts.toggle(about, [Cut(first.head, first.rows, first.keys, 0.5)])
    assert cuts.of(about) == (second,)
    effect = cut_panel.effect(about, (second,))
    assert effect.changes != pytest.approx([0.0] * len(effect.changes))


@pytest.mark.parametrize(
    ("name", "said"),
    [("<b>", "is not a cut"), ("cross L9 H1", "has no head"), ("cross L1 H1 row 999", "remove the cut")],
)
def test_an_address_that_names_no_cut_is_refused(start: Start, name: str, said: str) -> None:
    app = opened(start(beam_size="2", text="Where?", cutting="true", cut=name), "heads")
    assert said in app.error[0].value.replace("\\", "")
    assert not state_of(app, Cuts).cuts


def test_a_search_for_cuts_can_be_used(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_control, "TURN", 60.0)
    app = opened(start(beam_size="1", text="Where?", cutting="true", word="target.1"), "heads")
    healthy(app.button(key="find-cuts").click().run())
    found = state_of(app, cut_panel.CutSearchSlot).measured
    assert found is not None
    assert found.job.finished or found.job.error
    if found.states and found.states[-1].is_minimal:
        healthy(app.button(key="use-cuts").click().run())
        assert state_of(app, Cuts).cuts == tuple(map(parse_cut, map(str, found.states[-1].cuts)))
