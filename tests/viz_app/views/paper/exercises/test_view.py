"""The page Exercises without a browser: solved through what the views show that its hints name."""

import re

import pytest
from streamlit.testing.v1 import AppTest

from core.analysis import exercises
from core.analysis.alignment.sentence_alignment import align_words
from core.analysis.exercises import EXERCISES, PARTS
from core.analysis.heads.head import all_heads
from tests.viz_app.pages import Start, comes_to, healthy, opened, reading, said


def solves(app: AppTest, name: str, answer: str) -> bool:
    """Whether the page says that an answer is right once it is checked, and marks the exercise."""
    opened(comes_to(app, exercise=name), "exercises")
    healthy(app.selectbox(key="exercise_answer").set_value(answer).run())
    healthy(app.button(key="exercise_check").click().run())
    is_right = bool(app.success)
    assert is_right != ("**Not here.**" in said(app))
    assert name in app.query_params.get("exercises_solved", []) or not is_right
    return is_right


def test_the_alignment_has_the_source_of_a_word(app: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exercises, "NEGATION", re.compile(".*", re.DOTALL))  # the model has not learned to write nicht
    cross = reading(opened(app, "alignment")).explain().maps["cross"]
    upper = align_words(cross, (1, None))  # of two layers; the ribbons of "L2 mean"
    assert "L2 mean" in app.selectbox(key="aligner").options
    place = int((upper.weights / upper.weights.sum(0).sqrt())[0].argmax())
    assert solves(app, "negation", upper.source[place])


def test_the_beam_has_what_it_buys(app: AppTest) -> None:
    best = list[tuple[str, float]]()
    for size in ("1", "4"):
        opened(comes_to(app, beam_size=size, beam_view="table"), "beam")
        found = reading(app).translation.hypotheses[0]
        table = app.dataframe[0].value
        best.append((found.text, min(table["log_prob"].tolist(), key=lambda each: abs(each - found.log_prob))))
    (greedy, before), (text, after) = best
    right = "same" if text == greedy else "less" if after <= before else "little" if after - before < 1 else "much"
    assert [name for name in exercises.BEAMS if solves(app, "beam", name)] == [right]


def test_the_switches_have_the_part_that_is_missed(app: AppTest) -> None:
    changes = dict[str, float]()
    heads = all_heads(reading(opened(app, "switches")).model.translator.model)
    for kind in PARTS:
        switched = ",".join(str(head) for head in heads if head.kind == kind)
        text = said(opened(comes_to(app, switched=switched), "switches"))
        changes[kind] = float(re.findall(r"a change of \*\*([^*]*)\*\*", text)[0].replace("\u2212", "-"))
    assert solves(app, "part", min(changes, key=changes.__getitem__))
    assert not solves(app, "part", max(changes, key=changes.__getitem__))


def test_progress_is_in_the_address(start: Start) -> None:
    app = opened(
        start(text="Where?", beam_size="1", exercise="positions", exercises_solved=list(EXERCISES)), "exercises"
    )
    assert "All six are solved" in said(app)
    assert app.button(key="exercise_check").disabled
    healthy(app.segmented_control(key="exercise").set_value("negation").run())
    assert "no word such as nicht" in said(app)
    healthy(app.button(key="negation").click().run())
    assert reading(app).translation.source == "I don't know where he lives."
