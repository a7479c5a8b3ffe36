"""The data of the page "Table 1": costs of layers, and path lengths."""

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass

from core.analysis.layers.layer_cost import Cost, CostTable, grid, hardware, measure
from core.analysis.layers.layer_types import LAYER_TYPES, Sizes
from viz_app.language import RefusedError, compact, joined, localized, marked, tr, tr_count
from viz_app.session import address
from viz_app.session.jobs import Job
from viz_app.session.permalink import SEPARATOR
from viz_app.session.state import session_object


def formula(text: str) -> str:
    """Convert `O(n^2 d)` to HTML: letters in italics, powers raised, indices lowered."""
    italic = re.sub(r"(?<![a-z])([dknr])(?![a-z])", r"<i>\1</i>", text)
    return re.sub(r"_(<i>\w</i>)", r"<sub>\1</sub>", re.sub(r"\^(\d)", r"<sup>\1</sup>", italic))


def table_1(measured: CostTable, at: Sizes) -> str:
    """Return the table; unmeasured cells are empty."""
    titles = (
        tr("Layer"),
        tr("Complexity"),
        tr("Multiplications"),
        tr("Sequential operations"),
        tr("Maximum path length"),
        tr("Time"),
        tr("Memory"),
    )
    fewest = min(layer_type.operations(at) for layer_type in LAYER_TYPES.values())
    rows: list[str] = []
    for layer, layer_type in LAYER_TYPES.items():
        operations, costs = layer_type.operations(at), measured.matching(layer, at)
        count = compact(operations) if operations >= 1000 else localized(operations, ".3g")
        cells = [
            formula(layer_type.complexity),
            f"<b>{count}</b>" if operations == fewest else count,
            formula(layer_type.sequential),
            formula(layer_type.path(at.dilated)),
            f"{localized(costs[0].seconds * 1e3, '.3g')} ms" if costs else "",
            f"{localized(costs[0].peak_bytes / 1e6, '.3g')} MB" if costs else "",
        ]
        name = html.escape(tr(layer_type.name))
        rows.append(f"<tr><th>{name}</th>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>")
    head = "".join(f"<th>{html.escape(title)}</th>" for title in titles)
    return (
        f'<div class="table-1" role="group" aria-label="{html.escape(tr("Table 1"))}" tabindex="0"><table>'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


NS, DS = (16, 32, 64, 128, 256, 512, 1024, 2048, 4096), (32, 64, 128, 256, 512, 1024)  # the options of the sliders
KS, RS = (3, 5, 9), (8, 32, 128)
MEASURED = address.MEASURED  # the sizes of a measurement on this machine, `n.d.k.r`
SECONDS = 0.02  # for each measurement on this machine
MAX_OPERATIONS = 2**31  # of a layer that is measured on this machine: below a second, even on a slow one


@dataclass
class LayerMeasurement:
    """A measurement on this machine."""

    at: Sizes  # the requested sizes
    hardware: str
    costs: list[Cost]  # measured so far
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
    """Write a measurement's sizes n, d, k and r to the address, such as `64.512.3.8`; None removes them."""
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
