"""The questions that lead from a symptom to the page that shows its cause; call them in callbacks."""

from core.analysis.heads.head import Head
from core.analysis.heads.word_pair import PairHeads
from core.analysis.tokens.words import word_groups
from core.trace import stack_of
from viz_app.session import address, chosen_heads, readings
from viz_app.session.readings import Reading
from viz_app.session.state import lead_to, session_object
from viz_app.session.switches import Switches


def ask_why(about: Reading, position: int, rather_than: str | None = None) -> None:
    """Ask why a token was predicted rather than the most probable other piece, or this one, and select its word."""
    groups = word_groups(about.explain().predicted_tokens)
    readings.select_words(about, [("target", next(group for group in groups if position in group))])
    address.TOKEN.set_for(about.identity, position)
    if rather_than is not None:
        address.RATHER_THAN.set_for((about.identity, position), rather_than)
    lead_to("contrast")


def ask_where(about: Reading, word: range) -> None:
    """Ask where a source word, by the positions of its tokens, went, on the page Alignment, and select it."""
    readings.select_words(about, [("source", word)])
    lead_to("alignment")


def select_score(about: Reading, head: Head, query: int, key: int) -> None:
    """Select a score, by the positions of its tokens, on the page Why a head looks there."""
    address.ATTENDING_HEAD.set_for(about.model.digest, str(head))
    address.ATTENDING.set_for((about.identity, stack_of(head.kind)), query)
    address.ATTENDED.set_for((about.identity, head, query), key)
    address.INSTEAD_OF.set("mean")


def ask_why_there(about: Reading, head: Head, query: int, key: int) -> None:
    """Ask why a head looks from one token at another, as `select_score`."""
    select_score(about, head, query, key)
    lead_to("score_components")


def ask_which_map(about: Reading, head: Head, query: int) -> None:
    """Show the map of a head on the page Heads, with the word of a row selected."""
    side = "source" if head.kind == "encoder_self" else "target"
    explanation = about.explain()
    groups = word_groups(explanation.source_tokens if side == "source" else explanation.predicted_tokens)
    readings.select_words(about, [(side, group) for group in groups if query in group])
    _show_map(head)


def ask_without(about: Reading, head: Head) -> None:
    """Ask what the translation is without a head, on the page Switches, with that head alone off."""
    session_object(Switches).switch_off_only(about.model, head)
    lead_to("switches")


def ask_which_head(about: Reading, found: PairHeads) -> None:
    """Ask which head links two words, on the page Heads, with both words and the first head selected."""
    readings.select_words(about, [found.pair.query, found.pair.key])
    _show_map(found.heads[0].head)


def _show_map(head: Head) -> None:
    chosen_heads.select_head(head)
    chosen_heads.keep_heads(chosen_heads.heads_widget(head.kind))
    lead_to("heads")
