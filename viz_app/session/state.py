"""State of one visitor: objects, values of widgets, and values in the address.

Outside the components, the only module that reads or writes `st.session_state`.
"""

from collections.abc import Callable, Collection, Hashable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import streamlit as st
from streamlit.errors import StreamlitAPIException

T = TypeVar("T")


def session_key(kind: type[object]) -> str:
    """Key in `st.session_state` of the session's object of a class."""
    return f"{kind.__module__}.{kind.__qualname__}"


def session_object(kind: type[T]) -> T:
    """Return the session's object of a class, created without arguments on first use."""
    key = session_key(kind)
    if key not in st.session_state:
        st.session_state[key] = kind()
    return st.session_state[key]


def put_in_address(name: str, value: str | list[str]) -> None:
    """Set a query parameter that belongs to no widget; an empty value removes it."""
    current = st.query_params.get_all(name)
    wanted = [value] if isinstance(value, str) else value
    if not value and current:
        del st.query_params[name]
    elif value and current != wanted:
        st.query_params[name] = wanted


@dataclass
class _Presets:
    """For each widget that `Widget.preset_for` has set: what its value depends on."""

    made_for: dict[str, Hashable] = field(default_factory=dict[str, Hashable])


@dataclass(frozen=True)
class Widget(Generic[T]):
    """A widget whose value is read or set elsewhere than where it is drawn.

    Attributes:
        key: of the widget, and its name in the address where it is bound to that.
    """

    key: str

    @property
    def value(self) -> T | None:
        """The widget's value; None before it is drawn or set."""
        return st.session_state.get(self.key)

    @property
    def requested(self) -> Any:
        """The widget's value or, before it is drawn, the text that the address has for it."""
        return st.session_state.get(self.key, st.query_params.get(self.key))

    def set(self, value: T) -> None:
        """Set the value. Call it before the widget is drawn, or in a callback."""
        st.session_state[self.key] = value

    def preset(self, value: T) -> None:
        """Set a first value and write it to the address.

        A bound widget writes to the address only what differs from its default. A default that depends on the sentence
        would be another one for whoever opens the link, so such a value is preset instead.
        """
        self.set(value)
        texts: Any = value
        with suppress(StreamlitAPIException):  # it was drawn before: then the widget writes the address
            put_in_address(self.key, texts)

    def preset_for(self, source: Hashable, default: Callable[[], T]) -> None:
        """Preset the widget on first use, and again whenever `source` changes.

        On first use, a value in the address comes first.
        """
        made_for = session_object(_Presets).made_for
        if made_for.get(self.key, source) != source or (self.key not in made_for and self.requested is None):
            self.preset(default())
        made_for[self.key] = source

    def keep_within(self, options: Collection[T], default: T) -> None:
        """Set the default if the current value is not among the options any more."""
        if self.value is not None and self.value not in options:
            self.set(default)
