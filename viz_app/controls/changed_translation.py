"""A translation before and after a change of the model."""

from collections.abc import Callable, Hashable, Sequence

import streamlit as st

from core.results import ScoredText
from viz_app.controls.search_progress import stoppable
from viz_app.drawing import ablation
from viz_app.language import tr
from viz_app.session.readings import SearchProgress


def changed_translation(
    tokens: Sequence[str],
    translate: Callable[[SearchProgress], ScoredText] | None,
    search: Hashable,
    key: str,
    unchanged: str = "",
) -> None:
    """Draw a translation and, below it, that of the changed model, with words marked that only one of them has.

    `translate` searches with the changed model; while it is None, the text `unchanged` stands there. `search`
    identifies it, as an equal one stays stopped; the key is that of the buttons that stop it and start it again.
    """
    # three places: a container that takes the place of another one would take over its buttons
    before, waiting, below = st.empty(), st.empty(), st.container()
    old = ablation.words_of(tokens)
    before.html(ablation.marked_text(old, [False] * len(old), "del"))
    if translate is None:
        below.caption(unchanged)
        return
    progress = stoppable(waiting, search, key)
    if progress is None:
        return
    new = ablation.words_of(translate(progress).tokens)
    marks = ablation.difference(old, new)
    waiting.empty()
    before.html(ablation.marked_text(old, marks[0], "del"))
    with below:
        st.html(ablation.marked_text(new, marks[1], "ins"))
        if not any(map(any, marks)):
            st.caption(tr("The translation is the same."))
