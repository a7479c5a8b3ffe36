"""Measurements and their files. No test depends on time."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest
import torch

from core.analysis.layers.layer_cost import CostTable, LiveMemory, from_json, grid, hardware, measure, to_json
from core.analysis.layers.layer_types import LAYER_TYPES, Sizes
from core.cli.commands import main


def test_a_grid_has_every_layer_once_for_the_sizes_that_matter_to_it() -> None:
    wanted = grid([4, 8], [2], [3, 5], [2, 4, 6])
    assert len(wanted) == len(set(wanted)) == 2 * (1 + 1 + 2 + 2 + 3)
    operations = [LAYER_TYPES[name].operations(sizes) for name, sizes in wanted]
    assert operations == sorted(operations)


def test_memory_grows_as_it_must() -> None:
    """The n x n weights of full attention are in memory at once; with restriction n r."""
    small, large = ({cost.layer: cost for cost in measure(grid([n], [16], [3], [8]), seconds=0)} for n in (128, 512))
    assert large["self_attention"].peak_bytes >= 512 * 512 * 4
    assert large["self_attention"].peak_bytes > 10 * small["self_attention"].peak_bytes
    for name in LAYER_TYPES.keys() - {"self_attention"}:
        assert large[name].peak_bytes < 5 * small[name].peak_bytes
        assert large[name].peak_bytes >= 512 * 16 * 4  # its output
    assert all(cost.seconds > 0 for cost in small.values())


def test_measurements_there_and_back() -> None:
    costs = tuple(measure([("restricted", Sizes(n=4, d=2, r=2)), ("recurrent", Sizes(n=4, d=2))], seconds=0))
    assert [(cost.k, cost.r) for cost in costs] == [(None, 2), (None, None)]
    table = CostTable(hardware(), costs)
    again = from_json(to_json(table))
    assert again.hardware == table.hardware
    assert [asdict(cost) | {"seconds": 0} for cost in again.costs] == [asdict(cost) | {"seconds": 0} for cost in costs]
    assert [cost.seconds for cost in again.costs] == pytest.approx([cost.seconds for cost in costs], rel=1e-3)


@pytest.mark.parametrize(
    "text", ["", "[]", '{"hardware": "x", "columns": ["layer"], "rows": [[1, 2]]}', '{"rows": []}']
)
def test_another_file_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"^not a file written by `python -m core layer-types -o FILE\.json`: "):
        from_json(text)


def test_an_unknown_layer_is_named() -> None:
    table = json.loads(to_json(CostTable("x", tuple(measure([("recurrent", Sizes(n=1, d=1))], seconds=0)))))
    table["rows"][0][0] = "quantum"
    with pytest.raises(ValueError, match=r"^unknown layers quantum: expected self_attention, recurrent, "):
        from_json(json.dumps(table))


def test_the_command_writes_what_it_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["layer-types", "--n", "4", "8", "--d", "2", "--k", "3", "--r", "2", "--seconds", "0"]
    assert main([*command, "-o", str(tmp_path / "costs.json")]) == 0
    table = from_json((tmp_path / "costs.json").read_text("utf-8"))
    assert len(table.costs) == 10
    assert main([*command, "-o", str(tmp_path / "costs.csv")]) == 0
    capsys.readouterr()
    assert main(command) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "layer,n,d,k,r,operations,seconds,peak_bytes,hardware"
    assert any(row.startswith("restricted,4,2,,2,32,") for row in printed)
    assert [row.split(",")[:5] for row in printed] == [
        row.split(",")[:5] for row in (tmp_path / "costs.csv").read_text("utf-8").splitlines()
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-o", "costs.txt"], "--output (costs.txt) must end in .csv or .json"),
        (
            ["-o", "none/costs.csv"],
            "none/costs.csv cannot be written: there is no folder none; create it, or give another path",
        ),
        (["--n", "2", "--device", "abacus"], "the device 'abacus' cannot be used"),
    ],
)
def test_invalid_options_are_refused(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["layer-types", *arguments]) == 1
    assert f"python -m core layer-types: {message}" in capsys.readouterr().err


KB = 1024


def test_freed_memory_is_not_counted() -> None:
    before = torch.zeros(256)  # 1 KB, allocated outside
    with LiveMemory() as memory:
        one = before + 1
        view = one.view(16, 16).T[1:]  # nothing new
        before.add_(1)
        two = torch.cat((one, one))
        assert (memory.live, memory.peak) == (3 * KB, 3 * KB)
        del one, view
        assert memory.live == 2 * KB
        three = two * 2
        assert (memory.live, memory.peak, memory.largest) == (4 * KB, 4 * KB, 2 * KB)
        del two, three
    assert (memory.live, memory.peak, memory.largest) == (0, 4 * KB, 2 * KB)


def test_memory_for_the_backward_pass_is_counted() -> None:
    x = torch.ones(256, requires_grad=True)
    with torch.no_grad(), LiveMemory() as without:
        x.exp().exp().sum()
    with LiveMemory() as memory:
        y = x.exp().exp().sum()
        assert memory.live >= 2 * KB  # both exponentials
        y.backward()
    assert without.peak < memory.peak
