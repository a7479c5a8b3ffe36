"""What a reader changes in a translation: another token, a word of their own, or a whole text."""

import streamlit as st

from core.analysis.tokens.edited_target import replace_token
from viz_app.figures.display_text import sentence_case
from viz_app.session import readings

TEXT = "own_text"  # the widget that holds a translation of one's own
FILLED = "own_text_for"  # what it was filled in for
REFUSED_WORD, REFUSED_TEXT = "refused_word", "refused_text"  # of which reading, and why


def choose(about: readings.Reading, position: int, text: str, typed: bool) -> None:
    """Force a token, or a word that was typed, at a position; the search goes on behind it. Before the page runs.

    Args:
        text: the name of a token, or anything if it was `typed`.
    """
    tokenizer, token_ids = about.model.translator.tokenizer, about.hypothesis.token_ids
    st.session_state.pop(REFUSED_WORD, None)
    try:
        prefix = (
            replace_token(tokenizer, token_ids, position, text)
            if typed
            else [*token_ids[:position], tokenizer.token_id(text)]
        )
        prefix = about.model.translator.prefix_ids(about.translation.source, prefix)
    except ValueError as error:
        st.session_state[REFUSED_WORD] = (about.identity, (position, text if typed else "", _sentence(error)))
        return
    readings.force(about.model, about.search, readings.Forced(tuple(prefix)))


def word_problem(about: readings.Reading) -> tuple[int, str, str] | None:
    """Where a word was refused, the word, and why."""
    identity, problem = st.session_state.get(REFUSED_WORD, (None, None))
    return problem if identity == about.identity else None


def fill_in(about: readings.Reading) -> None:
    """Put the translation that is looked at into the box, unless it has been there. To be called before the box is
    drawn.
    """
    if st.session_state.get(FILLED) != about.identity or TEXT not in st.session_state:
        st.session_state[FILLED], st.session_state[TEXT] = about.identity, about.hypothesis.text


def score_text(about: readings.Reading) -> None:
    """Look at the text in the box as a whole translation. Before the page runs."""
    translator, search = about.model.translator, about.search
    st.session_state.pop(REFUSED_TEXT, None)
    try:
        target = readings.Forced(
            target=(*translator.target_ids(st.session_state[TEXT]), translator.model.config.eos_id)
        )
        target.run(about.model, search, lambda _done, _most: None)
    except ValueError as error:
        st.session_state[REFUSED_TEXT] = (about.identity, sentence_case(str(error)))
        return
    readings.force(about.model, search, target)


def text_problem(about: readings.Reading) -> str | None:
    """Why the text in the box was refused."""
    identity, problem = st.session_state.get(REFUSED_TEXT, (None, None))
    return problem if identity == about.identity else None


def num_forced(about: readings.Reading) -> int:
    """How many tokens of what is looked at were forced, from the first on."""
    if about.index != readings.FORCED_INDEX:
        return 0
    return len(about.prefix or about.hypothesis.token_ids)


def step(about: readings.Reading) -> int | None:
    """The position to look into: that of the word selected last, or where the search took over; None if there is
    neither.
    """
    for side, word in reversed(readings.selected_words(about)):
        if side == "target":
            return word.start
    return len(about.prefix) - 1 if about.prefix and _searched_on(about) else None


def origin_text(about: readings.Reading) -> str:
    """How what is looked at came to be, if it is not the best that was found: a sentence."""
    if about.index != readings.FORCED_INDEX:
        return f"Number {about.index + 1} of the {len(about.translation.hypotheses)} best that the search found."
    forced = f"{len(about.prefix)} {'token' if len(about.prefix) == 1 else 'tokens'} forced"
    if about.prefix:
        return f"{forced}, the rest searched." if _searched_on(about) else f"Looked at by the search with {forced}."
    return (
        "Forced: nothing of it was searched."
        if about.hypothesis.finished
        else "A beginning, looked at as if it ended there."
    )


def _searched_on(about: readings.Reading) -> bool:
    """Whether it is the best that begins as it was forced to."""
    return about.forced_as is not None and about.forced_as.target is None


def _sentence(error: ValueError) -> str:
    """As plain text."""
    message = str(error)
    return message[:1].upper() + message[1:] + "."
