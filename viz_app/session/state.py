"""State of one visitor: objects, and values of widgets.

Outside the components, the only module that reads or writes `st.session_state`.
"""

from collections.abc import Callable, Collection, Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from viz_app.drawing.display_text import sentence_case
from viz_app.language import VisitorLanguage, language, use_visitors
from viz_app.page_list import script_of

T = TypeVar("T")


def session_key(kind: type[object]) -> str:
    """Key in `st.session_state` of the session's object of a class."""
    return f"{kind.__module__}.{kind.__qualname__}"


def session_object(kind: type[T]) -> T:
    """Return the session's object of a class, created without arguments on first use."""
    key = session_key(kind)
    try:  # one look-up: every text of a page asks for the visitor's language
        return st.session_state[key]
    except KeyError:
        created = st.session_state[key] = kind()
        return created


use_visitors(partial(get_script_run_ctx, suppress_warning=True), lambda: session_object(VisitorLanguage))


class _Dictionaries(dict[str, dict[Any, Any]]):
    """Dictionaries of a session, by name."""


def session_dict(name: str) -> dict[Any, Any]:
    """Return the session's dictionary of this name, empty at first; its values may not hold a model."""
    return session_object(_Dictionaries).setdefault(name, {})


def kept(name: str, made_for: object, make: Callable[[], T]) -> T:
    """Return the value that an earlier run has made, while what it was made for is equal and the language is the same.

    For texts and the data of drawings, which a run in which nothing has changed then neither computes nor formats.

    Args:
        name: of the value in the session; only the last one is kept.
        made_for: all that the value depends on. Of a reading take its `identity`: the reading itself would keep a model
            in memory that the visitor has closed. The value may not hold one either.
    """
    values, whole = session_dict("kept"), (language(), made_for)  # by name, with what they were made for
    known = values.get(name)
    if known is None or known[0] != whole:
        known = values[name] = whole, make()
    return known[1]


class MayHoldModel:
    """Session object that may hold a model.

    The model would stay in memory after the visitor has closed it.
    """

    def forget_model(self, digest: str) -> None:
        """Drop a closed model."""
        raise NotImplementedError


def forget_model(digest: str) -> None:
    """Let all objects of the session drop a closed model."""
    for held in list(st.session_state.values()):
        if isinstance(held, MayHoldModel):
            held.forget_model(digest)


def keep_selected() -> None:
    """Keep the options that all widgets have selected though their names change.

    Call it in a callback: the browser knows options by their names, and would send old ones, which are none now.
    """
    for key, value in list(st.session_state.items()):
        texts: list[Any] = list(value) if isinstance(value, list | tuple) else [value]
        if texts and all(isinstance(each, str | int | float) and not isinstance(each, bool) for each in texts):
            st.session_state[key] = value


@dataclass(frozen=True)
class Widget(Generic[T]):
    """A widget whose value is read or set elsewhere than where it is drawn."""

    key: str  # of the widget

    @property
    def value(self) -> T | None:
        """The widget's value; None before it is drawn or set."""
        return st.session_state.get(self.key)

    def set(self, value: T) -> None:
        """Set the value. Call it before the widget is drawn, or in a callback."""
        st.session_state[self.key] = value

    def keep_within(self, options: Collection[T], default: T) -> None:
        """Set the default if the current value is not among the options any more."""
        if self.value is not None and self.value not in options:
            self.set(default)

    def show_labels(self, labels: Iterable[str]) -> None:
        """Send the value to the browser again if labels of the options have changed.

        Call it before drawing. The browser shows the label of the selected option, and keeps it while the value is the
        same: another sentence or model would leave the old label in the box.
        """
        shown, current = session_dict("labels"), tuple(labels)
        if self.value is not None and shown.get(self.key, current) != current:
            self.set(self.value)
        shown[self.key] = current


class _PartEndsError(Exception):
    """The rest of a part of a page is not drawn; what is missing has been said."""


@contextmanager
def refusals_shown() -> Generator[None]:
    """Show the message of a `ValueError` of the block, which ends the `part` of the page."""
    try:
        yield
    except ValueError as error:
        st.error(sentence_case(str(error)))
        raise _PartEndsError from error


@contextmanager
def page_part() -> Generator[None]:
    """End the block where there is a refusal or no memory, or where the model disagrees with an analysis: of a changed
    model no number is shown.
    """
    try:
        yield
    except _PartEndsError:
        pass
    except ValueError as error:
        from core.analysis.agreement import DisagreementError  # imports torch: the page is drawn before
        from core.files.process_memory import NoRoomError

        if not isinstance(error, (NoRoomError, DisagreementError)):
            raise
        st.error(sentence_case(str(error)))


@dataclass
class _NextPage:
    """The address of the page that the last click leads to; "" if none does."""

    name: str = ""


def lead_to(name: str) -> None:
    """Go to a page, by its address, with the settings that it has there; call it in a callback.

    It sets the fields of the other page, too: a link alone could set nothing. The run after it goes there.
    """
    session_object(_NextPage).name = name


def follow() -> None:
    """Go to the page that a click leads to; call it before anything is drawn."""
    state = session_object(_NextPage)
    name, state.name = state.name, ""
    if name:
        st.switch_page(script_of(name))
