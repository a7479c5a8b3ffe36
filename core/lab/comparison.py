"""The paper's model and a changed one trained on the same batches, and their curves."""

from collections.abc import Iterator
from typing import Literal, Self

from core.lab.tasks import Task
from core.lab.training import Training
from core.lab.variants import VARIANTS, Settings

EVERY, COUNTED = 50, 100  # steps between two counts of exact answers, and unseen pairs that are answered


class Comparison:
    """A training with the paper's parts and, if a part is changed, one with that.

    Args:
        variant: the name of one of `VARIANTS`; "": nothing is changed.

    Attributes:
        losses: of each step, in nats, by training.
        counted: steps after which exact answers were counted.
        exact: their shares, by training.
    """

    def __init__(self, task: Task, settings: Settings, variant: str = "") -> None:
        changes = [[], [VARIANTS[variant]]] if variant else [[]]
        self.trainings = [Training(task, settings, change) for change in changes]
        self.losses, self.exact = [list[float]() for _ in changes], [list[float]() for _ in changes]
        self.counted = list[int]()

    def steps(self, count: int) -> Iterator[int]:
        """Yield each step of all up to this number; answers are counted every `EVERY` steps, and after the last."""
        for step in range(1, count + 1):
            for training, losses in zip(self.trainings, self.losses, strict=True):
                losses.append(training.step().loss)
            if step % EVERY == 0 or step == count:
                for training, shares in zip(self.trainings, self.exact, strict=True):
                    shares.append(training.exact(training.task.unseen[:COUNTED]))
                self.counted.append(step)
            yield step

    def trained(self, steps: int) -> Self:
        """Train without a pause, and return it."""
        list(self.steps(steps))
        return self

    def table(self, curve: Literal["loss", "exact"]) -> dict[str, list[float]]:
        """Return the curves of the losses, or of the shares of exact answers, by step."""
        curves = self.losses if curve == "loss" else self.exact
        count = min(map(len, curves))  # another thread may be within a step
        steps = list(range(1, count + 1)) if curve == "loss" else self.counted[:count]
        return {"step": [*steps], **dict(zip(("paper", "changed"), (each[:count] for each in curves), strict=False))}
