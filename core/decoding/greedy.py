"""Greedy search over any scorer of next tokens."""

from collections.abc import Sequence

import torch

from core.decoding.next_tokens import NextLogits, most_probable_tokens, no_token_error
from core.decoding.states import Hypothesis, SearchOptions


@torch.inference_mode()
def greedy_search(
    next_logits: NextLogits, limits: Sequence[int], options: SearchOptions, device: torch.device | str = "cpu"
) -> list[Hypothesis]:
    """Take the most probable token at every position, until `</s>`; of the options, the size of the beam is ignored.

    Raises:
        ValueError: the constraints leave no room for `</s>`.
        NonFiniteError: no token has a finite log-probability.
    """
    for limit in limits:
        options.constraints.check_limit(limit)
    hypotheses: list[Hypothesis] = [Hypothesis()] * len(limits)
    searched, sentences = list(range(len(limits))), None
    token_ids = torch.full((len(limits), 1), options.bos_id, device=device)
    while searched:
        logits = next_logits(token_ids, torch.zeros_like(token_ids), sentences)
        position = len(hypotheses[searched[0]].token_ids)
        best = most_probable_tokens(logits, 1, options.excluded_at(position))
        tokens: list[int] = best[0].flatten().tolist()
        token_log_probs: list[float] = best[1].flatten().tolist()
        for sentence, token_id, token_log_prob in zip(searched, tokens, token_log_probs, strict=True):
            if token_log_prob == -torch.inf:
                raise no_token_error(position, options.excluded_at(position), logits.size(-1))
            hypotheses[sentence] = hypotheses[sentence].continued(token_id, token_log_prob, options)
        kept = [
            row
            for row, sentence in enumerate(searched)
            if not hypotheses[sentence].finished and len(hypotheses[sentence].token_ids) < limits[sentence]
        ]
        sentences = torch.tensor(kept, device=device) if len(kept) < len(searched) else None
        searched = [searched[row] for row in kept]
        token_ids = torch.tensor([[tokens[row]] for row in kept], device=device)
    return hypotheses
