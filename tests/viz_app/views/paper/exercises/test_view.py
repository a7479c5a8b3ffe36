"""The page Exercises without a browser: solved through the views that its hints name."""

import base64
import re
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from streamlit.testing.v1 import AppTest

from core.analysis import exercises
from core.analysis.exercises import EXERCISES, PARTS, Opened
from core.analysis.heads.head import all_heads
from core.drawing.drawing_data import NO_WEIGHT, STEPS
from tests.viz_app.pages import Start, comes_to, drawn, healthy, opened, reading, said

WORDS = "a b"  # of one token each


def cells(encoded: str, width: int) -> NDArray[np.float64]:
    """The weights of a map, NaN where it is hatched: [Q, K]."""
    steps = np.frombuffer(base64.b64decode(encoded), "<i2").reshape(-1, width)
    return np.where(steps == NO_WEIGHT, np.nan, steps / STEPS)


def heads(app: AppTest, view: str, kind: str) -> dict[str, NDArray[np.float64]]:
    grid = drawn(opened(comes_to(app, kind=kind, words="false", hide_special="false"), view), f"grid_heads_{kind}")
    return {
        f"{kind.split('_')[0]} L{int(layer) + 1} H{head}": cells(each, grid["size"]["key"])
        for layer, encoded in grid["weights"].items()
        for head, each in enumerate(encoded, 1)
    }


def previous(app: AppTest, view: str) -> dict[str, float]:
    """Below the diagonal."""
    return {name: np.diagonal(weights, -1).sum() for name, weights in heads(app, view, "encoder_self").items()}


def mask(app: AppTest, view: str) -> dict[str, float]:
    """The cells of the row that are not hatched."""
    number = re.findall(r"is number (\d+) of them", said(opened(comes_to(app, exercise="mask"), "exercises")))
    row, *others = [~np.isnan(each[int(number[0]) - 1]) for each in heads(app, view, "decoder_self").values()]
    assert all((row == other).all() for other in others)
    return {str(row.sum()): 1, str(len(row)): 0}


def positions(app: AppTest, view: str) -> dict[str, float]:
    """The scores between contents, for the words and for them in reverse order."""

    def contents(text: str) -> NDArray[np.float64]:
        opened(comes_to(app, text=text, positions_view="first_layer"), view)
        data = drawn(app, "score_Content to content")
        return data["most"] * cells(data["heads"][0]["weights"], len(data["key"]))

    turned, scores = (contents(text) for text in (" ".join(WORDS.split()[::-1]), WORDS))
    order = [*range(len(scores) - 2, -1, -1), len(scores) - 1]
    are_same = float(np.allclose(turned[order][:, order], scores, atol=1e-3))
    return {"same": are_same, "other": 1 - are_same}


def negation(app: AppTest, view: str) -> dict[str, float]:
    """The ribbons of the first word in the upper layer, less the weight of a source word in all rows."""
    opened(comes_to(app, text="Where is it?"), view)
    data = drawn(healthy(app.selectbox(key="aligner").set_value("L2 mean").run()), "ribbon")
    ribbons = {(source, target): weight for source, target, weight, _ in data["ribbons"]}
    names = ["".join(text for text, _ in word["spans"]) for word in data["source"]]
    covered = [sum(weight for (other, _), weight in ribbons.items() if other == source) for source in range(len(names))]
    return {name: ribbons.get((source, 0), 0) / covered[source] ** 0.5 for source, name in enumerate(names)}


def beam(app: AppTest, view: str) -> dict[str, float]:
    best = list[tuple[str, float]]()
    for size in ("1", "4"):
        opened(comes_to(app, beam_size=size, beam_view="table"), view)
        found = reading(app).translation.hypotheses[0]
        table = app.dataframe[0].value
        best.append((found.text, min(table["log_prob"].tolist(), key=lambda each: abs(each - found.log_prob))))
    (greedy, before), (text, after) = best
    right = "same" if text == greedy else "less" if after <= before else "little" if after - before < 1 else "much"
    return {name: name == right for name in exercises.BEAMS}


def part(app: AppTest, view: str) -> dict[str, float]:
    """What the translation loses with all heads of a kind off."""
    losses = dict[str, float]()
    all_of_them = all_heads(reading(opened(app, view)).model.translator.model)
    for kind in PARTS:
        switched = ",".join(str(head) for head in all_of_them if head.kind == kind)
        text = said(opened(comes_to(app, switched=switched), view))
        losses[kind] = -float(re.findall(r"left \\?\((.*?) nats", text)[0].replace("\u2212", "-"))
    return losses


@pytest.mark.parametrize("look", [previous, mask, positions, negation, beam, part], ids=lambda look: look.__name__)
def test_an_exercise_is_solved_by_what_its_view_shows(
    app: AppTest, monkeypatch: pytest.MonkeyPatch, look: Callable[[AppTest, str], dict[str, float]]
) -> None:
    monkeypatch.setattr(exercises, "NEGATION", re.compile(".*", re.DOTALL))  # the model has not learned to write nicht
    exercise = EXERCISES[name := look.__name__]
    seen = look(app, exercise.view)
    wrong, right = (decide(seen, key=seen.__getitem__) for decide in (min, max))
    for answer in (wrong, right):
        opened(comes_to(app, exercise=name), "exercises")
        healthy(app.selectbox(key="exercise_answer").set_value(answer).run())
        healthy(app.button(key="exercise_check").click().run())
        current = reading(app)
        asked = Opened(current.explain(), current.model.translator, current.hypothesis.token_ids)
        found = exercise.measure(asked)
        told = "\n".join([said(app), *(each.value for each in app.success)]).replace("\\", "").replace("\u2212", "-")
        verdict = f"**Right.** {found.says}" if answer == right else f"**Not here.** {found.means(answer)}"
        assert verdict in told
        assert (answer == right) == (not any(each.label == "Solution" for each in app.expander))
    assert app.query_params["exercises_solved"] in (name, [name])
    healthy(app.button(key="exercise_view").click().run())
    assert all(app.query_params[name] in (text, [text]) for name, text in exercise.settings.items())


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
