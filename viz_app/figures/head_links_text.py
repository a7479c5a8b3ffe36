"""Links of a head in one sentence, as a line of text."""

from core.analysis.alignment.first_head import HeadLinks
from viz_app.figures.display_text import isolated, plain

ABOUT_LINKS = """
A target word is linked to the source word with the largest weight in the row that predicts it. Named are a few words
that get more than half of that weight. The **other heads** are the mean of all heads in the upper half of the layers,
in which words that attract many rows count less. The head shown first for a sentence is the one that agrees most with
it: such heads usually agree with ALTI's contributions too. The links show where a head attends, not why the model chose
a word.
"""


def links_text(name: str, links: HeadLinks) -> str:
    """Describe the links of a head in Markdown: `L5 H3 here: Hund from dog, fand from found.`

    Args:
        name: of the head, or "" if it was just named.
    """
    pairs = ", ".join(f"**{_word(target)}** from {_word(source)}" for target, source in links.pairs)
    agreeing = f"links {links.agreeing} of {links.words} words like the other heads."
    if not pairs:
        return f"{name or 'It'} {agreeing}"
    return f"{f'{name} here: ' if name else ''}{pairs}. It {agreeing}"


def _word(text: str) -> str:
    return isolated(plain(text))
