"""The data of the page "Table 1": costs of layers, and path lengths."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from core.analysis.layers.layer_cost import Cost, CostTable, grid, hardware, measure
from core.analysis.layers.layer_types import LAYER_TYPES, Sizes
from viz_app.language import RefusedError, joined, marked, tr, tr_count
from viz_app.session import address
from viz_app.session.jobs import Job
from viz_app.session.permalink import SEPARATOR
from viz_app.session.state import session_object

NS, DS = (16, 32, 64, 128, 256, 512, 1024, 2048, 4096), (32, 64, 128, 256, 512, 1024)  # the options of the sliders
KS, RS = (3, 5, 9), (8, 32, 128)
MEASURED = address.MEASURED  # the sizes of a measurement on this machine, `n.d.k.r`
SECONDS = 0.02  # for each measurement on this machine
MAX_OPERATIONS = 2**31  # of a layer that is measured on this machine: below a second, even on a slow one


@dataclass
class LayerMeasurement:
    """A measurement on this machine.

    Attributes:
        at: the requested sizes.
        costs: measured so far.
    """

    at: Sizes
    hardware: str
    costs: list[Cost]
    job: Job

    def table(self) -> CostTable:
        """Return the costs measured so far."""
        return CostTable(self.hardware, tuple(self.costs))


@dataclass
class LayerMeasurementSlot:
    """The session's measurement on this machine."""

    measurement: LayerMeasurement | None = None


def begin(at: Sizes) -> None:
    """Start to measure all layers on this machine, over n and over d."""
    wanted = dict.fromkeys([*grid(NS, [at.d], [at.k], [at.r]), *grid([at.n], DS, [at.k], [at.r])])
    feasible = [one for one in wanted if LAYER_TYPES[one[0]].operations(one[1]) <= MAX_OPERATIONS]
    costs: list[Cost] = []

    def steps() -> Iterator[int]:
        for cost in measure(feasible, seconds=SECONDS):
            costs.append(cost)
            yield 1

    job = Job(steps(), len(feasible), marked("layers"))
    session_object(LayerMeasurementSlot).measurement = LayerMeasurement(at, hardware(), costs, job)


def machine_text(hardware: str) -> str:
    """Return the description of a machine, which measurements have, in the visitor's language."""
    clocks = (marked("processor time"), marked("wall-clock time"))

    def translated(part: str) -> str:
        if threads := re.fullmatch(r"(\d+) threads?", part):
            return tr_count("{count} thread", "{count} threads", int(threads[1]))
        return tr(part) if part in clocks else part

    return joined(map(translated, hardware.split(", ")))


def measurement() -> LayerMeasurement | None:
    """Return the session's measurement on this machine."""
    return session_object(LayerMeasurementSlot).measurement


def write_address(shown: LayerMeasurement | None) -> None:
    """Write the sizes n, d, k and r of the shown measurement to the address, such as `64.512.3.8`; None removes
    them.
    """
    sizes = (shown.at.n, shown.at.d, shown.at.k, shown.at.r) if shown else ()
    MEASURED.take()
    MEASURED.put(SEPARATOR.join(map(str, sizes)))


def read_address() -> Sizes | None:
    """Read the sizes of a measurement from the address, which lacks its results.

    Raises:
        ValueError: they are not options of the sliders.
    """
    if not (asked := next(iter(MEASURED.texts), "")):
        return None
    sizes = [int(size) for size in asked.split(SEPARATOR) if re.fullmatch("[0-9]{1,4}", size)]
    if len(sizes) != 4 or any(size not in offered for size, offered in zip(sizes, (NS, DS, KS, RS), strict=True)):
        raise RefusedError(
            "the address has {parameter}={sizes}, expected n, d, k and r that the sliders offer, such as "
            "64.512.3.8: the shipped measurements are shown",
            parameter=MEASURED.key,
            sizes=asked,
        )
    n, d, k, r = sizes
    return Sizes(n=n, d=d, k=k, r=r)
