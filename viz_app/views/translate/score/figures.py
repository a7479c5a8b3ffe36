"""Scored words, and sentences with their signs, as tables."""

from collections.abc import Sequence

import pandas as pd

from core.analysis.signs.pair_signs import SignName
from core.analysis.signs.thresholds import UNMEASURED, SignThresholds
from core.analysis.word_scores.scored_lines import WordScore
from core.analysis.word_scores.signed_lines import SignedLine, sign_columns


def word_table(words: Sequence[WordScore]) -> pd.DataFrame:
    """Return a row for each word; lines and words are counted from 1."""
    return pd.DataFrame(
        {
            "word": [each.text for each in words],
            "probability": [each.probability for each in words],
            "log_prob": [each.log_prob for each in words],
            "line": [each.line.number for each in words],
            "number": [each.number for each in words],
            "source": [each.line.source for each in words],
            "translation": [each.line.target.text for each in words],
        }
    )


def sign_table(
    lines: Sequence[SignedLine], thresholds: SignThresholds | None, by: SignName | None = None
) -> pd.DataFrame:
    """Return a row for each sentence, with all values; without thresholds, only those of the texts fire.

    Args:
        by: see `SignedLine.marked`.
    """
    return pd.DataFrame(sign_columns(lines, thresholds or UNMEASURED, by))
