"""A training with the paper's parts and, on the same batches, one with a part changed: a job of the session."""

import tempfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from time import monotonic
from typing import Literal, NamedTuple

from core.analysis.recorded_call import Call, Given
from core.files.process_memory import PROCESS, SMALLER
from core.formats.checkpoint import save_checkpoint
from core.lab.comparison import Comparison
from core.lab.maps import attention_maps
from core.lab.tasks import MAX_TOKENS, TASKS, Task, Unit, own_task
from core.lab.training import checkpoint_of
from core.lab.variants import Settings
from viz_app.language import RefusedError, marked
from viz_app.session import address, readings, uploads
from viz_app.session.jobs import Job, JobSlot
from viz_app.session.open_models import OpenModels
from viz_app.session.python_code import given_text
from viz_app.session.state import lead_to, session_object

STEPS = (200, 400, 600, 1000, 2000)
ANSWERED = 3  # unseen pairs whose answers are shown
LOOK = 0.3  # seconds between two looks at maps and answers: one in each turn of the job
MAX_MINUTES = 15  # of computing


class Choice(NamedTuple):
    """What is trained: one of `TASKS`, or the visitor's own pairs, and the name of what is changed; "": nothing."""

    task: str
    own: tuple[str, Unit] | None
    settings: Settings
    variant: str
    steps: int


class LabRun(Comparison):
    """A comparison, and what it looks like while it trains.

    Attributes:
        looked: the step of the last look.
        maps: of the last training, for the first unseen pair.
        answers: to the first unseen sources, by training.
        refused: why the trained model was not opened, or "".
    """

    def __init__(self, choice: Choice) -> None:
        self.task = own_task(*choice.own) if choice.own else TASKS[choice.task]()
        super().__init__(self.task, choice.settings, choice.variant)
        self.choice, self.refused = choice, ""
        self.job = Job(self._steps(), choice.steps, marked("steps"), running=False)
        self.file = f"{choice.task}-{choice.variant or 'paper'}-{choice.settings.seed}.safetensors"
        self._look()  # at random weights

    def _steps(self) -> Iterator[int]:
        steps, seconds, looked = self.steps(self.choice.steps), 0.0, 0.0
        size = step_bytes(self.task, self.choice.settings)
        for step in range(1, self.choice.steps + 1):
            begun = monotonic()
            with PROCESS.reserved(size, advice=SMALLER):
                next(steps)
            if step == self.choice.steps or not self.job.running or begun - looked > LOOK:
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
        sources, targets = zip(*self.task.unseen[:ANSWERED], strict=True)
        most = 2 + max(len(self.task.ids(target)) for target in targets)  # an untrained model does not end
        self.answers = [[self.task.text(ids) for ids in each.answer_ids(sources, most)] for each in self.trainings]
        self.looked, self.maps = last.done, attention_maps(last, *self.task.unseen[0])

    def call(self, curve: Literal["loss", "exact"]) -> Call:
        """Return the recorded call of the table of a curve."""
        name, own, settings, variant, _ = self.choice
        task = Given("task", self.task, lambda task: f"from core.lab.tasks import TASKS\n{task} = TASKS[{name!r}]()")
        if own:
            task = Call("task", own_task, (given_text(own[0], "pairs.tsv"), own[1])).returning(self.task)
        begun = Call("comparison", Comparison, (task, settings, variant))
        steps = len(self.losses[0]) if curve == "loss" else self.counted[-1]
        return begun.then("trained", steps, name="trained").returning(self).then("table", curve)

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
            readings.new_sentence(self.task.unseen[0][0])
            address.WHOLE_WORDS.set(False)  # the digits of a source would be one word
            lead_to("overview")


def step_bytes(task: Task, size: Settings) -> int:
    """Return what a step keeps for its gradients at most, in float32: states, weights of all heads, and logits."""
    length = MAX_TOKENS if task.name == "own" else 2 + max(len(task.ids(source)) for source, _ in task.unseen)
    of_layer = 16 * size.d_model + 3 * size.d_ff + 6 * size.num_heads * length
    return 4 * size.batch_size * length * (2 * size.num_layers * of_layer + 4 * task.vocab_size)


class LabSlot(JobSlot[LabRun]):
    """The session's last training."""

    def forget_model(self, digest: str) -> None:
        """Keep the training: it is of no model that is closed."""
