"""What a run says: a progress bar, JSON lines and TensorBoard curves."""

import json
import time
from typing import Any

from torch.utils.tensorboard import SummaryWriter
from tqdm import tqdm

from train.run import RunFolder


class Log:
    """Open as a context; numbers go to all three places under one name."""

    def __init__(self, run: RunFolder, first_step: int, last_step: int) -> None:
        self._file = run.log.open("a", encoding="utf-8")
        self._curves = SummaryWriter(str(run.tensorboard), purge_step=first_step or None)
        self._bar = tqdm(total=last_step, initial=first_step, unit="step", dynamic_ncols=True, smoothing=0.05)
        self._since, self._tokens = time.perf_counter(), 0

    def __enter__(self) -> "Log":
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.close()
        self._curves.close()
        self._file.close()

    def step(self, num_tokens: int) -> None:
        self._tokens += num_tokens
        self._bar.update()

    def write(self, kind: str, step: int, **numbers: float) -> None:
        self._line(kind, step, numbers)
        for name, number in numbers.items():
            self._curves.add_scalar(f"{kind}/{name}", number, step)
        self._bar.set_postfix({name: f"{number:.4g}" for name, number in numbers.items()})

    def speed(self) -> float:
        """Target tokens a second since it was last asked."""
        now = time.perf_counter()
        speed = self._tokens / (now - self._since)
        self._since, self._tokens = now, 0
        return speed

    def sample(self, step: int, source: str, reference: str, translation: str) -> None:
        self._line("sample", step, {"source": source, "reference": reference, "translation": translation})
        self._curves.add_text("sample", f"{source}\n\n{translation}\n\n{reference}", step)
        self._bar.write(f"  {source}\n  -> {translation}\n   = {reference}")

    def _line(self, kind: str, step: int, content: dict[str, Any]) -> None:
        self._file.write(json.dumps({"kind": kind, "step": step, **content}, ensure_ascii=False) + "\n")
        self._file.flush()
