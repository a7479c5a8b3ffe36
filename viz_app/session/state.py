"""State of one visitor: one object of each class, kept for the session."""

from typing import TypeVar

import streamlit as st

T = TypeVar("T")


def session_key(kind: type[object]) -> str:
    """Key in `st.session_state` of the session's object of a class."""
    return f"{kind.__module__}.{kind.__qualname__}"


def session_object(kind: type[T]) -> T:
    """Return the session's object of a class, created without arguments on first use."""
    return st.session_state.setdefault(session_key(kind), kind())
