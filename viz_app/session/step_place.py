"""Places on the page Step by step, to which other pages lead: a token, a layer, a head, a step and a picked row."""

import re
from dataclasses import dataclass

from core.analysis.heads.head import Head
from core.analysis.token_path.steps import Stack
from core.analysis.tokens.words import readable
from core.drawing.drawing_data import FED_ARROW
from core.results import Explanation
from viz_app.session import address

STACK, TOKEN = address.STACK, address.FOLLOWED
LAYER, HEAD = address.STEP_LAYER, address.STEP_HEAD
STEP, PICK = address.AT, address.PICKED  # rows are counted from 1


@dataclass(frozen=True)
class WalkStart:
    """Place to start from, set by another page; counted from 0."""

    stack: Stack
    position: int
    layer: int
    head: int
    step: str
    pick: int | None


@dataclass
class StepPlace:
    """Step and picked row of a session."""

    step: str = ""  # name of the step; "" for the first
    pick: int | None = None  # none for the row that the step picks itself
    requested: tuple[str, int | None] = ("", None)  # the step and the row that the browser was asked to show last
    request: int = 0  # number of such requests
    start: WalkStart | None = None  # where another page leads to, until the page Step by step is opened
    words: object = None  # the selected words when the token was selected; None before

    def lead_to_score(self, head: Head, query: int, key: int) -> None:
        """Start at the score of one query and one key when the page is opened."""
        stack: Stack = "encoder" if head.kind == "encoder_self" else "decoder"
        self.start = WalkStart(stack, query, head.layer, head.head, f"{head.kind}-scores", key)

    def restore(self) -> None:
        """Restore step and row from the address, at first and after going back."""
        step, pick = STEP.take(), PICK.take()
        if step is not None or pick is not None:
            self.step = step.value if step is not None else ""
            number = pick.value if pick is not None else ""
            self.pick = int(number) - 1 if re.fullmatch(r"[1-9]\d{0,3}", number) else None
            self._request()

    def take_start(self) -> WalkStart | None:
        """Return the place that another page leads to, once."""
        start, self.start = self.start, None
        if start is not None:
            self.step, self.pick = start.step, start.pick
            self._request()
        return start

    def _request(self) -> None:
        self.requested, self.request = (self.step, self.pick), self.request + 1

    def keep(self, place: tuple[str, int | None]) -> None:
        """Keep the place that the browser shows."""
        self.step, self.pick = place

    def write(self, is_first: bool) -> None:
        """Write step and row to the address; the first step needs none."""
        STEP.put("" if is_first else self.step)
        PICK.put("" if is_first or self.pick is None else str(self.pick + 1))


class TrainingPlace(StepPlace):
    """The same of the page One step of training."""


def token_names(explanation: Explanation, stack: Stack) -> list[str]:
    """Name the tokens that a stack is fed, counted from 1, and in the decoder also the predicted ones."""
    if stack == "encoder":
        return [f"{number} {readable(token)}" for number, token in enumerate(explanation.source_tokens, 1)]
    pairs = zip(explanation.fed_tokens, explanation.predicted_tokens, strict=True)
    return [f"{row} {readable(fed)} {FED_ARROW} {readable(predicted)}" for row, (fed, predicted) in enumerate(pairs, 1)]
