"""Rows of tokens as tables, HTML and pictures."""

import math
import re
from pathlib import Path

import pytest

from core.analysis.generation_rows import (
    TokenCell,
    TokenRow,
    mask_predict_rows,
    rows_table,
    search_rows,
    speculative_rows,
)
from core.decoding import Hypothesis, SpeculativeStep
from core.mask_predict_translation import mask_predict_states
from core.translator import Translator
from viz_app.drawing.theme import DARK, LIGHT, Theme
from viz_app.views.translate.generation.figures import rows_html


def test_a_check_shows_what_was_accepted_rejected_and_chosen(translator: Translator) -> None:
    log_probs = (-0.1, -0.2, -0.3, -0.4, -0.5)
    steps = [
        SpeculativeStep((300, 301, 302), 1, (300, 310), Hypothesis((300, 310), log_probs[:2])),
        SpeculativeStep((311, 312), 2, (311, 312, 2), Hypothesis((300, 310, 311, 312, 2), log_probs)),
    ]
    first, second = speculative_rows(steps, translator)
    assert [(cell.position, cell.state, cell.log_prob) for cell in first.cells] == [
        (0, "accepted", -0.1),
        (1, "rejected", None),
        (2, "rejected", None),
        (1, "chosen", -0.2),
    ]
    assert [(cell.position, cell.state, cell.log_prob) for cell in second.cells] == [
        (2, "accepted", -0.3),
        (3, "accepted", -0.4),
        (4, "chosen", -0.5),
    ]
    assert [cell.token for cell in second.cells] == [*translator.codec.pieces((311, 312, 2))]


def test_iterations_and_searches(translator: Translator, mask_predict_checkpoint: Path) -> None:
    model = Translator.from_checkpoint(mask_predict_checkpoint, "cpu")
    states = [state for (state,) in mask_predict_states(model, "Where is it?", 4, 1)]
    rows = mask_predict_rows(states, model)
    for state, row in zip(states, rows, strict=True):
        assert [cell.token for cell in row.cells] == [*model.codec.pieces(state.token_ids)]
        masked = [cell.position for cell in row.cells if cell.state == "masked"]
        assert masked == [*state.masked_next]
        new = {cell.position for cell in row.cells if cell.state == "predicted"}
        assert new == {at for at, token_id in enumerate(state.fed_ids) if token_id == 3} - {*masked}
    best = translator.translate("Where is it?", 2).hypotheses[0]
    ((_, cells),) = search_rows([("Beam", best)])
    assert [(cell.token, cell.log_prob) for cell in cells] == [*zip(best.tokens, best.token_log_probs, strict=True)]
    table = rows_table(rows)
    assert len(table["state"]) == sum(len(row.cells) for row in rows)
    assert set(table["state"]) <= {"predicted", "masked", "kept"}


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_tokens_are_text_in_html(theme: Theme) -> None:
    rows = [
        TokenRow("Check 1", (TokenCell(0, "<b>$x", "accepted", math.log(0.5)), TokenCell(1, "no", "rejected"))),
        TokenRow("Check 2", (TokenCell(1, "▁ja", "chosen", 0.0),)),
    ]
    found = rows_html(rows, theme, selected=1)
    assert "&lt;b&gt;$x" in found
    assert "<b>$x" not in found
    assert re.findall(r"class=selected><th scope=row>(.*?)<", found) == ["Check 2"]
