"""Training of a small model, one step at a time."""

import random
import threading
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any, NamedTuple

import torch
from torch import Tensor

from core import paper
from core.formats.checkpoint import Checkpoint
from core.lab.tasks import Pair, Task, padded
from core.lab.variants import Settings, Variant, built
from core.model import Transformer
from core.model.config import TransformerConfig
from core.text import text_normalization

_GENERATOR = threading.Lock()  # PyTorch has one generator for a process, which dropout draws from


class Step(NamedTuple):
    """One step of training."""

    number: int  # counted from 1
    loss: float  # mean over the tokens, in nats
    rate: float  # of learning, in this step


class Training:
    """The loop of `paper.train` for any task, whole or with variants.

    It is determined by its seed, whatever else the process does: trainings of one task and seed see the same batches.
    One thread at a time may use it; other trainings may run beside it.

    Attributes:
        paper: the module of this training, as `core.paper`, with the parts of the variants.
        settings: with those of the variants.
        model: in evaluation mode between steps.
    """

    def __init__(self, task: Task, settings: Settings | None = None, variants: Sequence[Variant] = ()) -> None:
        self.task, self.variants, self.done = task, tuple(variants), 0
        self.paper, self.settings = built(variants, settings or Settings())
        self._state = torch.Generator().manual_seed(self.settings.seed).get_state()
        self._draw = random.Random(self.settings.seed)
        with self._random_numbers():
            self.model = self.new_model(self.paper)
        self._optimizer = torch.optim.Adam(self.model.parameters(), betas=(0.9, 0.98), eps=1e-9)

    def new_model(self, module: Any) -> paper.Transformer:
        """Return a model of a module as `core.paper`, of this shape, with random weights."""
        size = self.settings
        sizes = size.d_model, size.d_ff, size.num_heads, size.num_layers, size.dropout
        return module.Transformer(self.task.vocab_size, *sizes).eval()

    def step(self) -> Step:
        """Train on one batch."""
        sources, targets = self.task.batch(self.settings.batch_size, self._draw)
        self.done += 1
        rate: float = self.paper.learning_rate(self.done, self.settings.d_model, self.settings.warmup)
        with self._random_numbers():
            logits = self.model.train()(sources, targets[:, :-1])
        loss: Tensor = self.paper.smoothed_loss(logits, targets[:, 1:])
        self._optimizer.zero_grad()
        loss.backward()
        self._optimizer.param_groups[0]["lr"] = rate
        self._optimizer.step()
        self.model.eval()
        return Step(self.done, loss.item(), rate)

    def steps(self, count: int) -> Iterator[Step]:
        """Yield each step up to this number, so that the caller may pause, draw or stop."""
        while self.done < count:
            yield self.step()

    def answer_ids(self, sources: Sequence[str], limit: int = 50) -> list[list[int]]:
        """Answers by greedy search, each up to its `</s>`, or cut at a limit."""
        return self.paper.greedy(self.model, padded([self.task.ids(source) for source in sources]), limit)

    def answers(self, sources: Sequence[str]) -> list[str]:
        """Answers by greedy search, as text."""
        return [self.task.text(answer) for answer in self.answer_ids(sources)]

    def exact(self, pairs: Sequence[Pair] | None = None) -> float:
        """Share of pairs, by default the unseen ones, whose source is answered by exactly the target."""
        sources, targets = zip(*(pairs or self.task.unseen), strict=True)
        expected = [self.task.ids(target) for target in targets]
        answers = self.answer_ids(sources, max(map(len, expected)))
        return sum(map(list.__eq__, answers, expected)) / len(expected)

    @contextmanager
    def _random_numbers(self) -> Generator[None]:
        """Let PyTorch's generator go on where this training left it."""
        with _GENERATOR, torch.random.fork_rng(devices=[]):
            torch.set_rng_state(self._state)
            yield
            self._state = torch.get_rng_state()


def checkpoint_of(training: Training) -> Checkpoint:
    """Return a copy of the weights as a checkpoint, for `save_checkpoint` or a `Translator`, with facts for its card.

    Raises:
        ValueError: a variant has changed the model, and no configuration describes it.
    """
    changed = [variant.title for variant in training.variants if not variant.is_paper_model]
    if changed:
        raise ValueError(f"{', '.join(changed)}: this model is not the paper's, and only opens here; train it whole")
    task, size = training.task, training.settings
    sizes = {name: getattr(size, name) for name in ("d_model", "d_ff", "num_heads", "dropout")}
    n = size.num_layers
    config = TransformerConfig(vocab_size=task.vocab_size, num_encoder_layers=n, num_decoder_layers=n, **sizes)
    model = Transformer(config).eval()
    model.load_state_dict(training.model.state_dict())
    names = [variant.name for variant in training.variants]
    smoothing = 0.0 if "no_smoothing" in names else 0.1
    exact = round(100 * training.exact(), 1)
    facts = {
        "preset": " ".join(["lab", task.name, *names]),
        "config": asdict(config),
        "seed": size.seed,
        "steps": training.done,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "torch": torch.__version__,
        "recipe": {"steps": training.done, "warmup": size.warmup, "rate_scale": 1.0, "label_smoothing": smoothing},
        "manifest": {"text_normalization": text_normalization.VERSION},
        "scores": [
            {"test_set": f"unseen {task.name}", "sentences": len(task.unseen), "exact_texts": exact, "beam_size": 1}
        ],
    }
    return Checkpoint(model, task.tokenizer, facts)
