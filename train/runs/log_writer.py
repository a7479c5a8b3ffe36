"""Log of a run: a progress bar, JSON lines and TensorBoard curves."""

import math
import sys
import time
from dataclasses import asdict
from typing import Any

import torch
from torch import Tensor
from torch.utils.tensorboard.writer import SummaryWriter
from tqdm import tqdm

from core.files.console import printable
from core.files.strict_json import json_text
from train.data.batches import Position
from train.distributed import World
from train.recipe import Recipe
from train.runs.run_folder import RunFolder

SHOWN_EVERY = 20  # seconds between lines of training, if steps are short
POSTFIX = ("nll", "perplexity", "tokens_per_second")  # numbers shown on the progress bar


class NotFiniteError(FloatingPointError):
    """The loss of a step is NaN or infinite; `position` is the data position of its batches."""

    def __init__(self, step: int, loss: float, position: Position) -> None:
        super().__init__(f"the loss of step {step} is {loss}")
        self.step, self.position = step, position


class Window:
    """Sums over the steps since the last log line, kept on the device to avoid synchronising at every step."""

    def __init__(
        self, world: World, rows: list[list[float]] | None = None, positions: list[list[int]] | None = None
    ) -> None:
        self._world = world
        self._sums = [torch.tensor(row[:2], device=world.device) for row in rows or []]  # smoothed, nll: [2], float32
        self._tokens = [row[2] for row in rows or []]
        self._positions = [Position(*position) for position in positions or []]

    def add(self, smoothed: Tensor, nll: Tensor, num_tokens: int, start: Position) -> None:
        """Add a step: sums of losses over this process's batches, and the target tokens of all processes."""
        self._sums.append(torch.stack((smoothed, nll)))
        self._tokens.append(num_tokens / self._world.size)
        self._positions.append(start)

    def state(self) -> dict[str, list[Any]]:
        """Return the arguments that restore this window."""
        return {
            "rows": self._rows().tolist(),
            "positions": [list(asdict(position).values()) for position in self._positions],
        }

    def close(self, step: int) -> dict[str, float]:
        """Return the mean loss per target token (nats) up to `step`, smoothed and unsmoothed, and clear the window.

        Raises:
            NotFiniteError: the loss of a step is not finite.
        """
        smoothed, nll, num_tokens = self.check(step).sum(0).tolist()
        self._sums, self._tokens, self._positions = [], [], []
        return {"loss": smoothed / num_tokens, "nll": nll / num_tokens}

    def check(self, step: int) -> Tensor:
        """Return the sums of each step up to `step` over all processes, [steps, 3].

        Raises:
            NotFiniteError: the loss of a step is not finite.
        """
        if not self._sums:
            return torch.zeros(0, 3)
        sums = self._world.sum(self._rows())
        for row, position, number in zip(
            sums.tolist(), self._positions, range(step - len(self._sums) + 1, step + 1), strict=True
        ):
            if not math.isfinite(row[0]):
                raise NotFiniteError(number, row[0], position)
        return sums

    def _rows(self) -> Tensor:
        """Smoothed, nll and tokens of each step, [steps, 3] in float64, on the CPU as MPS has no float64."""
        if not self._sums:
            return torch.zeros(0, 3, dtype=torch.float64)
        return torch.cat(
            (torch.stack(self._sums).cpu().double(), torch.tensor(self._tokens, dtype=torch.float64)[:, None]), dim=1
        )


class Log:
    """Context manager that writes the log to its file, TensorBoard and the terminal, in the first process only."""

    def __init__(self, run: RunFolder, world: World, first_step: int, recipe: Recipe) -> None:
        self._run, self._since, self._tokens, self._steps = run, time.perf_counter(), 0, 0
        self._recipe, self._is_active, self._is_terminal = recipe, world.is_first, sys.stderr.isatty()
        self._shown_at = -math.inf  # seconds, the last line of training on the terminal
        if self._is_active:
            self._file = run.log.open("a", encoding="utf-8")
            self._curves = SummaryWriter(str(run.tensorboard), purge_step=first_step + 1)
            self._bar = tqdm(
                total=recipe.steps,
                initial=first_step,
                unit="step",
                dynamic_ncols=True,
                smoothing=0.05,
                disable=not self._is_terminal,
            )

    def __enter__(self) -> "Log":
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_active:
            self._bar.close()
            self._curves.close()
            self._file.close()

    def step(self, num_tokens: int) -> None:
        """Count a step with this number of target tokens."""
        self._tokens += num_tokens
        self._steps += 1
        if self._is_active:
            self._bar.update()

    def is_due(self) -> bool:
        """Whether the last line of training is `SHOWN_EVERY` seconds old."""
        return time.perf_counter() - self._since >= SHOWN_EVERY

    def pace(self) -> dict[str, float]:
        """Return tokens per second and seconds per step since the last call."""
        seconds = time.perf_counter() - self._since
        pace = {"tokens_per_second": self._tokens / seconds, "seconds_per_step": seconds / max(1, self._steps)}
        self._since, self._tokens, self._steps = time.perf_counter(), 0, 0
        return pace

    def write(self, kind: str, step: int, **numbers: float) -> None:
        """Write the numbers of a step to the log, TensorBoard and the terminal."""
        if not self._is_active:
            return
        self._line(kind, step, numbers)
        for name, number in numbers.items():
            self._curves.add_scalar(f"{kind}/{name}", number, step)
        shown = {name: f"{numbers[name]:.4g}" for name in POSTFIX if name in numbers}
        left = ""
        if kind == "train" and "seconds_per_step" in numbers:
            seconds = self._seconds_left(step, numbers)
            self._bar.total = step + round(seconds / numbers["seconds_per_step"])
            left = f", {tqdm.format_interval(seconds)} left"
        if kind == "train" and self._is_terminal:
            self._bar.set_postfix(shown)
            return
        if kind == "train":
            if (now := time.perf_counter()) - self._shown_at < SHOWN_EVERY:
                return
            self._shown_at = now
        self.print(
            f"{kind} {step}/{self._recipe.steps}: {', '.join(f'{name} {number}' for name, number in shown.items())}"
            f"{left}"
        )

    def _seconds_left(self, step: int, numbers: dict[str, float]) -> float:
        """Until the last step, or until the budget of minutes is used up if that is sooner."""
        seconds = (self._recipe.steps - step) * numbers["seconds_per_step"]
        if self._recipe.minutes:
            seconds = min(seconds, max(0.0, 60 * self._recipe.minutes - 3600 * numbers["hours"]))
        return seconds

    def sample(self, step: int, source: str, reference: str, translation: str) -> None:
        """Write a sample translation of the current model."""
        if self._is_active:
            self._line("sample", step, {"source": source, "reference": reference, "translation": translation})
            self._curves.add_text("sample", f"{source}\n\n{translation}\n\n{reference}", step)
            self.print(f"  {source}\n  -> {translation}\n   = {reference}")

    def warn(self, step: int, message: str | None) -> None:
        """Write a warning about the run, if there is one."""
        if self._is_active and message:
            self._line("warning", step, {"message": message})
            self.print(f"warning: {message}")

    def print(self, message: str) -> None:
        """Print a message to stderr, above the progress bar."""
        if self._is_active:
            self._bar.write(printable(message, "\n\t"), file=sys.stderr)

    def _line(self, kind: str, step: int, content: dict[str, Any]) -> None:
        with self._run.saving(f"the log of step {step}"):
            self._file.write(json_text({"kind": kind, "step": step, **content}, ensure_ascii=False) + "\n")
            self._file.flush()
