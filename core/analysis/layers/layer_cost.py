"""Time and memory of the layers of Table 1: one forward pass over one sequence."""

import json
import math
import platform
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cache
from itertools import pairwise, product
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from core.analysis.declaration import Columns, PicturedResult
from core.analysis.layers.layer_curves import Along, layer_curves
from core.analysis.layers.layer_types import LAYER_TYPES, SequenceLayer, Sizes, compared_multiplications
from core.analysis.pictures import Curve, Curves
from core.files.strict_json import json_text
from core.text.phrases import marked
from core.trace import Head

Quantity = Literal["operations", "milliseconds", "megabytes"]
SECONDS = 0.1  # spent on timing one layer; more if `LEAST_RUNS` passes take longer
LEAST_RUNS = 2  # timed passes, after a first one that measures memory and warms up


@dataclass(frozen=True)
class Cost:
    """Measurement of one layer."""

    layer: str  # a key of `LAYER_TYPES`
    n: int  # as d, k and r, see `Sizes`; k is None without a kernel, r without a neighbourhood
    d: int
    k: int | None
    r: int | None
    operations: int  # number of multiplications by the formula, not measured
    seconds: float  # of the fastest pass
    peak_bytes: int  # peak memory allocated during a pass, without input and parameters


VALUES: Mapping[Quantity, tuple[str, Callable[[Cost], float]]] = {  # with their units
    "operations": (marked("multiplications"), lambda cost: cost.operations),
    "milliseconds": (marked("milliseconds"), lambda cost: cost.seconds * 1e3),
    "megabytes": (marked("megabytes"), lambda cost: cost.peak_bytes / 1e6),
}


@dataclass(frozen=True)
class CostTable(PicturedResult):
    """Measurements, and the machine they were made on."""

    hardware: str
    costs: tuple[Cost, ...]

    def table(self) -> Columns:
        """A row for each measurement, with the machine in each."""
        rows = [{**asdict(cost), "hardware": self.hardware} for cost in self.costs]
        return {name: [row[name] for row in rows] for name in (*COLUMNS, "hardware")}

    def pictures(self, at: Head) -> tuple[Curves]:
        """The times over n, at the largest sizes."""
        return (self.curves("milliseconds", self._largest, "n"),)

    def answer(self, at: Head) -> str:
        """Which of self-attention and recurrence needs fewer multiplications at the largest sizes."""
        return compared_multiplications(self._largest)

    @property
    def _largest(self) -> Sizes:
        n, d, k, r = (max(getattr(cost, size) or 1 for cost in self.costs) for size in ("n", "d", "k", "r"))
        return Sizes(n=n, d=d, k=k, r=r)

    def matching(self, layer: str, at: Sizes, along: Along | None = None) -> list[Cost]:
        """The measurements of a layer at these sizes, in order; n (or d) may differ with `along` "n" (or "d")."""

        def fits(cost: Cost) -> bool:
            return (
                cost.layer == layer
                and (along == "n" or cost.n == at.n)
                and (along == "d" or cost.d == at.d)
                and cost.k in (None, at.k)
                and cost.r in (None, at.r)
            )

        return sorted(filter(fits, self.costs), key=lambda cost: (cost.n, cost.d))

    def points(self, at: Sizes, along: Along) -> Columns:
        """A row for each point of `curves`, with the O() prediction."""
        costs = [cost for layer in LAYER_TYPES for cost in self.matching(layer, at, along)]
        return {
            "layer": [LAYER_TYPES[cost.layer].name for cost in costs],
            **{name: [getattr(cost, name) for cost in costs] for name in ("n", "d", "k", "r")},
            "within_O": [LAYER_TYPES[cost.layer].bound(replace(at, n=cost.n, d=cost.d)) for cost in costs],
            **{quantity: [value(cost) for cost in costs] for quantity, (_, value) in VALUES.items()},
        }

    def curves(self, quantity: Quantity, at: Sizes, along: Along) -> Curves:
        """One quantity of all layers over n or d; a line where n = d, and one at the size itself.

        Beside milliseconds there is the O() prediction; `operations` are counted by it.
        """
        unit, value = VALUES[quantity]
        points = {
            layer: [(replace(at, n=cost.n, d=cost.d), value(cost)) for cost in self.matching(layer, at, along)]
            for layer in LAYER_TYPES
        }
        bound = (lambda layer: layer.bound) if quantity == "milliseconds" else None
        drawn = layer_curves(points, along, unit, bound)
        values = [value for own in points.values() for _, value in own]
        if not values:
            return drawn
        here, equal = (at.n, at.d) if along == "n" else (at.d, at.n)
        places, ends = [math.log2(equal)] * 2, [min(values), max(values)]
        lines = [Curve(name="n = d", places=places, values=ends, color=None, dash="dot", width=1)]
        if here != equal:
            lines.append(replace(lines[0], name=f"{along} = {here}", places=[math.log2(here)] * 2, dash="solid"))
        return replace(drawn, curves=[*drawn.curves, *lines])

    def meeting(self, at: Sizes, along: Along) -> float | None:
        """The n (or d) at which self-attention and recurrence took the same time.

        Interpolated on a logarithmic scale; None where the curves do not cross exactly once.
        """
        attention, recurrent = (
            {getattr(cost, along): cost.seconds for cost in self.matching(layer, at, along)}
            for layer in ("self_attention", "recurrent")
        )
        places = sorted(attention.keys() & recurrent.keys())
        ahead = [(place, math.log(attention[place] / recurrent[place])) for place in places]
        crossed = [(one, two) for one, two in pairwise(ahead) if one[1] * two[1] <= 0 and one[1] != two[1]]
        if len(crossed) != 1:
            return None
        (left, before), (right, after) = crossed[0]
        return left * (right / left) ** (before / (before - after))


