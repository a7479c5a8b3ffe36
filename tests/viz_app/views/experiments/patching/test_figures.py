"""Grids and tables of patches."""

from pathlib import Path

import pytest
import torch

from core.analysis.heads.head import Head
from core.analysis.interventions.pair_runs import COMPONENTS, PairRuns, side_of
from core.analysis.interventions.patching import Effects, patching_map
from core.analysis.interventions.recorded_runs import record_runs
from core.translator import Translator
from viz_app.views.experiments.patching import figures as patching
from viz_app.views.experiments.patching.figures import PatchedCell

SIDES = ("encoder", "decoder")


@pytest.fixture(scope="module")
def runs(tiny_checkpoint: Path) -> PairRuns:
    translator = Translator.from_checkpoint(tiny_checkpoint)
    return record_runs(translator, "The old house is cold.", "The old train is cold.", "Ein Hund.", 2)


@pytest.mark.parametrize("side", SIDES)
def test_every_patch_has_its_cell(runs: PairRuns, side: patching.Stack) -> None:
    effects = patching_map(runs)
    selected = PatchedCell(patching.components_of(side)[1], 1, 2)
    grid = patching.side_grid(effects, [runs], side, "corrupted")
    assert [name for name, _ in grid.groups] == [patching.COMPONENT_NAMES[c] for c in COMPONENTS if side_of(c) == side]
    assert patching.grid_cell(patching.place_of(selected, 2), side, 2) == selected
    for row, (_, cells) in enumerate(grid.rows):
        assert len(cells) == len(grid.columns)
        for column, cell in enumerate(cells):
            place = patching.grid_cell((row, column), side, 2)
            share = float(effects[place.component].recovered[place.layer, place.position])
            assert cell is not None
            assert cell.says == f"{share:+.3f}".replace("-", "\u2212")


def test_changed_tokens_are_named_twice(runs: PairRuns) -> None:
    names = patching.position_names([runs], "encoder_self")
    assert [name for name in names if " | " in name] == ["h | t", "\u00b7ou | \u00b7ra", "\u00b7se | \u00b7in"]
    assert patching.position_names([runs], "cross")[0] == "<s>"


def test_what_is_not_measured_yet_says_so(runs: PairRuns) -> None:
    grid = patching.side_grid(patching_map(runs, parts=[]), [runs], "encoder", "clean")
    cell = grid.rows[0][1][0]
    assert cell is not None
    assert (cell.text, cell.shade, cell.says) == ("", 0, "not measured yet")


def test_small_shares_are_not_written_and_paths_have_a_scale_of_their_own() -> None:
    assert patching.share_cell(0.02, limit=0.02).shade == 1
    assert patching.share_cell(0.04).text == ""
    assert patching.share_cell(-0.5).text == "\u22120.50"


def test_every_sender_has_its_cell() -> None:
    senders = [Head(kind, layer, head) for kind in ("decoder_self", "cross") for layer in (0, 2) for head in range(3)]  # type: ignore[arg-type]
    senders = [head for head in senders if head != ("cross", 2, 1)]
    found = Effects(1.0, 0.0, torch.linspace(-0.1, 0.4, len(senders), dtype=torch.float64)[:, None])
    grid = patching.senders_grid(senders, found, "corrupted")
    assert [len(cells) for _, cells in grid.rows] == [6, 6]
    assert {cell.head for _, cells in grid.rows for cell in cells if cell} == set(senders)
    assert grid.ends[1] == "0.400"
    assert len(patching.paths_table(senders, found)) == len(senders)


def test_shares_of_the_other_direction_are_what_is_lost(runs: PairRuns) -> None:
    found = Effects(2.0, 0.0, torch.tensor([[2.0, 1.0, 0.0]]))
    grid = patching.positions_grid(found, ["a", "b", "c"], "clean")
    assert [cell and cell.text for cell in grid.rows[0][1]] == ["", "0.50", "1.00"]
    assert patching.positions_table(found, ["a", "b", "c"])["recovered"].tolist() == [1, 0.5, 0]
