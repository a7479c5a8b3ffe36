"""The view "Why a head looks there" without a browser: its bars, and the ways in and out."""

from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core.analysis.attribution.score_components import ScoreComponents, ScoreComponentsOptions, score_components
from core.analysis.csv_output import csv_text
from core.analysis.heads.head import Head
from core.analysis.recorded_call import Call, table_script
from core.analysis.tokens.words import text_word_groups
from core.trace import parse_head
from tests.viz_app.pages import Start, healthy, opened, reading, state_of
from viz_app.controls.score_products import written_cell
from viz_app.session import python_code
from viz_app.session.map_pass import Cell
from viz_app.session.readings import Current, SelectedWords

TEXT = "Where is the old station?"
CROSS = {"attending_head": "cross L2 H3", "attending": "2", "attended": "3"}


def headline(app: AppTest) -> str:
    return next(each.value.replace("\\", "") for each in app.caption if " looks from " in each.value)


def asked(app: AppTest) -> ScoreComponents:
    """The score that the boxes select."""
    key, other = app.selectbox(key="attended").value, app.selectbox(key="instead_of").value
    return score_components(
        *reading_arguments(app),
        ScoreComponentsOptions(
            head=parse_head(app.selectbox(key="attending_head").value),
            query=app.selectbox(key="attending").value,
            key=key,
            instead_of=None if other == "mean" else int(other) - 1,
        ),
    )


def reading_arguments(app: AppTest) -> tuple[Any, ...]:
    return tuple(each.value for each in python_code.sentence(reading(app)))


def test_the_address_has_the_question_and_opened_heads(start: Start) -> None:
    terms = ["key.encoder_self.1", "query.cross.1"]
    app = opened(start(text=TEXT, beam_size="1", **CROSS, instead_of="5", opened_terms=terms), "score_components")
    assert app.query_params["opened_terms"] == terms
    score = asked(app)
    assert (score.head, score.query, score.key, score.instead_of) == (Head("cross", 1, 2), 1, 2, 4)
    assert f"weight {score.weights[2]:.3f}," in headline(app)
    assert f" {score.score:+.2f}, the logarithm".replace("-", "\u2212") in headline(app)
    assert {name: app.query_params[name] for name in CROSS} == CROSS
    assert app.query_params["instead_of"] == "5"
    healthy(app.selectbox(key="instead_of").set_value("mean").run())
    assert "instead_of" not in app.query_params
    assert f" {asked(app).score:+.2f}.".replace("-", "\u2212") in headline(app)
    assert any("bars sum to the score" in each.value for each in app.markdown)


def test_at_first_and_with_another_head_the_strongest_key_is_asked_about(start: Start) -> None:
    app = opened(start(text=TEXT, beam_size="1"), "score_components")
    for name in (app.selectbox(key="attending_head").value, "encoder L1 H4", "decoder L2 H1"):
        healthy(app.selectbox(key="attending_head").set_value(name).run())
        kind, layer, head = parse_head(name)
        row = reading(app).explain().maps[kind][layer].weights[head, app.selectbox(key="attending").value]
        assert app.selectbox(key="attended").value == int(row.argmax())
    visible = app.selectbox(key="attending").value + 1  # of the decoder
    assert len(app.selectbox(key="attended").options) == visible == len(app.selectbox(key="instead_of").options)


def test_a_head_that_the_model_lacks_or_a_key_that_it_cannot_see_is_not_asked_about(start: Start) -> None:
    wrong = {"attending_head": "decoder L2 H1", "attending": "2", "attended": "4", "instead_of": "9"}
    app = opened(start(text=TEXT, beam_size="1", **wrong), "score_components")
    assert app.selectbox(key="attended").value in (0, 1)
    assert app.selectbox(key="instead_of").value == "mean"
    app = opened(start(text=TEXT, beam_size="1", attending_head="cross L9 H1"), "score_components")
    assert parse_head(app.selectbox(key="attending_head").value).layer < 2


def test_a_click_on_a_cell_of_a_map_leads_to_its_question(start: Start) -> None:
    head = Head("cross", 1, 2)
    products = written_cell("map_0", Cell(head, 1, 2))
    app = opened(start(text=TEXT, beam_size="1", view="map", heads_cross="L2 H3", products=products), "heads")
    button = next(each for each in app.button if each.label == "Why does it look there?")
    healthy(button.click().run())
    score = asked(app)
    assert (score.head, score.query, score.key) == (head, 1, 2)
    healthy(app.button(key="score_on_heads").click().run())
    assert app.multiselect(key="heads_cross").value == ["L2 H3"]


def test_the_first_head_of_two_words_is_asked_about(start: Start) -> None:
    app = opened(start(text=TEXT, beam_size="1"), "translate")
    groups = text_word_groups(reading(app).explain().source_tokens)
    state_of(app, Current).words = SelectedWords(reading(app).identity, (("source", groups[3]), ("source", groups[1])))
    healthy(app.run())
    label = app.button(key="ask_there").label
    healthy(app.button(key="ask_there").click().run())
    score = asked(app)
    assert score.head.kind == "encoder_self"
    assert score.query in groups[3]
    assert score.key in groups[1]
    assert label.startswith(f"Why does Encoder L{score.head.layer + 1} H{score.head.head + 1} look from ")
    own = reading(app).explain().maps["encoder_self"][score.head.layer].weights[score.head.head]
    assert float(own[score.query, score.key]) == max(float(own[query, key]) for query in groups[3] for key in groups[1])


def test_the_open_head_is_asked_about_where_it_may_link_the_words(start: Start) -> None:
    app = opened(start(text=TEXT, beam_size="1", kind="encoder_self", heads_encoder_self="L1 H3"), "heads")
    source, target = map(
        text_word_groups, (reading(app).explain().source_tokens, reading(app).explain().predicted_tokens)
    )
    for other, name in ((("source", source[1]), "Encoder L1 H3"), (("target", target[0]), "Cross ")):
        words = SelectedWords(reading(app).identity, (("source", source[3]), other))
        state_of(app, Current).words = words
        healthy(app.run())
        assert app.button(key="ask_there").label.startswith(f"Why does {name}")


def test_the_script_writes_the_table(start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(python_code, "is_on_this_machine", lambda: True)
    app = opened(start(text="A dog runs.", beam_size="1"), "score_components")
    options = ScoreComponentsOptions(head=Head("decoder_self", 1, 0), query=2, key=1, instead_of=0)
    table = Call("components", score_components, (*python_code.sentence(reading(app)), options)).then("table")
    exec(table_script(table, str(tmp_path / "out.csv")), {})
    assert (tmp_path / "out.csv").read_text(encoding="utf-8") == csv_text(table.run())
