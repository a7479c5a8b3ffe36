"""The difference of two heads in words."""

from core.analysis.comparison import Difference, largest_differences
from core.analysis.tokens.words import readable
from viz_app.drawing.display_text import isolated, plain
from viz_app.language import joined, localized, marked, quoted, tr

MORE, LESS = marked("{query} attends to {key} {amount} more"), marked("{query} attends to {key} {amount} less")


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


def in_words(difference: Difference, head: int) -> str:
    """Describe the largest differences in a sentence."""
    parts = [
        (tr(MORE) if value > 0 else tr(LESS)).format(
            query=named(difference.map.row_tokens[row]),
            key=named(difference.map.key_tokens[key]),
            amount=localized(abs(value), ".2f"),
        )
        for row, key, value in largest_differences(difference, head)
    ]
    if not parts:
        return tr("This head is the same in both.")
    return tr("In the first, {differences}.", differences="; ".join(parts))


def named(token: str) -> str:
    """Quote a token for use in a sentence."""
    return quoted(isolated(plain(readable(token))))
