"""Tokens and hypotheses as HTML and as tables. Tokens may be anything, so each is escaped."""

import html
import math
from collections.abc import Sequence

import pandas as pd

from core import Explanation, ScoredText
from core.analysis.words import JOINT, character_groups, is_special, readable, word
from core.tokenizer import SPACE_MARK

NEGLIGIBLE = math.log(0.005)  # reads as 0.00
MOST_TINT = 60  # per cent of colour behind a token that had no chance


def token_text(tokens: Sequence[str], log_probs: Sequence[float]) -> str:
    """The text as its tokens: the less likely one was, the stronger its background; numbers on hover. Bytes of one character are one."""
    spans = [_token(tokens[group.start : group.stop], sum(log_probs[group.start : group.stop]), group.start) for group in character_groups(tokens)]
    return f'<p class="token-text">{"".join(spans)}</p>'


def _token(tokens: Sequence[str], log_prob: float, position: int) -> str:
    probability = math.exp(log_prob)
    name = readable(tokens[0]) if len(tokens) == 1 else word(tokens)
    title = html.escape(f"{name}: log-probability {log_prob:.3f}, probability {probability:.3f}")
    if is_special(tokens[0]):
        return f' <span class="token special" title="{title}">{html.escape(name)}</span>'
    space = " " if tokens[0].startswith(SPACE_MARK) and position > 0 else ""
    tint = f"--tint: {MOST_TINT * (1 - probability):.0f}%"
    return f'{space}<span class="token" title="{title}" style="{tint}">{html.escape(name.removeprefix(JOINT))}</span>'


def token_table(explanation: Explanation) -> pd.DataFrame:
    """What the model put out at each position, how likely it was, and what it would rather or else have put out."""
    runners_up = [
        ", ".join(f"{readable(token)} {math.exp(log_prob):.2f}" for token, log_prob in alternatives if token != predicted and log_prob > NEGLIGIBLE)
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


def _clamped(text: str) -> str:
    safe = html.escape(text)
    return f'<div class="text" title="{safe}">{safe}</div>' if text else "<i>empty</i>"


def hypothesis_table(hypotheses: Sequence[ScoredText], chosen: int) -> str:
    """The n-best list, best first, the chosen one marked."""
    rows = "".join(
        f"<tr{' class=chosen' if index == chosen else ''}><td>{index + 1}</td><td>{_clamped(hypothesis.text)}</td>"
        f"<td>{hypothesis.score:.2f}</td><td>{hypothesis.log_prob:.2f}</td><td>{len(hypothesis.tokens)}</td></tr>"
        for index, hypothesis in enumerate(hypotheses)
    )
    heads = "<th></th><th>Hypothesis</th><th>score</th><th>log-prob</th><th>tokens</th>"
    return f'<table class="hypotheses"><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>'