def grid(ns: Sequence[int], ds: Sequence[int], ks: Sequence[int], rs: Sequence[int]) -> list[tuple[str, Sizes]]:
    """Every layer at every size that it depends on, fewest operations first.

    Raises:
        ValueError: a size is not a positive integer.
    """
    wanted = {
        (name, Sizes(n=n, d=d, k=k if layer.depends_on("k") else 1, r=r if layer.depends_on("r") else 1))
        for (name, layer), n, d, k, r in product(LAYER_TYPES.items(), ns, ds, ks, rs)
    }
    return sorted(wanted, key=lambda one: (LAYER_TYPES[one[0]].operations(one[1]), one[0]))


def measure(wanted: Iterable[tuple[str, Sizes]], device: str = "cpu", seconds: float = SECONDS) -> Iterator[Cost]:
    """Measure layers one after the other, in float32 without gradients.

    On a single CPU thread, processor time is measured, which is independent of other processes; otherwise wall-clock
    time. `wanted` is as `grid` returns it; each layer takes `seconds`, and at least `LEAST_RUNS` passes.
    """
    for name, sizes in wanted:
        layer_type = LAYER_TYPES[name]
        with torch.no_grad():
            layer = layer_type.build(sizes, 0).to(device).eval()
            x = torch.randn(1, sizes.n, sizes.d, device=device)
            with LiveMemory() as memory:
                layer(x)
            fastest = _fastest(layer, x, seconds)
        yield Cost(
            layer=name,
            n=sizes.n,
            d=sizes.d,
            k=sizes.k if layer_type.depends_on("k") else None,
            r=sizes.r if layer_type.depends_on("r") else None,
            operations=layer_type.operations(sizes),
            seconds=fastest,
            peak_bytes=memory.peak,
        )


def _fastest(layer: SequenceLayer, x: Tensor, seconds: float) -> float:
    is_one_thread = x.device.type == "cpu" and torch.get_num_threads() == 1
    clock = time.thread_time if is_one_thread else time.perf_counter
    fastest, runs, begun = float("inf"), 0, time.perf_counter()
    while runs < LEAST_RUNS or time.perf_counter() - begun < seconds:
        _synchronize(x.device)
        start = clock()
        layer(x)
        _synchronize(x.device)
        fastest, runs = min(fastest, clock() - start), runs + 1
    return fastest


