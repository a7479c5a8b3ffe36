"""Links of a head in one sentence, as a line of text."""

from core.analysis.alignment.first_head import HeadLinks
from viz_app.drawing.display_text import isolated, plain
from viz_app.language import joined, marked, tr

ABOUT_LINKS = marked("""
A target word is linked to the source word with the largest weight in the row that predicts it. Named are a few words
that get more than half of that weight. The **other heads** are the mean of all heads in the upper half of the layers,
in which words that attract many rows count less. The head shown first for a sentence is the one that agrees most with
it: such heads usually agree with ALTI's contributions too. The links show where a head attends, not why the model chose
a word.
""")


def links_text(name: str, links: HeadLinks) -> str:
    """Describe links in Markdown, such as `L5 H3 here: Hund from dog.`; the name is "" if the head was just named."""
    pairs = joined(
        tr("**{target}** from {source}", target=_word(target), source=_word(source)) for target, source in links.pairs
    )
    numbers = {"agreeing": links.agreeing, "words": links.words}
    if name and not pairs:
        return tr("{name} links {agreeing} of {words} words like the other heads.", name=name, **numbers)
    agreeing = tr("It links {agreeing} of {words} words like the other heads.", **numbers)
    if not pairs:
        return agreeing
    return f"{tr('{name} here: {pairs}.', name=name, pairs=pairs) if name else f'{pairs}.'} {agreeing}"


def _word(text: str) -> str:
    return isolated(plain(text))
