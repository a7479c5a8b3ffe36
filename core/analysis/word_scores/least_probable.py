"""The least probable word of a translation, at which pages and commands look first.

A word counts by the product of the probabilities of its pieces, as in `core.analysis.word_scores.scored_lines`.
Punctuation, special tokens and forced tokens are left out: they are no words, or the model has not chosen them.
"""

import math
from collections.abc import Sequence

import torch

from core.analysis.tokens.words import readable, spelled_words, text_word_groups, word, word_groups
from core.results import Explanation
from core.text.phrases import Number, Phrase, marked


def least_probable_word(tokens: Sequence[str], log_probs: Sequence[float], num_forced: int = 0) -> range | None:
    """Positions of the least probable word behind the forced tokens; None without words or log-probabilities."""
    if not log_probs:
        return None
    spelled = [group for group, _ in spelled_words(tokens) if group.start >= num_forced]
    words = spelled or [group for group in text_word_groups(tokens) if group.start >= num_forced]
    return min(words, key=lambda group: math.fsum(log_probs[group.start : group.stop]), default=None)


def least_probable_token(explanation: Explanation) -> int:
    """Position of the predicted token to look at first: the least probable piece of the least probable word.

    Without words the least probable token that is not forced, and the first if no log-probability is known.
    """
    log_probs, first = explanation.log_probs, explanation.num_forced
    group = least_probable_word(explanation.predicted_tokens, log_probs, first) or range(first, len(log_probs))
    return min(group, key=log_probs.__getitem__, default=0)


def least_probable_answer(explanation: Explanation) -> Phrase:
    """The word of `least_probable_token`, and there the most probable other token."""
    tokens, position = explanation.predicted_tokens, least_probable_token(explanation)
    group = next(each for each in word_groups(tokens) if position in each)
    others = ((token, log_prob) for token, log_prob in explanation.alternatives[position] if token != tokens[position])
    other, log_prob = next(others)
    return Phrase(
        marked(
            "The model is least sure of \u201c{word}\u201d: there the piece \u201c{token}\u201d has the probability "
            "{own}, \u201c{other}\u201d {next}."
        ),
        word=word(tokens[group.start : group.stop]),
        token=readable(tokens[position]),
        own=Number(math.exp(explanation.log_probs[position]), ".2f"),
        other=readable(other),
        next=Number(math.exp(log_prob), ".2f"),
    )


def least_probable_source_token(explanation: Explanation) -> int:
    """Position of the source token to look at first: the one that the row of `least_probable_token` attends to most.

    That is by the mean of all heads of cross-attention in the upper half of the layers, special tokens left out.
    """
    words = [position for group in text_word_groups(explanation.source_tokens) for position in group]
    layers = explanation.maps.get("cross", ())
    if not words or not layers:
        return 0
    row = least_probable_token(explanation)
    weights = torch.cat([layer.weights[:, row] for layer in layers[len(layers) // 2 :]]).mean(0)
    return max(words, key=weights.tolist().__getitem__)
