"""The changing state of a training run, saved and restored to resume it."""

import math
import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import torch
from torch import Tensor

from core.model import Transformer
from core.model.config import TransformerConfig
from core.model.schedule import cooldown_factor, fitted_scale, fitted_warmup, learning_rate, minutes_factor
from core.model.training import ADAM_BETAS, ADAM_EPS, exclude_untrained
from train.data.batches import Group, Position
from train.distributed import World
from train.loss import loss_module
from train.packed import PackedLoss
from train.recipe import Recipe
from train.runs.log_writer import Window
from train.runs.state_file import check_like
from train.warm_start import Initial

REQUIRED = ("step", "position", "hours", "model", "optimizer", "windows")  # of a state; older ones lack the others


class Training:
    """A model in training, with its optimizer and the position in the data.

    Attributes:
        loss_of: the model with its loss, wrapped so that gradients are averaged over all processes.
        step: number of steps taken.
        best_nll: lowest validation loss so far.
        validations_since_best: validations since then.
    """

    def __init__(
        self,
        config: TransformerConfig,
        recipe: Recipe,
        world: World,
        compiled: bool = False,
        initial: Initial | None = None,
        byte_ids: Sequence[int] = (),
    ) -> None:
        torch.manual_seed(recipe.seed)
        self.model = Transformer(config).to(world.device).train()
        if initial:
            initial.load_into(self.model)
        if recipe.keep and (initial is None or initial.shared is not None):
            raise ValueError(f"keep ({recipe.keep}) needs --init with a model of the data's vocabulary")
        of_bytes = "bytes" in recipe.only.split(",")
        if of_bytes and not byte_ids:
            raise ValueError(f"only ({recipe.only}) needs a tokenizer with tokens of single bytes, as of `prepare`")
        exclude_untrained(self.model, recipe.only)  # they stay in the optimizer, whose saved state depends on the order
        loss = (
            PackedLoss(self.model, recipe.label_smoothing, compiled)
            if recipe.bucketing == "packed"
            else loss_module(self.model, recipe.label_smoothing, recipe.r_drop, recipe.keep)
        )
        self.loss_of = world.wrap(loss)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=0.0, betas=ADAM_BETAS, eps=ADAM_EPS, fused=True)
        rest = set(range(config.vocab_size)).difference(byte_ids)
        self._fixed_rows = sorted(rest) if of_bytes else []  # of the embeddings
        self.window = Window(world)
        self.step, self.position = 0, Position()
        self.best_nll, self.validations_since_best = math.inf, 0
        self._world, self._hours_before, self._began = world, 0.0, time.perf_counter()

    @property
    def hours(self) -> float:
        """Wall-clock hours of training, summed over resumptions."""
        return self._hours_before + (time.perf_counter() - self._began) / 3600

    def is_time_up(self, recipe: Recipe) -> bool:
        """Whether the recipe's budget of minutes, if any, is used up. Collective."""
        return recipe.minutes > 0 and self._world.any(60 * self.hours >= recipe.minutes)

    def rate(self, step: int, recipe: Recipe) -> float:
        """Return the learning rate of a step, which a budget of minutes fits to the time. Collective."""
        rate = recipe.rate_scale * cooldown_factor(step, recipe.steps, recipe.cooldown)
        warmup = float(recipe.warmup)
        if recipe.minutes:
            minutes = self._world.gather(60 * self.hours)[0]  # by one clock
            warmup = fitted_warmup(step, recipe.warmup, minutes, recipe.minutes)
            rate *= fitted_scale(warmup, recipe.warmup)
            rate *= minutes_factor(recipe.minutes - minutes, recipe.cooldown_minutes)
        return rate * learning_rate(step, self.model.config.d_model, warmup, recipe.schedule)

    def drop_fixed_gradients(self) -> None:
        """Drop the gradients of the embeddings that stay as they are, if those of bytes alone are trained."""
        if self._fixed_rows and (gradient := self.model.embedding.tokens.weight.grad) is not None:
            gradient[self._fixed_rows] = 0

    def set_rate(self, rate: float) -> float:
        """Set and return the learning rate."""
        for parameters in self.optimizer.param_groups:
            parameters["lr"] = rate
        return rate

    def advance(self, step: int, group: Group, smoothed: Tensor, nll: Tensor) -> None:
        """Record a step on a group of batches, with its sums of losses."""
        self.step, self.position = step, group.end
        self.window.add(smoothed, nll, group.num_tokens, group.start)

    def record_validation(self, nll: float) -> bool:
        """Record a validation loss and return whether it is the lowest so far."""
        is_best = nll < self.best_nll
        self.best_nll = min(nll, self.best_nll)
        self.validations_since_best = 0 if is_best else self.validations_since_best + 1
        return is_best

    def state(self) -> dict[str, Any]:
        """Return the state for `restore`. Collective."""
        windows = self._world.gather(self.window.state())
        return {
            "step": self.step,
            "position": asdict(self.position),
            "hours": self.hours,
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "windows": windows,
            "best_nll": self.best_nll,
            "validations_since_best": self.validations_since_best,
        }

    def _sample(self, has_moments: bool) -> dict[str, Any]:
        """A state, for its types and shapes, with moments of Adam as after the first step or without."""
        moments = {
            number: {"step": torch.tensor(0.0), "exp_avg": parameter, "exp_avg_sq": parameter}
            for number, parameter in enumerate(self.model.parameters())
            if has_moments and parameter.requires_grad
        }
        return {
            "step": 0,
            "position": asdict(Position()),
            "hours": 0.0,
            "model": self.model.state_dict(),
            "optimizer": {"state": moments, "param_groups": [{"params": [0]}]},
            "windows": [{"rows": [(0.0, 0.0, 0.0)], "positions": [(0, 0)]}],
            "best_nll": 0.0,
            "validations_since_best": 0,
        }

    def restore(self, state: dict[str, Any] | None) -> None:
        """Restore a saved state, if any, and start counting the hours.

        If the number of processes has changed, the next log line covers only the steps from here on.

        Raises:
            ValueError, TypeError, LookupError, RuntimeError: the state is damaged, or of another model.
        """
        self._began = time.perf_counter()
        if state is None:
            return
        sample = self._sample(has_moments=state["step"] > 0)
        check_like(state, {name: value for name, value in sample.items() if name in state or name in REQUIRED})
        self.model.load_state_dict(state["model"])
        # the same in every run, but for the rate, set at each step
        settings = self.optimizer.state_dict()["param_groups"]
        self.optimizer.load_state_dict({"state": state["optimizer"]["state"], "param_groups": settings})
        self.step, self.position = state["step"], Position(**state["position"])
        self.best_nll = state.get("best_nll", math.inf)
        self.validations_since_best = state.get("validations_since_best", 0)
        self._hours_before = state["hours"]
        if len(state["windows"]) == self._world.size:
            self.window = Window(self._world, **state["windows"][self._world.rank])
