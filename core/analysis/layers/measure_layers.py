"""The analysis `layer-types`: measure the layers of Table 1 on this machine."""

import sys
from dataclasses import dataclass
from pathlib import Path

import torch
from tqdm import tqdm

from core.analysis.csv_output import csv_text, write_csv
from core.analysis.declaration import Analysis, option
from core.analysis.layers.layer_cost import SECONDS, CostTable, grid, hardware, measure, to_json
from core.analysis.subject import NOTHING
from core.files.console import show
from core.files.file_writing import check_folder_of, write_text
from core.files.number_range import FROM_1, NumberRange


def _output(path: Path) -> Path:
    """Check the path of the output before anything is computed."""
    if path.suffix.lower() not in (".csv", ".json"):
        raise ValueError(f"--output ({path}) must end in .csv or .json")
    check_folder_of(path)
    return path


@dataclass(frozen=True)
class LayerTypesOptions:
    """Options of `layer-types`."""

    n: tuple[int, ...] = option(
        (64, 128, 256, 512, 1024), "sequence lengths (default: 64 128 256 512 1024)", type=FROM_1
    )
    d: tuple[int, ...] = option((256,), "representation dimensions (default: 256)", metavar="D", type=FROM_1)
    k: tuple[int, ...] = option((3,), "kernel widths (default: 3)", metavar="K", type=FROM_1)
    r: tuple[int, ...] = option((32,), "neighbourhood sizes (default: 32)", metavar="R", type=FROM_1)
    seconds: float = option(SECONDS, "time for each measurement", metavar="S", type=NumberRange(float, 0, 3600))
    threads: int | None = option(
        None, "CPU threads; with 1, processor time is measured (default: PyTorch's own)", type=NumberRange(int, 1, 1024)
    )
    device: str = option("cpu", "device: cpu, cuda, cuda:1, ...")
    output: Path | None = option(
        None, "file to write, .csv or .json (default: CSV on standard output)", flag="-o", parse=_output
    )


def measure_layers(options: LayerTypesOptions = LayerTypesOptions()) -> CostTable:
    """Measure operations, time and memory of the layers of Table 1.

    Progress is shown on stderr.

    Raises:
        ValueError: a size or the name of the output is invalid, or the device is not available.
    """
    if options.threads is not None:
        torch.set_num_threads(options.threads)
    wanted = grid(options.n, options.d, options.k, options.r)
    try:
        machine = hardware(options.device)
        steps = tqdm(
            measure(wanted, options.device, options.seconds), total=len(wanted), unit=" layers", file=sys.stderr
        )
        return CostTable(machine, tuple(steps))
    except (RuntimeError, AssertionError) as error:  # PyTorch without CUDA raises AssertionError
        raise ValueError(f"the device {options.device!r} cannot be used: {error}") from error


def _write(costs: CostTable, options: LayerTypesOptions) -> None:
    """Write the costs to the file, or print them."""
    if options.output is None:
        write_csv(costs.table())
        return
    write_text(options.output, to_json(costs) if options.output.suffix.lower() == ".json" else csv_text(costs.table()))
    show(f"{options.output}: {len(costs.costs)} measurements on {costs.hardware}")


LAYER_TYPES = Analysis(
    "layer-types",
    "measure the layers of the paper's Table 1 on this machine",
    measure_layers,
    LayerTypesOptions,
    NOTHING,
    write=_write,
)
