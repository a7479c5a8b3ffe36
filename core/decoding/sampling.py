"""Sampling: translations drawn at random from the model, instead of searched for.

Samples show what the model finds probable as a whole, where a beam search shows one corner of it (Eikema & Aziz 2020).
Tokens are drawn from the model's distribution as `filtered`; samples keep the model's own log-probabilities.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import torch
from torch import Tensor

from core.decoding.beam import check_beginning
from core.decoding.constraints import Beginning
from core.decoding.next_tokens import NextLogits, no_token_error
from core.decoding.states import Hypothesis, SearchOptions
from core.files.number_range import SEEDS, NumberRange

RANGES = {
    "num_samples": NumberRange(int, 1, 64),
    "temperature": NumberRange(
        float, 0, 10, above=True, note="for the most probable token each time, search with a beam size of 1"
    ),
    "top_k": NumberRange(int, note="0 keeps all tokens"),
    "top_p": NumberRange(float, 0, 1, above=True, note="1 keeps all tokens"),
    "min_p": NumberRange(float, 0, 1, note="0 keeps all tokens"),
    "seed": SEEDS,
}


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """How samples are drawn; the filters apply in this order, each to what those before it have left.

    Raises:
        ValueError: a value is out of range.
    """

    num_samples: int = 8  # number of samples
    # log-probabilities are divided by it; below 1 samples keep to the probable, above 1 they spread
    temperature: float = 1.0
    top_k: int = 0  # number of tokens to draw from, and those as probable as the last of them; 0 for all
    # draw from the fewest tokens that have this probability together (Holtzman et al. 2020); 1 for all
    top_p: float = 1.0
    # draw from tokens with at least this share of the most probable one's probability (Nguyen et al. 2024)
    min_p: float = 0.0
    seed: int = 0  # the same seed draws the same samples, of which the first do not depend on how many there are

    def __post_init__(self) -> None:
        for name, allowed in RANGES.items():
            allowed.check(name, getattr(self, name))

    def random_numbers(self, text: str) -> list[Random]:
        """A generator for each sample of a text, of this seed."""
        return [Random(f"{self.seed} {number} {text}") for number in range(self.num_samples)]


PLAIN = Sampling()  # the model's own distribution


# --- the filters: log-probabilities [..., V] to the tokens that are kept, always at least one -------------------------


def top_k_kept(log_probs: Tensor, count: int) -> Tensor:
    """The `count` most probable tokens, and all that are as probable as the last of them."""
    least = log_probs.topk(min(count, log_probs.size(-1))).values[..., -1:]
    return log_probs >= least


def top_p_kept(log_probs: Tensor, mass: float) -> Tensor:
    """The fewest tokens that have a probability of at least `mass` together; of equal ones those of smaller ids."""
    ranked = log_probs.sort(dim=-1, descending=True, stable=True)
    probabilities = ranked.values.exp()
    before = probabilities.cumsum(-1) - probabilities
    kept = before < mass * probabilities.sum(-1, keepdim=True)
    kept[..., 0] = True
    return torch.zeros_like(kept).scatter(-1, ranked.indices, kept)


def min_p_kept(log_probs: Tensor, share: float) -> Tensor:
    """The tokens with at least this share of the most probable one's probability."""
    return log_probs >= log_probs.amax(-1, keepdim=True) + math.log(share)


def filtered(log_probs: Tensor, sampling: Sampling) -> Tensor:
    """Distribution that tokens are drawn from.

    Args:
        log_probs: [..., V] of the model; minus infinity for tokens that are not generated.

    Returns:
        [..., V] log-probabilities in float64, minus infinity for tokens that are not kept.
    """
    drawn = (log_probs.double() / sampling.temperature).log_softmax(-1)
    if sampling.top_k:
        drawn = _kept(drawn, top_k_kept(drawn, sampling.top_k))
    if sampling.top_p < 1:
        drawn = _kept(drawn, top_p_kept(drawn, sampling.top_p))
    if sampling.min_p > 0:
        drawn = _kept(drawn, min_p_kept(drawn, sampling.min_p))
    return drawn


def _kept(log_probs: Tensor, kept: Tensor) -> Tensor:
    return log_probs.masked_fill(~kept, -torch.inf).log_softmax(-1)


# --- the search ------------------------------------------------------------------------------------------------------


@torch.inference_mode()
def sample_search(
    next_logits: NextLogits,
    limit: int,
    options: SearchOptions,
    sampling: Sampling,
    random_numbers: Sequence[Random],
    device: torch.device | str = "cpu",
    prefix: Sequence[int] = (),
) -> list[Hypothesis]:
    """Draw translations of one sentence.

    Samples that begin alike are one hypothesis of the model until they part.

    Args:
        limit: largest number of tokens of a translation.
        options: beam size and number of hypotheses are ignored.
        random_numbers: a generator for each sample.
        prefix: tokens that all samples are forced to begin with.

    Returns:
        The samples in the order of their generators, with the model's own log-probabilities.

    Raises:
        ValueError: as `check_beginning`, or no token is allowed at a position.
        NonFiniteError: no token has a finite log-probability.
    """
    check_beginning(Beginning(tuple(prefix)), limit, options)
    samples = [Hypothesis()] * len(random_numbers)
    live, row_of = list(range(len(samples))), dict[tuple[int, ...], int]()
    for position in range(limit):
        beginnings = list(dict.fromkeys(samples[sample].token_ids for sample in live))
        fed = [each[-1] if each else options.bos_id for each in beginnings]
        parents = [row_of[each[:-1]] if each else 0 for each in beginnings]
        rows = torch.tensor([[fed], [parents]], device=device)
        log_probs = next_logits(rows[0], rows[1], None)[0].float().log_softmax(-1).cpu()  # [W, V]
        row_of = {each: row for row, each in enumerate(beginnings)}
        excluded = options.excluded_at(position)
        allowed = log_probs.index_fill(-1, torch.tensor(excluded, dtype=torch.long), -torch.inf)
        if not allowed.amax(-1).isfinite().all():
            raise no_token_error(position, excluded, log_probs.size(-1))
        drawn_from = filtered(allowed, sampling)
        for sample in live:
            row = row_of[samples[sample].token_ids]
            if position < len(prefix):
                token_id = prefix[position]
            else:
                token_id = _drawn(drawn_from[row], random_numbers[sample].random())
            certain = options.first_is_certain and not position and bool(prefix)
            token_log_prob = 0.0 if certain else float(log_probs[row, token_id])
            samples[sample] = samples[sample].continued(token_id, token_log_prob, options)
        live = [sample for sample in live if not samples[sample].finished]
        if not live:
            break
    return samples


def _drawn(log_probs: Tensor, number: float) -> int:
    """Token of [V] at which the probabilities, added up in the order of ids, pass a number from 0 to 1."""
    kept = log_probs.isfinite().nonzero().flatten()
    sums = log_probs[kept].exp().cumsum(-1)
    place = int(torch.searchsorted(sums, number * sums[-1:], right=True))
    return int(kept[min(place, len(kept) - 1)])
