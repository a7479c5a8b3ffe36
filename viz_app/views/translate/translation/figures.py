"""Tokens and hypotheses as HTML and as tables; tokens may be any text and are escaped."""

import html
import math
from collections.abc import Sequence
from typing import Any

from core import ScoredText
from core.analysis.tokens.edited_target import align_targets
from core.analysis.tokens.words import readable
from core.files.tabular import as_columns
from viz_app.drawing.ablation import difference, marked_runs, words_of
from viz_app.drawing.display_text import decimal
from viz_app.language import localized, tr, tr_count

SEEN = 10  # words that a row of the n-best list surely shows
BEFORE = 4  # words that are kept before a difference further on


def _clamped(text: str, written: str) -> str:
    return f'<div class="text" title="{html.escape(text)}">{written}</div>' if text else f"<i>{tr('empty')}</i>"


def _written(first: ScoredText, other: ScoredText) -> str:
    """Return a hypothesis as HTML, marked where it differs from the first, with the words that it simply lacks.

    A row is cut after a few lines, so a text that differs later begins shortly before.
    """
    old, new = words_of(first.tokens), words_of(other.tokens)
    lacking, added = difference([word.strip() for word in old], [word.strip() for word in new])
    if not any(lacking) and not any(added):
        return html.escape(other.text)
    differs = added.index(True) if any(added) else 0
    start = differs - BEFORE if differs > SEEN else 0
    written = "\u2026" * (start > 0) + marked_runs(new[start:], added[start:], "ins")
    if any(added) or not new:
        return written
    lost = "".join(word for word, is_lacking in zip(old, lacking, strict=True) if is_lacking).strip()
    return f"{written} <small>\u2212 {html.escape(lost)}</small>"


def hypothesis_table(hypotheses: Sequence[ScoredText], chosen: int) -> str:
    """Return the n-best list as HTML, best first, the selected one marked, and words that differ from the first."""
    rows = "".join(
        f"<tr{' class=chosen' if index == chosen else ''}><td>{index + 1}</td>"
        f"<td>{_clamped(hypothesis.text, _written(hypotheses[0], hypothesis))}</td>"
        f"<td>{decimal(hypothesis.score, 2)}</td><td>{decimal(hypothesis.log_prob, 2)}</td>"
        f"<td>{len(hypothesis.tokens)}</td></tr>"
        for index, hypothesis in enumerate(hypotheses)
    )
    names = tr("Rank"), tr("Translation"), tr("score"), tr("log-prob"), tr("tokens")
    heads = "".join(f"<th>{html.escape(name)}</th>" for name in names)
    return f'<table class="hypotheses"><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>'


def comparison_table(own: ScoredText, other: ScoredText) -> dict[str, list[Any]]:
    """Compare two translations: first their sums, then their tokens from the first difference on.

    Returns:
        `row`: "log-prob", "score", then the numbers of the rows; `own`, `other`: the tokens beside each other, above
        them the numbers of tokens; `own_log_prob`, `other_log_prob`; `change`: the second minus the first, where both
        have a token; `same`: whether the tokens are the same.
    """
    pairs = align_targets(own.token_ids, other.token_ids)
    are_same = [
        here is not None and there is not None and own.token_ids[here] == other.token_ids[there]
        for here, there in pairs
    ]
    first = are_same.index(False) if False in are_same else len(pairs)

    def counted(text: ScoredText) -> str:
        return tr_count("{count} token", "{count} tokens", len(text.tokens))

    def side(text: ScoredText, position: int | None) -> tuple[str, float]:
        return ("", math.nan) if position is None else (readable(text.tokens[position]), text.token_log_probs[position])

    rows = [
        (tr("log-prob"), counted(own), own.log_prob, counted(other), other.log_prob, None),
        (tr("score"), "", own.score, "", other.score, None),
        *(
            (str(row + 1), *side(own, pairs[row][0]), *side(other, pairs[row][1]), are_same[row])
            for row in range(first, len(pairs))
        ),
    ]
    names = ("row", "own", "own_log_prob", "other", "other_log_prob", "same")
    columns = as_columns(names, rows)
    changes = zip(columns["own_log_prob"], columns["other_log_prob"], strict=True)
    return {**columns, "change": [there - here for here, there in changes]}


def verdict(own: ScoredText, other: ScoredText) -> str:
    """State which of two translations the model rates more probable, and by how much."""
    if not (own.finished and other.finished):
        return tr(
            "One of the two is unfinished. The missing tokens would lower its probability, so the two cannot be "
            "compared."
        )
    apart = abs(other.log_prob - own.log_prob)
    times = math.exp(min(apart, 700.0))
    ratio = (
        localized(times, f",.{1 if times < 10 else 0}f")
        if times < 1000
        else localized(float(f"{times:.2g}"), ",.0f")
        if times < 1e9
        else f"10^{apart / math.log(10):.0f}"
    )
    if other.log_prob > own.log_prob and other.score > own.score:
        text = tr(
            "The model rates this one about {ratio} times more probable than its own translation: the search missed "
            "it.",
            ratio=ratio,
        )
    elif other.log_prob > own.log_prob:
        text = tr(
            "The model rates this one about {ratio} times more probable than its own translation, but scores it lower "
            "because of its length.",
            ratio=ratio,
        )
    elif other.score > own.score:
        text = tr(
            "The model rates its own translation about {ratio} times more probable. Because of its length this one "
            "scores higher: the search missed it.",
            ratio=ratio,
        )
    else:
        text = tr("The model rates its own translation about {ratio} times more probable.", ratio=ratio)
    return text
