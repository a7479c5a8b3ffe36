"""What the page "Why self-attention" knows: measurements that came with the app, those of this machine, and traces."""

import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import streamlit as st

from core.analysis.layers.layer_cost import Cost, CostTable, from_json, grid, hardware, measure
from core.analysis.layers.layer_types import LAYER_TYPES, Sizes
from core.analysis.layers.path_length import PathLength, measure_path_length
from viz_app.session import permalink

NS, DS = (16, 32, 64, 128, 256, 512, 1024, 2048, 4096), (32, 64, 128, 256, 512, 1024)  # what the sliders offer
KS, RS = (3, 5, 9), (8, 32, 128)
SHIPPED = Path(__file__).with_name("layer_types.json")
MEASURING = "layer_measuring"  # where a session keeps what it measures
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
class Measuring:
    """A measurement on this machine as far as it has got: whoever stops it can go on later."""

    at: Sizes
    hardware: str
    total: int
    steps: Iterator[Cost]
    running: bool = True
    found: list[Cost] = field(default_factory=list[Cost])
    turn: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @property
    def done(self) -> bool:
        return len(self.found) == self.total

    def let_run(self, running: bool) -> None:
        """Stop it, or go on with it."""
        self.running = running

    def advance(self) -> None:
        """One layer more. A run of the page that was interrupted may still be at its last while the next one asks
        for more.
        """
        with self.turn:
            if not self.done:
                self.found.append(next(self.steps))

    def table(self) -> CostTable:
        """What has been found so far."""
        return CostTable(self.hardware, tuple(self.found))


def begin(at: Sizes) -> None:
    """Measure on this machine, in this session: all layers over n at this d, and over d at this n."""
    wanted = dict.fromkeys([*grid(NS, [at.d], [at.k], [at.r]), *grid([at.n], DS, [at.k], [at.r])])
    feasible = [one for one in wanted if LAYER_TYPES[one[0]].operations(one[1]) <= MOST_OPERATIONS]
    st.session_state[MEASURING] = Measuring(at, hardware(), len(feasible), measure(feasible, seconds=SECONDS))


def measuring() -> Measuring | None:
    """What this session has measured or is measuring."""
    return st.session_state.get(MEASURING)


def name_in_address(shown: Measuring | None) -> None:
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
