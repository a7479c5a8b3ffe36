"""Random scorers of next tokens, and searches with them."""

import itertools
from collections.abc import Sequence

import pytest
import torch
from torch import Tensor

from core.decoding import BeamState, Hypothesis, SearchOptions, beam_steps

PAD, BOS, EOS = 0, 1, 2
WORDS = (3, 4, 5)
VOCAB_SIZE = 6


class ToyScorer:
    """Random but fixed logits for every prefix of every sentence; no model, no cache."""

    def __init__(self, seeds: Sequence[int], eos_bonus: float = 0.0, vocab_size: int = VOCAB_SIZE) -> None:
        self.seeds = list(seeds)
        self.eos_bonus, self.vocab_size = eos_bonus, vocab_size
        self.prefixes: list[list[tuple[int, ...]]] | None = None
        self.widths: list[int] = []
        self.batches: list[int] = []

    def logits_after(self, seed: int, prefix: tuple[int, ...]) -> Tensor:
        generator = torch.Generator().manual_seed(hash((seed, prefix)) % 2**31)
        logits = 2 * torch.randn(self.vocab_size, generator=generator)
        logits[EOS] += self.eos_bonus
        return logits

    def log_probs_of(self, row: int, token_ids: Sequence[int]) -> list[float]:
        """Log-probability of each token, computed from the start."""
        return [
            float(self.logits_after(self.seeds[row], (BOS, *token_ids[:index])).log_softmax(-1)[token_id])
            for index, token_id in enumerate(token_ids)
        ]

    def __call__(self, token_ids: Tensor, parents: Tensor, sentences: Tensor | None) -> Tensor:
        before = self.prefixes or [[()] for _ in self.seeds]
        if sentences is not None:
            rows = sentences.tolist()
            before, self.seeds = [before[row] for row in rows], [self.seeds[row] for row in rows]
        self.widths.append(token_ids.size(1))
        self.batches.append(token_ids.size(0))
        self.prefixes = [
            [
                (*before[row][parent], token_id)
                for token_id, parent in zip(token_ids[row].tolist(), parents[row].tolist(), strict=True)
            ]
            for row in range(token_ids.size(0))
        ]
        return torch.stack(
            [
                torch.stack([self.logits_after(seed, prefix) for prefix in row])
                for seed, row in zip(self.seeds, self.prefixes, strict=True)
            ]
        )


def options(beam_size: int = 4, length_penalty: float = 0.6, num_hypotheses: int = 1) -> SearchOptions:
    return SearchOptions(
        bos_id=BOS,
        eos_id=EOS,
        never=(PAD,),
        beam_size=beam_size,
        length_penalty=length_penalty,
        num_hypotheses=num_hypotheses,
    )


def all_endings(
    scorer: ToyScorer, limit: int, length_penalty: float = 0.6, prefix: tuple[int, ...] = ()
) -> list[tuple[float, tuple[int, ...]]]:
    """Scores and tokens of all translations of the first sentence that end by themselves, the best first."""
    lengths = range(limit - len(prefix))
    endings = ((*prefix, *words, EOS) for length in lengths for words in itertools.product(WORDS, repeat=length))
    return sorted(
        ((sum(scorer.log_probs_of(0, ids)) / ((5 + len(ids)) / 6) ** length_penalty, ids) for ids in endings),
        reverse=True,
    )


def close(one: Sequence[Hypothesis], other: Sequence[Hypothesis]) -> bool:
    return [hypothesis.token_ids for hypothesis in one] == [hypothesis.token_ids for hypothesis in other] and all(
        a.score == pytest.approx(b.score, abs=1e-5) for a, b in zip(one, other, strict=True)
    )


def states_of(scorer: ToyScorer, limit: int, search: SearchOptions) -> list[BeamState]:
    return [state for (state,) in beam_steps(scorer, [limit], search)]
