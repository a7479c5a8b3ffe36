"""The page Alignment without a browser."""

import pytest
from streamlit.testing.v1 import AppTest

from core.analysis.alignment.aligners import rank_aligners
from core.analysis.attribution.methods import Method
from core.translator import Translator
from tests.viz_app.pages import Start, healthy, opened, state_of
from viz_app.controls import job_control
from viz_app.session.aligner_ranking import TextRankings
from viz_app.session.attributions import METHOD_NAMES
from viz_app.views.heads import gold_links

LINE = "A dog runs . ||| Ein Hund l\u00e4uft . ||| 0-0 1-1 2-2 3-3"


@pytest.fixture
def app(start: Start) -> AppTest:
    return opened(start(beam_size="1", text="A dog runs."), "alignment")


def test_links_rank_the_heads_and_stay_with_their_sentence(app: AppTest) -> None:
    assert any("rank all heads" in caption.value for caption in app.caption)
    healthy(app.text_input(key="links").set_value("0-0").run())
    table = app.dataframe(key="aligners_sentence").value
    assert len(table) == 2 * (2 * (4 + 1) + 1)
    assert table["error_rate"].is_monotonic_increasing
    assert any("By your links, " in each.value for each in app.markdown)
    app.text_input(key="text").set_value("Where?")
    assert healthy(app.run()).text_input(key="links").value == ""
    app.button(key="seed").click()
    seeded = healthy(app.run()).text_input(key="links").value
    assert seeded
    assert app.dataframe(key="aligners_sentence").value["error_rate"].iloc[0] == 0


def test_links_that_cannot_be_read_are_refused_and_kept(app: AppTest) -> None:
    healthy(app.text_input(key="links").set_value("0-0 9999-0").run())
    assert "is out of range" in app.error[0].value
    assert app.text_input(key="links").value == "0-0 9999-0"


@pytest.mark.parametrize("method", ["norms", "gradient", "rollout", "contributions", "rolled_contributions"])
def test_every_method_aligns(start: Start, method: Method) -> None:
    app = opened(start(beam_size="1", text="A dog runs.", method=METHOD_NAMES[method]), "alignment")
    assert app.selectbox(key="method").value == method
    assert ("L1 H1" in app.selectbox(key="aligner").options) == (method in ("norms", "gradient"))
    assert app.selectbox(key="aligner").value in app.selectbox(key="aligner").options


def test_a_pasted_text_ranks_all_heads_as_the_command_line_does(app: AppTest, translator: Translator) -> None:
    app.text_area(key="gold_pasted").set_value(LINE)
    healthy(app.button(key="rank_file").click().run())
    table = healthy(app.run()).dataframe(key="aligners_file").value
    expected = rank_aligners(translator, gold_links.pasted_pairs(LINE))
    assert list(zip(table["head"], table["rows"], table["error_rate"], strict=True)) == [
        (str(each), each.rows, pytest.approx(each.score.error_rate)) for each in expected
    ]
    for pasted, reason in (("no links ||| here", "expected 3"), (" ", "no pasted lines")):
        # not sent before the click, for which the button has to be enabled
        app.text_area(key="gold_pasted").set_value(pasted)
        assert not app.button(key="rank_file").disabled
        app.button(key="rank_file").click()
        assert reason in healthy(app.run()).error[0].value
        assert app.text_area(key="gold_pasted").value == pasted


def test_a_ranking_can_be_stopped_and_taken_up_again(app: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_control, "TURN", 0.0)  # a pair a turn
    app.text_area(key="gold_pasted").set_value("\n".join([LINE] * 9))
    healthy(app.button(key="rank_file").click().run())
    assert app.button(key="run_ranking").label == "Stop"
    app.button(key="run_ranking").click()
    work = state_of(healthy(app.run()), TextRankings).job
    assert work is not None
    assert app.button(key="run_ranking").label == "Continue"
    done = work.done
    assert 0 < done < 9
    healthy(app.run())
    assert work.done == done
    healthy(app.button(key="run_ranking").click().run())
    assert work.done > done