def _synchronize(device: torch.device) -> None:
    """Wait for the operations queued on a GPU."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def hardware(device: str = "cpu") -> str:
    """Description of the machine in one line: processor, threads, PyTorch."""
    if torch.device(device).type == "cuda":
        return f"{torch.cuda.get_device_name(device)}, PyTorch {torch.__version__}"
    threads = torch.get_num_threads()
    clock = "1 thread, processor time" if threads == 1 else f"{threads} threads, wall-clock time"
    return f"{_processor()}, {clock}, PyTorch {torch.__version__}"


def _processor() -> str:
    facts = Path("/proc/cpuinfo")
    if facts.exists():
        for line in facts.read_text("utf-8", "replace").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


# --- Files ------------------------------------------------------------------------------------------------------------

COLUMNS = tuple(field.name for field in fields(Cost))


def to_json(table: CostTable) -> str:
    """The machine, the names of the columns, and one line per measurement."""
    rows = ",\n".join(f"    {json_text([_short(value) for value in asdict(cost).values()])}" for cost in table.costs)
    head = f'  "hardware": {json_text(table.hardware)},\n  "columns": {json_text(COLUMNS)},\n'
    return f'{{\n{head}  "rows": [\n{rows}\n  ]\n}}\n'


def from_json(text: str) -> CostTable:
    """Parse the output of `to_json`.

    Raises:
        ValueError: the text is something else.
    """
    try:
        content: dict[str, Any] = json.loads(text)
        costs = tuple(Cost(**dict(zip(content["columns"], row, strict=True))) for row in content["rows"])
        unknown = sorted({cost.layer for cost in costs} - LAYER_TYPES.keys())
        table = CostTable(str(content["hardware"]), costs)
    except (TypeError, KeyError, ValueError) as error:
        raise ValueError(f"not a file written by `python -m core layer-types -o FILE.json`: {error!r}") from error
    if unknown:
        raise ValueError(f"unknown layers {', '.join(unknown)}: expected {', '.join(LAYER_TYPES)}")
    return table


def _short(value: object) -> object:
    return float(f"{value:.4g}") if isinstance(value, float) else value


@cache
def shipped_costs() -> CostTable:
    """Return the measurements that are shipped.

    Raises:
        ValueError, OSError: the installation is damaged.
    """
    return from_json(Path(__file__).with_name("layer_types.json").read_text("utf-8"))


class LiveMemory(TorchDispatchMode):
    """Count memory allocated inside a `with` block, on any device, without scratch space within one operation.

    Attributes:
        live: bytes allocated in the block and not yet freed.
        peak: maximum of `live`.
        largest: bytes of the largest single allocation.
    """

    def __init__(self) -> None:
        super().__init__()
        self.live = self.peak = self.largest = 0
        self._seen: set[int] = set()

    def __enter__(self) -> "LiveMemory":
        super().__enter__()
        return self

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        came_in = {
            leaf.untyped_storage().data_ptr() for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)
        }
        out = func(*args, **(kwargs or {}))
        for leaf in tree_leaves(out):
            if isinstance(leaf, Tensor):
                self._count(leaf, came_in)
        return out

    def _count(self, tensor: Tensor, came_in: set[int]) -> None:
        """Count a storage once; views share it, and inputs of the block are not counted."""
        storage = tensor.untyped_storage()
        address, size = storage.data_ptr(), storage.nbytes()
        if not size or address in self._seen or address in came_in:
            return
        self._seen.add(address)
        self.live += size
        self.peak, self.largest = max(self.peak, self.live), max(self.largest, size)
        weakref.finalize(storage, self._freed, address, size)

    def _freed(self, address: int, size: int) -> None:
        self._seen.discard(address)
        self.live -= size
