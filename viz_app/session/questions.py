"""The questions that lead from a symptom to the page that shows its cause; call them in callbacks."""

from core.analysis.heads.word_pair import PairHeads
from core.analysis.tokens.words import word_groups
from viz_app.session import address, chosen_heads, readings
from viz_app.session.next_page import lead_to
from viz_app.session.readings import Reading


def ask_why(about: Reading, position: int, rather_than: str | None = None) -> None:
    """Ask why a token was predicted, on the page Why A rather than B, and select its word.

    Args:
        rather_than: piece of the other token; None: the most probable one.
    """
    groups = word_groups(about.explain().predicted_tokens)
    readings.select_words(about, [("target", next(group for group in groups if position in group))])
    address.TOKEN.set_for(about.identity, position)
    if rather_than is not None:
        address.RATHER_THAN.set_for((about.identity, position), rather_than)
    lead_to("contrast")


def ask_where(about: Reading, word: range) -> None:
    """Ask where a source word went, on the page Alignment, and select it.

    Args:
        word: positions of its tokens.
    """
    readings.select_words(about, [("source", word)])
    lead_to("alignment")


def ask_which_head(about: Reading, found: PairHeads) -> None:
    """Ask which head links two words, on the page Heads, with both words and the first head selected."""
    readings.select_words(about, [found.pair.query, found.pair.key])
    chosen_heads.select_head(found.heads[0].head)
    chosen_heads.keep_heads(chosen_heads.heads_widget(found.pair.kind))
    lead_to("heads")
