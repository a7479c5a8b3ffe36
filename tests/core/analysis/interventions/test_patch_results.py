"""Grids and tables of patches."""

from itertools import product
from pathlib import Path

import pytest
import torch

from core.analysis.interventions import patch_results
from core.analysis.interventions.pair_runs import COMPONENTS, PairRuns, side_of
from core.analysis.interventions.patching import Effects, mean_map, patching_map
from core.analysis.interventions.path_patching import Receiver
from core.analysis.interventions.recorded_runs import record_runs
from core.trace import KINDS, STACKS, Head
from core.translator import Translator
from tests.core.analysis.interventions.conftest import CLEAN, CORRUPTED

RECEIVER = Receiver(Head("cross", 1, 0), "value")


@pytest.fixture(scope="module")
def pair(tiny_checkpoint: Path) -> PairRuns:
    return record_runs(Translator.from_checkpoint(tiny_checkpoint), CLEAN, CORRUPTED, "Ein Hund.", 2)


@pytest.fixture(scope="module")
def found(pair: PairRuns) -> patch_results.PatchedComponents:
    return patch_results.PatchedComponents([pair], "corrupted", mean_map([patching_map(pair)]))


def test_every_patch_has_its_cell(found: patch_results.PatchedComponents) -> None:
    for side, grid in zip(STACKS, found.pictures(), strict=True):
        assert [name for name, _ in grid.groups] == [
            patch_results.GROUPS[each] for each in COMPONENTS if side_of(each) == side
        ]
        selected = patch_results.PatchedCell(patch_results.components_of(side)[1], 1, 2)
        columns, (position, column) = found.columns(side), found.place_of(selected)
        assert patch_results.PatchedCell(*columns[column], position) == selected
        for row, (_, cells) in enumerate(grid.rows):
            assert len(cells) == len(grid.columns)
            for column, cell in enumerate(cells):
                component, layer = columns[column]
                share = float(found.effects[component].recovered[layer, row])
                assert cell is not None
                assert cell.says == f"{share:+.3f}"


def test_the_strongest_attention_is_named(found: patch_results.PatchedComponents) -> None:
    attention = [
        patch_results.PatchedCell(kind, *at)
        for kind in KINDS
        for at in product(*map(range, found.effects[kind].values.shape))
    ]
    cell = max(attention, key=lambda each: abs(found.share(each)))
    assert found.strongest_cell() == cell
    assert cell.title in found.answer()
    assert f"{found.share(cell):.0%}" in found.answer()


def test_changed_tokens_are_named_twice(found: patch_results.PatchedComponents) -> None:
    names = found.position_names("encoder_self")
    assert [name for name in names if " | " in name] == ["h | t", "\u00b7ou | \u00b7ra", "\u00b7se | \u00b7in"]
    assert found.position_names("cross")[0] == "<s>"


def test_what_is_not_measured_yet_says_so(pair: PairRuns) -> None:
    cell = patch_results.PatchedComponents([pair], "clean", patching_map(pair, parts=[])).pictures()[0].rows[0][1][0]
    assert cell is not None
    assert (cell.text, cell.shade, cell.says) == ("", 0, "not measured yet")


def test_small_shares_are_not_written_and_paths_have_a_scale_of_their_own() -> None:
    assert patch_results.share_cell(0.02, limit=0.02).shade == 1
    assert patch_results.share_cell(0.04).text == ""
    assert patch_results.share_cell(-0.5).text == "-0.50"


def test_every_sender_has_its_cell(pair: PairRuns) -> None:
    senders = [Head(kind, layer, head) for kind in ("decoder_self", "cross") for layer in (0, 2) for head in range(3)]  # type: ignore[arg-type]
    senders = [head for head in senders if head != ("cross", 2, 1)]
    values = torch.linspace(-0.1, 0.4, len(senders), dtype=torch.float64)[:, None]
    found = patch_results.PatchedPaths([pair], "corrupted", RECEIVER, senders, Effects(1.0, 0.0, values))
    (grid,) = found.pictures()
    assert [len(cells) for _, cells in grid.rows] == [6, 6]
    assert {cell.head for _, cells in grid.rows for cell in cells if cell} == set(senders)
    assert grid.ends[1] == "0.400"
    assert len(found.table()["head"]) == len(senders)
    said = f"Patching {senders[-1].title} recovers 40% of the difference; a head drawn by lot, 15%, "
    assert found.answer() == f"{said}the median of all 11."


def test_shares_of_the_other_direction_are_what_is_lost(pair: PairRuns) -> None:
    effects = Effects(2.0, 0.0, torch.tensor([[2.0, 1.0, 0.0]]))
    found = patch_results.PatchedPositions([pair], "clean", Head("cross", 0, 0), RECEIVER, effects)
    assert [cell and cell.text for cell in found.pictures()[0].rows[0][1]] == ["", "0.50", "1.00"]
    assert found.table()["recovered"] == [1, 0.5, 0]
