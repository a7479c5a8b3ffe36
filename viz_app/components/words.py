"""Words to click in any drawing: how a click selects them is told in the same way by all."""

from collections.abc import Callable, Collection
from typing import Literal

import streamlit as st

How = Literal["only", "also", "none"]  # the word alone, it too, no word at all; what is selected already is let go
OnWord = Callable[[str, How], None]


def clicked_word(value: object, known: Collection[str]) -> tuple[str, How] | None:
    """What the browser sent as a word's name, see `choice.links`, and how it is to be selected; None if there is no such word."""
    match value:
        case {"how": "none"}:
            return "", "none"
        case {"word": str(name), "how": "only" | "also" as how} if name and name in known:
            return name, how
        case _:
            return None


def answering(key: str, known: Collection[str], on_word: OnWord) -> Callable[[], None]:
    """What to call when a word of a drawing was clicked, before the page runs again: so of many quick clicks each counts.

    Args:
        key: of the component, which sends a click as `word`.
        known: the names of its words.
        on_word: told the name and how to select it.
    """

    def clicked() -> None:
        if found := clicked_word(st.session_state[key].get("word"), known):
            on_word(*found)

    return clicked
