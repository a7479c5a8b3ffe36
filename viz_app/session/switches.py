"""The heads that a visitor has switched on the page Switches."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from core.analysis.heads.head import Head, all_heads
from core.trace import HEAD_PATTERN
from viz_app.language import RefusedError
from viz_app.session.address import SWITCHED
from viz_app.session.models import Model

_HEAD_GATE = re.compile(rf"({HEAD_PATTERN})(?: (0(?:\.\d{{1,2}})?))?")


@dataclass
class Switches:
    """The switched heads of a session."""

    digest: str = ""  # of the model whose heads they are
    # what the output of each switched head is multiplied by
    gates: dict[Head, float] = field(default_factory=dict[Head, float])
    problem: str = ""  # why nothing was switched that the address asked for, or ""

    def of(self, model: Model) -> dict[Head, float]:
        """Return the switched heads of this model."""
        return self.gates if self.digest == model.digest else {}

    def switch(self, model: Model, heads: Sequence[Head], gate: float) -> None:
        """Set heads to a gate; if all of them have it already, back to 1."""
        old = self.of(model)
        new = 1.0 if all(old.get(head, 1.0) == gate for head in heads) else gate
        changed = old | dict.fromkeys(heads, new)
        self.problem, self.digest = "", model.digest
        self.gates = {head: value for head, value in changed.items() if value != 1.0}

    def switch_off_only(self, model: Model, head: Head) -> None:
        """Switch a head off, and all others back on."""
        self.problem, self.digest, self.gates = "", model.digest, {head: 0.0}

    def restore(self, model: Model) -> None:
        """Switch the heads that the address names, at first and after going back."""
        if (named := SWITCHED.take()) is None:
            return
        try:
            self.digest, self.gates = model.digest, _parsed_gates(model, named.value)
        except ValueError as error:
            self.problem = str(error)


def _parsed_gates(model: Model, text: str) -> dict[Head, float]:
    """Parse heads and gates such as `cross L5 H3, encoder L1 H2 0.5`; a head without a gate is off."""
    heads = {str(head): head for head in all_heads(model.translator.model)}
    gates: dict[Head, float] = {}
    for name in map(str.strip, text.split(",") if text else ()):
        parts = _HEAD_GATE.fullmatch(name)
        if parts is None:
            raise RefusedError(
                "the address has {parameter}={name}, expected heads such as 'cross L5 H3' or 'cross L5 H3 0.5': "
                "all heads are on",
                parameter=SWITCHED.key,
                name=name,
            )
        if (head := heads.get(parts[1])) is None:
            raise RefusedError(
                "the address switches {name}, which {model} does not have: all heads are on",
                name=name,
                model=model.name,
            )
        gates[head] = float(parts[2] or 0)
    return gates
