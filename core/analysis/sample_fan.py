"""Samples of a model beside the hypotheses of its beam, and the tokens that samples are drawn from.

A beam shows the translations that a search finds; samples show how probable the model finds translations of any kind,
those that it finds too short or wrong included (Eikema & Aziz 2020).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from core.analysis.declaration import Columns
from core.decoding import FREE, Constraints, Sampling
from core.decoding.sampling import PLAIN, filtered
from core.files.tabular import as_columns
from core.results import ScoredText
from core.translator import Translator


@dataclass(frozen=True)
class SampleFan:
    """Hypotheses of a beam search, best first, and samples, in the order in which they were drawn."""

    hypotheses: tuple[ScoredText, ...]
    samples: tuple[ScoredText, ...]

    @property
    def in_beam(self) -> int:
        """Number of samples that are hypotheses of the beam."""
        found = {each.token_ids for each in self.hypotheses}
        return sum(sample.token_ids in found for sample in self.samples)

    def table(self) -> Columns:
        """A row for each hypothesis and each sample, both counted from 0."""
        rows = (
            (kind, number, each.log_prob, each.score, len(each.tokens), each.finished, each.text)
            for kind, texts in (("hypothesis", self.hypotheses), ("sample", self.samples))
            for number, each in enumerate(texts)
        )
        return as_columns(("kind", "number", "log_prob", "score", "tokens", "finished", "translation"), rows)


def sample_fan(
    translator: Translator,
    text: str,
    sampling: Sampling = PLAIN,
    beam_size: int = 4,
    length_penalty: float = 0.6,
    num_hypotheses: int | None = None,
    constraints: Constraints = FREE,
) -> SampleFan:
    """Search for translations of a text, and draw others at random.

    Args:
        text, beam_size, length_penalty, num_hypotheses, constraints: as for `translate`, for both.

    Raises:
        ValueError: as `Translator.translate` and `Translator.sample`.
    """
    found = translator.translate(text, beam_size, length_penalty, num_hypotheses, constraints=constraints)
    samples = translator.sample(text, sampling, length_penalty, constraints=constraints)
    return SampleFan(found.hypotheses, samples)


@dataclass(frozen=True)
class KeptTokens:
    """The tokens that a sample is drawn from at one position."""

    count: int  # number of them
    mass: float  # their probability by the model
    least: float  # log-probability by the model of the least probable of them, in nats


def kept_tokens(
    translator: Translator,
    source: str,
    target: str | Sequence[int],
    sampling: Sampling = PLAIN,
    constraints: Constraints = FREE,
) -> tuple[KeptTokens, ...]:
    """The tokens that a sample that begins like a target is drawn from, at each of its T positions.

    Raises:
        ValueError: as `Translator.explain` and `Translator.sample`.
    """
    ids, options = translator.token_ids(source, target), translator.setup.options(1, constraints=constraints)
    with torch.inference_mode(), translator.inspect() as model:
        logits = model(translator.batch([ids.source]), translator.batch([ids.fed]))[0].float().cpu()
    log_probs = logits.log_softmax(-1)  # [T, V]
    allowed = log_probs.clone()
    for position, row in enumerate(allowed):
        row[torch.tensor(options.excluded_at(position), dtype=torch.long)] = -torch.inf
    kept = filtered(allowed, sampling).isfinite()
    least = log_probs.masked_fill(~kept, torch.inf).amin(-1)
    mass = log_probs.exp().masked_fill(~kept, 0).sum(-1)
    numbers = zip(kept.sum(-1).tolist(), mass.tolist(), least.tolist(), strict=True)
    return tuple(KeptTokens(*each) for each in numbers)
