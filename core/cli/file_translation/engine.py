"""Translation of batches of sentences, in this process or in another one."""

import os
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from core.decoding import FREE, Constraints, Sampling
from core.files.file_writing import file_digest
from core.inference.device import Precision
from core.speculative_translation import check_draft, translate_with_draft
from core.translator import Translator

Hypotheses = tuple[str, ...]
"""Translations of one text, best first."""
TranslateTexts = Callable[[list[str]], list[Hypotheses]]
TranslateBatches = Callable[[Iterator[list[str]]], Iterator[tuple[int, list[Hypotheses]]]]
"""Batches of texts -> the index of a batch and its translations, in any order."""


@dataclass(frozen=True)
class Engine:
    """A checkpoint and search options; can be sent to another process."""

    checkpoint: Path
    beam_size: int  # of the search; the number of length candidates in mask-predict
    length_penalty: float
    # threads of each process. Results may depend on their number where two hypotheses tie to rounding.
    threads: int = 1
    precision: Precision = "exact"  # of the search. With `fast`, every process measures which products are fastest.
    iterations: int | None = None  # of mask-predict; None for an autoregressive model
    # checkpoint of a draft model, for speculative decoding with a beam of one, a sentence at a time
    draft: Path | None = None
    n_best: int = 1  # most hypotheses of a text
    # how translations are drawn, a sentence at a time, instead of searched for; None for a search
    sampling: Sampling | None = None
    constraints: Constraints = FREE  # of the search, or of the samples
    prefix: str = ""  # text that every translation begins with

    def load(self) -> TranslateTexts:
        """Load the checkpoint in this process, and set its number of threads."""
        torch.set_num_threads(self.threads)
        return self.with_translator(Translator.from_checkpoint(self.checkpoint, precision=self.precision))

    def with_translator(self, translator: Translator) -> TranslateTexts:
        """As `load`, for a checkpoint that is already loaded."""

        if self.draft is not None:
            draft = Translator.from_checkpoint(self.draft, precision=self.precision)
            check_draft(translator, draft)
            return lambda texts: [
                (translate_with_draft(translator, text, draft, constraints=self.constraints).text,) for text in texts
            ]
        if (sampling := self.sampling) is not None:
            return lambda texts: [
                tuple(sample.text for sample in translator.sample(text, sampling, constraints=self.constraints))
                for text in texts
            ]

        def translate(texts: list[str]) -> list[Hypotheses]:
            translations = translator.translate_batch(
                texts,
                self.beam_size,
                self.length_penalty,
                self.n_best,
                prefixes=[self.prefix] * len(texts) if self.prefix else None,
                iterations=self.iterations or 10,
                constraints=self.constraints,
            )
            return [tuple(hypothesis.text for hypothesis in each.hypotheses) for each in translations]

        return translate

    def in_this_process(self, translator: Translator) -> TranslateBatches:
        """A `TranslateBatches` that translates one batch after the other."""
        translate = self.with_translator(translator)
        return lambda batches: ((index, translate(texts)) for index, texts in enumerate(batches))

    def settings(self) -> dict[str, Any]:
        """Settings that the translations depend on, besides the input."""
        digest = file_digest(self.checkpoint)
        search = {"beam_size": self.beam_size, "length_penalty": self.length_penalty, "precision": self.precision}
        refinement = {} if self.iterations is None else {"iterations": self.iterations}
        lists = {} if self.n_best == 1 else {"n_best": self.n_best}
        samples = {} if self.sampling is None else {"sampling": asdict(self.sampling)}
        forbidden = [list(each) for each in self.constraints.forbidden]  # as JSON has it
        constraints = (
            {} if self.constraints == FREE else {"min_length": self.constraints.min_length, "forbidden": forbidden}
        )
        begun = {"prefix": self.prefix} if self.prefix else {}
        return {"checkpoint_sha256": digest, **search, **refinement, **lists, **samples, **constraints, **begun}


def threads_per_process() -> int:
    """`OMP_NUM_THREADS` if set, else 1: independent processes are faster than threads, which wait for each other."""
    return torch.get_num_threads() if "OMP_NUM_THREADS" in os.environ else 1
