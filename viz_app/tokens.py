"""Tokens and hypotheses as HTML and as tables. Tokens may be anything, so each is escaped."""

import html
import math
from collections.abc import Sequence

import pandas as pd

from core import Explanation, ScoredText
from core.analysis.words import is_special, readable
from core.tokenizer import SPACE_MARK

MOST_TINT = 60  # per cent of colour behind a token that had no chance


def token_text(tokens: Sequence[str], log_probs: Sequence[float]) -> str:
    """The text as its tokens: the less likely one was, the stronger its background; numbers on hover."""
    spans = [_token(token, log_prob, first=index == 0) for index, (token, log_prob) in enumerate(zip(tokens, log_probs, strict=True))]
    return f'<p class="token-text">{"".join(spans)}</p>'


def _token(token: str, log_prob: float, first: bool) -> str:
    probability = math.exp(log_prob)
    name = html.escape(readable(token).removeprefix("\u00b7"))
    title = html.escape(f"{readable(token)}: log-probability {log_prob:.3f}, probability {probability:.3f}")
    if is_special(token):
        return f' <span class="token special" title="{title}">{html.escape(token)}</span>'
    space = " " if token.startswith(SPACE_MARK) and not first else ""
    return f'{space}<span class="token" title="{title}" style="--tint: {MOST_TINT * (1 - probability):.0f}%">{name}</span>'


def token_table(explanation: Explanation) -> pd.DataFrame:
    """What the model put out at each position, how likely it was, and what it would rather or else have put out."""
    runners_up = [
        ", ".join(f"{readable(token)} {math.exp(log_prob):.2f}" for token, log_prob in alternatives if token != predicted)
        for predicted, alternatives in zip(explanation.predicted_tokens, explanation.alternatives, strict=True)
    ]
    return pd.DataFrame(
        {
            "token": [readable(token) for token in explanation.predicted_tokens],
            "log_prob": explanation.log_probs,
            "probability": [math.exp(log_prob) for log_prob in explanation.log_probs],
            "others": runners_up,
        },
        index=pd.RangeIndex(1, len(explanation.predicted_tokens) + 1, name="position"),
    )


def hypothesis_table(hypotheses: Sequence[ScoredText], chosen: int) -> str:
    """The n-best list, best first, the chosen one marked."""
    rows = "".join(
        f"<tr{' class=chosen' if index == chosen else ''}><td>{index + 1}</td><td>{html.escape(hypothesis.text) or '<i>empty</i>'}</td>"
        f"<td>{hypothesis.score:.2f}</td><td>{hypothesis.log_prob:.2f}</td><td>{len(hypothesis.tokens)}</td></tr>"
        for index, hypothesis in enumerate(hypotheses)
    )
    heads = "<th></th><th>Hypothesis</th><th>score</th><th>log-prob</th><th>tokens</th>"
    return f'<table class="hypotheses"><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>'
