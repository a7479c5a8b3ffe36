"""State of one visitor: objects, values of widgets, and values in the address.

Outside the components, the only module that reads or writes `st.session_state`.
"""

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import streamlit as st
from streamlit.errors import StreamlitAPIException
from streamlit.runtime.scriptrunner import get_script_run_ctx

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
        found = st.session_state[key] = kind()
        return found


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


def is_history_navigation() -> bool:
    """Whether this run shows an address to which the visitor went back or forward."""
    context = get_script_run_ctx(suppress_warning=True)
    return context is not None and context.is_history_navigation


def is_left_out(name: str) -> bool:
    """Whether the visitor went back or forward to an address without a parameter.

    The parameter is then at its default. An address that a change of page has just made has no parameter at all, and
    leaves out none.
    """
    kept = session_object(_Kept)
    has_others = any(key in st.query_params for key in kept.values)
    return is_history_navigation() and name not in st.query_params and (has_others or _address() == kept.first)


def put_in_address(name: str, value: str | list[str]) -> None:
    """Set a query parameter that belongs to no widget; an empty value removes it."""
    current = st.query_params.get_all(name)
    wanted = [value] if isinstance(value, str) else value
    if not value and current:
        del st.query_params[name]
    elif value and current != wanted:
        st.query_params[name] = wanted


def _address() -> str:
    return f"{st.context.url} {sorted(st.query_params.to_dict().items())}"


@dataclass
class _Kept:
    """Records of `Widget.restore` and `Widget.keep` about the widgets, by their keys.

    Attributes:
        values: the last value of each.
        known: the texts that were read from the address or written to it.
        first: the address with which the session began.
    """

    values: dict[str, Any] = field(default_factory=dict[str, Any])
    known: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    first: str = field(default_factory=_address)


@dataclass
class _Presets:
    """For each widget that `Widget.preset_for` has set: what its value depends on."""

    made_for: dict[str, Hashable] = field(default_factory=dict[str, Hashable])


@dataclass
class _Labels:
    """The labels of the options of each widget that `Widget.show_labels` has seen."""

    shown: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])


def keep_selected() -> None:
    """Keep the options that all widgets have selected though their names change.

    Call it in a callback. The browser knows options by their names, and would send the old names, which are no longer
    options.
    """
    for key, value in list(st.session_state.items()):
        texts: list[Any] = list(value) if isinstance(value, list | tuple) else [value]
        if texts and all(isinstance(each, str | int | float) and not isinstance(each, bool) for each in texts):
            st.session_state[key] = value


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

    def requested_of(self, names: Mapping[T, str]) -> T | None:
        """Return the widget's option or, before it is drawn, that of the address.

        None if it is not among `names`.

        Args:
            names: what the widget displays for each option, and writes to the address.
        """
        found = self.requested
        return next((option for option, name in names.items() if found in (option, name)), None)

    def set(self, value: T) -> None:
        """Set the value. Call it before the widget is drawn, or in a callback."""
        st.session_state[self.key] = value

    def restore(self, default: T, parse: Callable[[str], T], *, is_old: bool = False) -> T:
        """Set the widget to a new value in the address, or else to the session's.

        Call it before the widget is drawn. With `keep`, for widgets above every page. The browser can keep a value in
        the address by itself (`bind`), but on a change of page it drops those of widgets in closed menus, and all
        before the page has been drawn. An address may also lag behind, so a text that was in it before is only taken
        again if the visitor went back or forward to it.

        Args:
            parse: read the address's text; it raises a ValueError if the text has no possible value.
            is_old: the value that the browser has sent is outdated, so take the kept one.

        Returns:
            The value, which the widget also takes as its default: a browser that changed the page early has no other.
        """
        kept = session_object(_Kept)
        text, known = st.query_params.get(self.key), kept.known.setdefault(self.key, set())
        if text is not None and (is_history_navigation() or text not in known):
            known.add(text)
            with suppress(ValueError):
                self.set(parse(text))
        elif is_left_out(self.key):
            self.set(default)
        elif is_old:
            self.set(kept.values.get(self.key, default))
        if self.key not in st.session_state:
            self.set(kept.values.get(self.key, default))
        return st.session_state[self.key]

    def keep(self, value: T, default: T) -> None:
        """Remember a drawn widget's value; write it to the address unless the default."""
        kept, text = session_object(_Kept), "" if value == default else str(value)
        kept.values[self.key] = value
        kept.known.setdefault(self.key, set()).add(text)
        put_in_address(self.key, text)

    def preset(self, value: T, shown: Callable[[T], str] | None = None) -> None:
        """Set a first value and write it to the address.

        A bound widget writes to the address only what differs from its default. A default that depends on the sentence
        would differ for a visitor who opens the link, so such a value is preset instead.

        Args:
            shown: the widget's `format_func`, if it has one.
        """
        self.set(value)
        texts: Any = shown(value) if shown else value
        with suppress(StreamlitAPIException):  # it was drawn before: then the widget writes the address
            put_in_address(self.key, texts)

    def preset_for(self, source: Hashable, default: Callable[[], T], shown: Callable[[T], str] | None = None) -> None:
        """Preset the widget on first use, and again whenever `source` changes.

        On first use, and if the visitor went back or forward, a value in the address comes first.
        """
        made_for = session_object(_Presets).made_for
        is_new = made_for.get(self.key, source) != source or (self.key not in made_for and self.requested is None)
        if is_new and not (is_history_navigation() and self.key in st.query_params):
            self.preset(default(), shown)
        made_for[self.key] = source

    def keep_within(self, options: Collection[T], default: T) -> None:
        """Set the default if the current value is not among the options any more."""
        if self.value is not None and self.value not in options:
            self.set(default)

    def show_labels(self, labels: Iterable[str]) -> None:
        """Send the value to the browser again if labels of the options have changed.

        Call it before drawing. The browser shows the label of the selected option, and keeps it while the value is the
        same: another sentence or model would leave the old label in the box.
        """
        shown, found = session_object(_Labels).shown, tuple(labels)
        if self.value is not None and shown.get(self.key, found) != found:
            self.set(self.value)
        shown[self.key] = found
