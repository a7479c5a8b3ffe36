"""Scored words as a table."""

from collections.abc import Sequence

import pandas as pd

from core.analysis.word_scores.scored_lines import WordScore


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
