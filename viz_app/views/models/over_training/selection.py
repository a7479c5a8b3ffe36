"""Selection of a step, a head and a score on the page Over training, and the playback of its steps."""

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass

from core.analysis.alignment.first_head import first_head
from core.analysis.heads.head import Head
from core.capture import AttentionMap, Kind
from viz_app.drawing.head_names import LayerHead
from viz_app.session import address
from viz_app.session.state import session_object

STEP = address.TRAINED_STEPS
BASIS = address.TRAINED_ON  # read before it is drawn
SAMPLE, _ = address.TRAINED_ON.codec.values
HEAD = address.TRAINED_HEAD  # counted from 1: 3.2
PAUSE = 1.0  # seconds that a step stays while they are played


@dataclass
class Playing:
    """Playback of the steps: whether the page advances by itself."""

    is_on: bool = False
    shown: int | None = None  # the step that was drawn last
    since: float = 0.0  # when it was first drawn, by `time.monotonic`

    def switch(self, steps: Sequence[int]) -> None:
        """Start or stop; from the last step it starts at the first."""
        self.is_on = not self.is_on
        if self.is_on and STEP.value in (None, steps[-1]):
            STEP.set(steps[0])

    def advance(self, steps: Sequence[int]) -> None:
        """Go to the next step if it is time, and stop at the last one; to be called before the slider is drawn."""
        current = STEP.value
        if not self.is_on or current is None or current != self.shown:
            return
        if time.monotonic() < self.since + PAUSE / 2:  # drawn again for another reason
            return
        later = [step for step in steps if step > current]
        self.is_on = len(later) > 1
        if later:
            STEP.set(later[0])

    def keep_shown(self, step: int) -> None:
        """Record the step that is drawn."""
        if step != self.shown:
            self.shown, self.since = step, time.monotonic()


class SelectedHeads(dict[Kind, LayerHead]):
    """The selected head of each kind of attention; none before a click."""


def selected_head(kind: Kind, maps: Sequence[AttentionMap]) -> Head:
    """Return the selected head of a kind, and write it to the address.

    By default it is the one that the page Heads would show first for the maps, those of the last snapshot.
    """
    heads = session_object(SelectedHeads)
    if (named := HEAD.take()) is not None:
        heads.pop(kind, None)
        if parts := re.fullmatch(r"([1-9]\d{0,2})\.([1-9]\d{0,2})", named.value):
            heads[kind] = int(parts[1]) - 1, int(parts[2]) - 1
    layer, head = heads.get(kind, (-1, -1))
    if not 0 <= layer < len(maps) or head >= maps[layer].num_heads:
        heads.pop(kind, None)
        HEAD.put("")
        return first_head(maps)
    HEAD.put(f"{layer + 1}.{head + 1}")
    return Head(kind, layer, head)
