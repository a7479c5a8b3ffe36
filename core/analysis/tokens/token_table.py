"""The predicted tokens of an explanation, each with what else was likely."""

import math
from collections.abc import Callable
from typing import Any

from core.analysis.tokens.words import readable
from core.results import Explanation
from core.text.phrases import Number, Phrase, listed, marked

NEGLIGIBLE = math.log(0.005)  # reads as 0.00


def token_table(explanation: Explanation, name: Callable[[str], str] = readable) -> dict[str, list[Any]]:
    """Return a row for each position, from 1: the predicted token, its probability, and its alternatives.

    Args:
        name: writes the token of an alternative.
    """
    runners_up = [
        [
            Phrase("{token} {probability}", token=name(token), probability=Number(math.exp(log_prob), ".2f"))
            for token, log_prob in alternatives
            if token != predicted and log_prob > NEGLIGIBLE
        ]
        for predicted, alternatives in zip(explanation.predicted_tokens, explanation.alternatives, strict=True)
    ]
    return {
        "position": list(range(1, len(explanation.predicted_tokens) + 1)),
        "token": [readable(token) for token in explanation.predicted_tokens],
        "log_prob": list(explanation.log_probs),
        "probability": [math.exp(log_prob) for log_prob in explanation.log_probs],
        "others": [listed(others, marked("{first}; {rest}")) if others else "" for others in runners_up],
    }
