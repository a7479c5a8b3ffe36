"""A training with the paper's parts and, on the same batches, one with a part changed: a job of the session."""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from time import monotonic
from typing import NamedTuple

from core.capture import AttentionMap, Kind
from core.files.process_memory import PROCESS, SMALLER
from core.formats.checkpoint import save_checkpoint
from core.lab.maps import attention_maps
from core.lab.tasks import MAX_TOKENS, TASKS, Task
from core.lab.trained_checkpoint import checkpoint_of
from core.lab.training import Training
from core.lab.variants import Settings, Variant
from viz_app.language import RefusedError, marked
from viz_app.session import readings, uploads
from viz_app.session.job_slot import JobSlot
from viz_app.session.jobs import Job
from viz_app.session.open_models import OpenModels
from viz_app.session.state import lead_to, session_object

STEPS = (200, 400, 600, 1000, 2000)
EVERY = 50  # steps between two counts of exact answers
COUNTED, ANSWERED = 100, 3  # unseen pairs whose answers are counted, and shown
LOOK = 0.3  # seconds between two looks at maps and answers: one in each turn of the job
MAX_MINUTES = 15  # of computing


class Choice(NamedTuple):
    """What is trained: one of `TASKS` or the visitor's own, and what is changed; None: nothing."""

    task: str
    own: Task | None
    settings: Settings
    variant: Variant | None
    steps: int


class LabRun:
    """A training and its records.

    Attributes:
        trainings: with the paper's parts and, if something is changed, with that; none until the job has advanced once.
        losses: of each step, in nats, by training.
        counted: steps after which exact answers were counted.
        exact: their shares, by training.
        looked: the step of the last look.
        maps: of the last training, for the first unseen pair.
        answers: to the first unseen sources, by training.
        refused: why the trained model was not opened, or "".
    """

    maps: dict[Kind, list[AttentionMap]]
    answers: list[list[str]]

    def __init__(self, choice: Choice) -> None:
        self.choice, self.trainings, self.counted, self.looked, self.refused = (
            choice,
            list[Training](),
            list[int](),
            0,
            "",
        )
        self.losses, self.exact = list[list[float]](), list[list[float]]()
        self.job = Job(self._steps(), choice.steps, marked("steps"), running=False)
        changed = choice.variant.name if choice.variant else "paper"
        self.file = f"{choice.task}-{changed}-{choice.settings.seed}.safetensors"

    def _steps(self) -> Iterator[int]:
        """Look at random weights, then train."""
        choice, seconds, looked = self.choice, 0.0, 0.0
        task = choice.own or TASKS[choice.task]()
        size = step_bytes(task, choice.settings)
        for variants in [[], *([[choice.variant]] if choice.variant else [])]:
            self.trainings.append(Training(task, choice.settings, variants))
            self.losses.append([])
            self.exact.append([])
        self._look()
        yield 0
        for step in range(1, choice.steps + 1):
            begun, is_last = monotonic(), step == choice.steps
            with PROCESS.reserved(size, advice=SMALLER):
                for training, losses in zip(self.trainings, self.losses, strict=True):
                    losses.append(training.step().loss)
                if step % EVERY == 0 or is_last:
                    for training, shares in zip(self.trainings, self.exact, strict=True):
                        shares.append(training.exact(task.unseen[:COUNTED]))
                    self.counted.append(step)
                if is_last or not self.job.running or begun - looked > LOOK:
                    self._look()
                    looked = monotonic()
            seconds += monotonic() - begun
            yield 1
            if seconds > 60 * MAX_MINUTES:
                raise RefusedError(
                    "a training is computed for {minutes} minutes at most: choose a smaller size", minutes=MAX_MINUTES
                )

    def _look(self) -> None:
        last = self.trainings[-1]
        task, (sources, targets) = last.task, zip(*last.task.unseen[:ANSWERED], strict=True)
        most = 2 + max(len(task.ids(target)) for target in targets)  # an untrained model does not end
        self.answers = [[task.text(ids) for ids in each.answer_ids(sources, most)] for each in self.trainings]
        self.looked, self.maps = last.done, attention_maps(last, *task.unseen[0])

    def checkpoint(self) -> bytes:
        """Return the file of the last training, whose model must be the paper's."""
        checkpoint = checkpoint_of(self.trainings[-1])
        with tempfile.TemporaryDirectory(prefix="headlight-") as folder:
            path = Path(folder, self.file)
            save_checkpoint(path, checkpoint.model, checkpoint.tokenizer, checkpoint.training)
            return path.read_bytes()

    def open(self) -> None:
        """Make its model the current one, with an unseen source, and go to the first page; for a callback."""
        models, refusals = uploads.uploaded_models([(self.file, BytesIO(self.checkpoint()))])
        self.refused = " ".join(map(str, refusals))
        for model in models:
            session_object(OpenModels).add(model)
            readings.new_sentence(self.trainings[-1].task.unseen[0][0])
            lead_to("overview")


def step_bytes(task: Task, size: Settings) -> int:
    """Return what a step keeps for its gradients at most, in float32: states, weights of all heads, and logits."""
    length = MAX_TOKENS if task.name == "own" else 2 + max(len(task.ids(source)) for source, _ in task.unseen)
    of_layer = 16 * size.d_model + 3 * size.d_ff + 6 * size.num_heads * length
    return 4 * size.batch_size * length * (2 * size.num_layers * of_layer + 4 * task.vocab_size)


@dataclass
class LabSlot(JobSlot[LabRun]):
    """The session's last training."""

    def forget_model(self, digest: str) -> None:
        """Keep the training: it is of no model that is closed."""
