"""What the page "Why self-attention" knows: measurements that came with the app, those of this machine, and traces."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import streamlit as st

from core.analysis.layers.layer_cost import Cost, CostTable, from_json, grid, hardware, measure
from core.analysis.layers.layer_types import LAYER_TYPES, Sizes
from core.analysis.layers.path_length import PathLength, measure_path_length
from viz_app.session import permalink
from viz_app.session.jobs import Job
from viz_app.session.state import session_object

NS, DS = (16, 32, 64, 128, 256, 512, 1024, 2048, 4096), (32, 64, 128, 256, 512, 1024)  # what the sliders offer
KS, RS = (3, 5, 9), (8, 32, 128)
SHIPPED = Path(__file__).with_name("layer_types.json")
MEASURED = "measured"  # its sizes in the address
TRACED = (2, 4, 8, 16, 32)  # n of the instances that are traced
SECONDS = 0.02  # for each measurement on this machine
MOST_OPERATIONS = 2**31  # of a layer that is measured on this machine: below a second, even on a slow one


@cache
def shipped() -> CostTable:
    """The measurements that came with the app.

    Raises:
        ValueError, OSError: the installation is damaged.
    """
    return from_json(SHIPPED.read_text("utf-8"))


@cache
def traced(k: int, r: int, dilated: bool) -> dict[tuple[str, int], PathLength]:
    """Sequential operations and paths, counted, of every layer at every n of `TRACED`."""
    return {
        (layer, n): measure_path_length(layer_type, Sizes(n=n, d=1, k=k, r=r, dilated=dilated))
        for layer, layer_type in LAYER_TYPES.items()
        for n in TRACED
    }


@dataclass
class LayerMeasurement:
    """A measurement on this machine.

    Attributes:
        at: the sizes it was asked for.
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
    """Start to measure on this machine: all layers over n at this d, and over d at this n."""
    wanted = dict.fromkeys([*grid(NS, [at.d], [at.k], [at.r]), *grid([at.n], DS, [at.k], [at.r])])
    feasible = [one for one in wanted if LAYER_TYPES[one[0]].operations(one[1]) <= MOST_OPERATIONS]
    costs: list[Cost] = []

    def steps() -> Iterator[int]:
        for cost in measure(feasible, seconds=SECONDS):
            costs.append(cost)
            yield 1

    job = Job(steps(), len(feasible), "layers")
    session_object(LayerMeasurementSlot).measurement = LayerMeasurement(at, hardware(), costs, job)


def measurement() -> LayerMeasurement | None:
    """Return the session's measurement on this machine."""
    return session_object(LayerMeasurementSlot).measurement


def name_in_address(shown: LayerMeasurement | None) -> None:
    """Hold n, d, k and r of the measurement that is shown, such as `64.512.3.8`; None takes them away."""
    sizes = (shown.at.n, shown.at.d, shown.at.k, shown.at.r) if shown else ()
    permalink.put(MEASURED, permalink.SEPARATOR.join(map(str, sizes)))


def named_in_address() -> Sizes | None:
    """At what the view that the address brings back was measured; its numbers stayed where it was.

    Raises:
        ValueError: it names no sizes that the sliders offer.
    """
    if not (asked := st.query_params.get(MEASURED, "")):
        return None
    sizes = [int(size) for size in asked.split(permalink.SEPARATOR) if re.fullmatch("[0-9]{1,4}", size)]
    if len(sizes) != 4 or any(size not in offered for size, offered in zip(sizes, (NS, DS, KS, RS), strict=True)):
        raise ValueError(
            f"the address holds {MEASURED}={asked}, expected n, d, k and r that the sliders offer, such as "
            f"64.512.3.8: what was shipped is shown"
        )
    n, d, k, r = sizes
    return Sizes(n=n, d=d, k=k, r=r)
