"""Tokens and hypotheses as HTML and as tables. Tokens may be anything, so each is escaped."""

import html
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from core import Explanation, ScoredText
from core.analysis.tokens.edited_target import align_targets
from core.analysis.tokens.words import readable
from viz_app.figures.display_text import decimal, isolated

if TYPE_CHECKING:  # pandas takes half a second to import: the pictures are on the page before the tables
    import pandas as pd

NEGLIGIBLE = math.log(0.005)  # reads as 0.00


def token_table(explanation: Explanation) -> "pd.DataFrame":
    """What the model put out at each position, how likely it was, and what it would rather or else have put out."""
    import pandas as pd

    runners_up = [
        ", ".join(
            f"{isolated(readable(token))} {math.exp(log_prob):.2f}"
            for token, log_prob in alternatives
            if token != predicted and log_prob > NEGLIGIBLE
        )
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
        f"<td>{decimal(hypothesis.score, 2)}</td><td>{decimal(hypothesis.log_prob, 2)}</td>"
        f"<td>{len(hypothesis.tokens)}</td></tr>"
        for index, hypothesis in enumerate(hypotheses)
    )
    heads = "<th></th><th>Hypothesis</th><th>score</th><th>log-prob</th><th>tokens</th>"
    return f'<table class="hypotheses"><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>'


def score_table(rows: Sequence[tuple[str, ScoredText]]) -> str:
    """Translations below each other with what they are ranked by, the last also as its difference from the first."""
    (_, first), (_, last) = rows[0], rows[-1]
    body = "".join(
        f"<tr><td>{html.escape(name)}</td><td>{decimal(target.score, 3)}</td><td>{decimal(target.log_prob, 3)}</td>"
        f"<td>{len(target.tokens)}</td></tr>"
        for name, target in rows
    )
    changes = (
        (last.score - first.score, 3),
        (last.log_prob - first.log_prob, 3),
        (len(last.tokens) - len(first.tokens), 0),
    )
    change = "".join(f"<td>{decimal(value, digits, sign=True)}</td>" for value, digits in changes)
    heads = "<th></th><th>score</th><th>log-prob</th><th>tokens</th>"
    return (
        f'<table class="scores"><thead><tr>{heads}</tr></thead><tbody>{body}<tr '
        f'class="change"><td>change</td>{change}</tr></tbody></table>'
    )


def comparison_table(own: ScoredText, other: ScoredText) -> "pd.DataFrame":
    """Two translations of one sentence token by token, from the first token on in which they differ: before it all is
    the same.

    Returns:
        `own`, `other`: the tokens beside each other; `own_log_prob`, `other_log_prob`; `change`: the second less the
        first, where both have a token; `same`: whether it is the same one.
    """
    import pandas as pd

    pairs = align_targets(own.token_ids, other.token_ids)

    def same(here: int | None, there: int | None) -> bool:
        return here is not None and there is not None and own.token_ids[here] == other.token_ids[there]

    first = next((row for row, pair in enumerate(pairs) if not same(*pair)), len(pairs))
    rows = [
        {
            "own": "" if here is None else readable(own.tokens[here]),
            "own_log_prob": math.nan if here is None else own.token_log_probs[here],
            "other": "" if there is None else readable(other.tokens[there]),
            "other_log_prob": math.nan if there is None else other.token_log_probs[there],
            "same": same(here, there),
        }
        for here, there in pairs[first:]
    ]
    table = pd.DataFrame(rows, columns=["own", "own_log_prob", "other", "other_log_prob", "same"])
    table.insert(4, "change", table["other_log_prob"] - table["own_log_prob"])
    table.index = pd.RangeIndex(first + 1, len(pairs) + 1, name="row")
    return table


def verdict(own: ScoredText, other: ScoredText) -> str:
    """Which of the two the model finds better, and by how much: a sentence or two."""
    if not (own.finished and other.finished):
        return (
            "One of the two has no end. What is missing would make it less probable still, so the two cannot be "
            "compared."
        )
    apart = abs(other.log_prob - own.log_prob)
    times = math.exp(min(apart, 700.0))
    ratio = (
        f"{times:,.1f}"
        if times < 1000
        else f"{float(f'{times:.2g}'):,.0f}"
        if times < 1e9
        else f"about 10^{apart / math.log(10):.0f}"
    )
    if other.log_prob > own.log_prob:
        found = f"The model finds this one {ratio} times as probable as its own translation"
        missed = ": the search has missed it" if other.score > own.score else ", but ranks it lower for its length"
        return f"{found}{missed}."
    ranked = (
        " Yet by score, for its length, it ranks higher: the search has missed it." if other.score > own.score else ""
    )
    return f"The model finds its own translation {ratio} times as probable.{ranked}"
