"""The picture, the answer and the tables of the logit lens."""

from dataclasses import replace

import pytest
import torch

from core.analysis.declaration import FIRST
from core.analysis.lens.logit_lens import LogitLens
from core.results import Explanation

PIECES = ["\u2581cat", "\u2581dog", "</s>"]


@pytest.fixture
def lens() -> LogitLens:
    tokens = ("\u2581dog", "</s>")
    explanation = Explanation("a", "dog", ("a", "</s>"), ("<s>", "\u2581dog"), tokens, (-0.1, -0.2), ((), ()), {})
    ids = torch.tensor([[[0, 1], [2, 0]], [[1, 0], [2, 0]], [[1, 0], [0, 2]]])
    log_probs = torch.tensor([[[0.5, 0.3], [0.9, 0.1]], [[0.6, 0.4], [0.8, 0.2]], [[1.0, 1e-9], [0.7, 0.3]]]).log()
    own = torch.tensor([[0.3, 0.9], [0.6, 0.8], [1.0, 0.3]]).log()
    return LogitLens(explanation, ids, log_probs, own, torch.tensor([[2, 1], [1, 1], [1, 2]]), PIECES.__getitem__)


def test_a_cell_has_the_token_of_its_layer(lens: LogitLens) -> None:
    (grid,) = lens.pictures(FIRST)
    assert list(grid.columns) == ["Input", "L1", "L2"]
    cells = [[cell for cell in cells if cell] for _, cells in grid.rows]
    assert [[cell.text for cell in row] for row in cells] == [["cat", "dog", "dog"], ["</s>", "</s>", "cat"]]
    assert [[cell.is_strong for cell in row] for row in cells] == [[False, True, True], [False, False, False]]
    assert cells[0][0].says == "cat 0.500; dog 0.300, rank 2"
    assert [cell.shade for cell in cells[0]] == pytest.approx([0.5, 0.6, 1])


def test_where_tokens_were_decided(lens: LogitLens) -> None:
    assert lens.answer(FIRST) == "Tokens decided in each layer: L1: 1. Never the most probable: 1."
    never = replace(lens, predicted_ranks=torch.full((3, 2), 2))
    assert never.answer(FIRST) == "Tokens decided in each layer: none. Never the most probable: 2."


def test_the_tables(lens: LogitLens) -> None:
    table = lens.cell_table(0, 0)
    assert table["token"] == ["cat", "dog"]
    assert table["probability"] == pytest.approx([0.5, 0.3])
    assert {len(column) for column in lens.table().values()} == {12}


def test_a_copy_of_the_input_is_grey_and_says_so(lens: LogitLens) -> None:
    """The token that was fed, where it is not the predicted one: no other cell has a grey."""
    again = replace(lens, token_ids=torch.tensor([[[0, 1], [1, 0]], [[1, 0], [1, 0]], [[1, 0], [0, 2]]]))
    (grid,) = again.pictures(FIRST)
    for row, (_, cells) in enumerate(grid.rows):
        for cell in filter(None, cells):
            is_copy = (row, cell.text) == (1, "dog")  # in the first row `dog` is predicted
            assert (cell.scale == "greys", cell.says.endswith("; a copy of the input")) == (is_copy, is_copy)
