"""Words that the difference of two heads leaves out."""

from core.analysis.comparison import Difference
from core.analysis.tokens.words import readable
from viz_app.drawing.display_text import isolated, plain
from viz_app.language import joined, quoted, tr


def agreement(difference: Difference) -> str:
    """Say which words are left out of the difference."""
    if difference.is_whole:
        return tr("Both have the same words on both axes.")
    first, second = (joined(map(named, words)) for words in (difference.first_only, difference.second_only))
    parts = [
        *([tr("{words} (first)", words=first)] if first else []),
        *([tr("{words} (second)", words=second)] if second else []),
    ]
    return tr("Only words shared by both, in the same order, are shown. Left out: {words}.", words="; ".join(parts))


def named(token: str) -> str:
    """Quote a token for use in a sentence."""
    return quoted(isolated(plain(readable(token))))
