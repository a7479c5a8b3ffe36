"""Fields of the address: when they are read, and when they are written.

`address.py` declares them. A view is written to the address as a whole at the end of a run, or of a part of a page that
runs alone. It is read when a session begins, and when the visitor goes back or forward: then each field takes its value
from the address when it is drawn next. What the address leaves out is at its default. In the browser,
`server/frame.html` makes one step of the history of all that follows a click or key.
"""

import functools
import json
from collections.abc import Callable, Collection, Generator, Hashable, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from threading import local
from typing import Any, Generic, ParamSpec, TypeVar
from urllib.parse import quote, urlencode

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from viz_app.page_list import VIEWS
from viz_app.session.address_codecs import Codec
from viz_app.session.state import Widget, follow, page_part, session_object

T = TypeVar("T")
P = ParamSpec("P")
FORMER_LABELS = Path(__file__).with_name("former_labels.json")
FROM_OPTIONS = ("selectbox", "segmented_control", "pills", "radio", "select_slider", "multiselect")
FROM_RANGE = ("slider", "number_input")


@dataclass
class Visit:
    """The address of a session."""

    number: int = 0  # of the addresses that the visitor has come to, by a link, back or forward
    texts: dict[str, list[str]] = field(default_factory=dict[str, list[str]])  # of the parameters of the last of them
    page: str | None = None  # the page that it names
    here: str | None = None  # the page that is drawn
    # for each field, the number of the address that it was last read from
    taken: dict[str, int] = field(default_factory=dict[str, int])
    # texts of the fields of the view, which are written to the address
    drawn: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    values: dict[str, Any] = field(default_factory=dict[str, Any])  # the last value of each field that was drawn
    # the fields of each part of a page that can run alone
    parts: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    # what the browser was last told, or what it came with
    written: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    first: tuple[str | None, dict[str, list[str]]] | None = None  # the address with which the session began
    # page, and options or range, of each widget when it was drawn last
    known: dict[str, tuple[Any, ...]] = field(default_factory=dict[str, "tuple[Any, ...]"])
    # what the values that depend on something were made for
    made_for: dict[str, Hashable] = field(default_factory=dict[str, Hashable])


class _Run(local):
    """The run of this thread, and the address of its session, kept because a page needs it hundreds of times."""

    context: object = None
    visit: Visit | None = None


_run = _Run()


def _visit() -> Visit:
    context = get_script_run_ctx(suppress_warning=True)
    if context is None or context is not _run.context or _run.visit is None:
        _run.context, _run.visit = context, session_object(Visit)
    return _run.visit


@dataclass(frozen=True)
class Taken(Generic[T]):
    """The value that an address gives a field."""

    value: T
    is_named: bool  # whether the address has it; if not, or if its text has no possible value, this is the default


@dataclass(frozen=True)
class Field(Widget[T]):
    """A setting that decides a view: a parameter of the address and, for most, a widget with it as its key."""

    codec: Codec[T]
    default: T | None = None  # the value that the address leaves out; None if it depends on the options of the widget
    # whether the first value depends on the sentence or the model, and so always is in the address
    is_preset: bool = False
    in_frame: bool = False  # whether it is drawn above every page

    def __post_init__(self) -> None:
        FIELDS[self.key] = self

    def is_due(self) -> bool:
        """Whether the field is to be read from the address that the visitor has come to."""
        visit = _visit()
        is_here = self.in_frame or visit.page == visit.here
        return is_here and visit.taken.get(self.key, 0) != visit.number

    @property
    def texts(self) -> Sequence[str]:
        """The texts that the address has for the field, until it is read from there."""
        return _visit().texts.get(self.key, ()) if self.is_due() else ()

    def take(self, default: T | None = None, possible: Callable[[T], bool] = lambda _: True) -> Taken[T] | None:
        """Read the field, once for each address that the visitor comes to.

        Returns:
            None if it has been read, or if the address with which the session began leaves it out.
        """
        if not self.is_due():
            return None
        visit = _visit()
        visit.taken[self.key] = visit.number
        texts = visit.texts.get(self.key)
        found: Any = self.default if default is None else default
        if texts is None:
            return Taken(found, is_named=False) if visit.number > 1 else None
        for each in (texts, self._identifiers(texts)):
            with suppress(ValueError):
                if possible(value := self.codec.decode(each)):
                    return Taken(value, is_named=True)
        return Taken(found, is_named=False)

    def _identifiers(self, texts: Sequence[str]) -> list[str]:
        """Return the identifiers of the labels that a former address has."""
        labels = former_labels().get(self.key, {})
        found = [labels.get(text, text) for text in texts]
        return [each for one in found for each in ([one] if isinstance(one, str) else one)]

    def put(self, value: T, default: T | None = None) -> None:
        """Note the value for the address, which leaves out the default."""
        visit = _visit()
        visit.values[self.key] = value
        default = self.default if default is None else default
        if value is None or (value == default and not self.is_preset):
            visit.drawn.pop(self.key, None)
        else:
            visit.drawn[self.key] = self.codec.encode(value)
        for part in _parts.get():
            visit.parts[part].add(self.key)

    def restore(
        self, default: T | None = None, possible: Callable[[T], bool] = lambda _: True, *, is_old: bool = False
    ) -> T:
        """Set the widget from the address if it is due, or else to its last value if it has none, or an old one.

        A value that the browser has sent may be old, see `are_values_old`.
        """
        own: Any = self.value
        taken = self.take(default, possible)
        if taken is not None and (taken.is_named or not self.is_preset):
            own = taken.value
            self.set(own)
        elif own is None or is_old or not possible(own):
            found: Any = self.default if default is None else default
            last = _visit().values.get(self.key, found)
            if (chosen := last if last is None or possible(last) else found) is not None:
                own = chosen
                self.set(own)
        return own  # type: ignore[return-value]

    def selected(self, default: T | None = None, possible: Callable[[T], bool] = lambda _: True) -> T | None:
        """Return the value of a setting without a widget, which clicks set, and note it for the address.

        It is the default at first, and where what was selected is not possible.
        """
        found = self.default if default is None else default
        taken = self.take(found, possible)
        if taken is not None or self.value is None or not possible(self.value):
            self.set(found if taken is None else taken.value)  # type: ignore[arg-type]
        self.put(self.value, found)  # type: ignore[arg-type]
        return self.value

    def draw(
        self,
        widget: Callable[..., Any],
        label: str,
        *arguments: Any,
        default: T | None = None,
        is_old: bool = False,
        **options: Any,
    ) -> T:
        """Draw a widget of Streamlit with the field's value, and note it for the address.

        Args:
            widget: such as `st.selectbox`, or the method of a container.
            arguments: of the widget, after its label, without the value.
            default: if it depends on the options; else the field's own or, without one, the first option.
            is_old: see `restore`.
        """
        possible = _possible(widget.__name__, arguments)
        is_single = widget.__name__ in FROM_OPTIONS[:-1] and options.get("selection_mode") != "multi"
        if default is None and self.default is None and is_single:
            default = next(iter(arguments[0]), None)
        self.restore(default, possible, is_old=is_old)
        self._keep_through(widget.__name__, arguments)
        value = widget(label, *arguments, key=self.key, persist_state="session", **options)
        self.put(value, default)
        return value

    def _keep_through(self, kind: str, arguments: Sequence[Any]) -> None:
        """Set the value again on another page, or with other options or another range.

        To Streamlit that is another widget, which begins without a value.
        """
        visit = _visit()
        limits = arguments[0] if kind in FROM_OPTIONS else arguments if kind in FROM_RANGE else ()
        known = (visit.here, *limits)
        if self.value is not None and visit.known.get(self.key, known) != known:
            self.set(self.value)
        visit.known[self.key] = known

    @property
    def requested(self) -> T | None:
        """The value that the widget will have when it is drawn, as far as that is known."""
        if self.texts:
            with suppress(ValueError):
                return self.codec.decode(self._identifiers(self.texts))
        return self.value

    def preset_for(self, source: Hashable, value: Callable[[], T]) -> None:
        """Set the widget on first use, and again whenever `source` changes; a value in the address comes first."""
        made_for = _visit().made_for
        is_new = self.key not in made_for and self.value is None
        if (is_new or made_for.get(self.key, source) != source) and not self.texts:
            self.set(value())
        made_for[self.key] = source

    def value_for(self, source: Hashable) -> T | None:
        """The value that was drawn last, on any page, if it was preset or set for this source; else None."""
        visit = _visit()
        return visit.values.get(self.key) if visit.made_for.get(self.key) == source else None

    def set_for(self, source: Hashable, value: T) -> None:
        """Set the widget to another value than `preset_for` would, for this source; call it in a callback."""
        self.set(value)
        session_object(Visit).made_for[self.key] = source


FIELDS: dict[str, Field[Any]] = {}
# those that are being drawn, the outermost first
_parts: ContextVar[tuple[str, ...]] = ContextVar("_parts", default=())


@functools.cache
def former_labels() -> dict[str, dict[str, str | list[str]]]:
    """Return the identifiers of options by the labels that addresses had instead, in all languages, by parameter."""
    return json.loads(FORMER_LABELS.read_text(encoding="utf-8"))


def _possible(kind: str, arguments: Sequence[Any]) -> Callable[[Any], bool]:
    """Return whether a widget of Streamlit can have a value."""
    if kind in FROM_OPTIONS:
        options: Collection[Any] = arguments[0]
        return lambda value: all(each in options for each in value) if isinstance(value, list) else value in options
    if kind in FROM_RANGE:
        return lambda value: arguments[0] <= value <= arguments[1]
    return lambda value: True


def is_history_navigation() -> bool:
    """Whether this run shows an address to which the visitor went back or forward."""
    context = get_script_run_ctx(suppress_warning=True)
    return context is not None and context.is_history_navigation


def begin() -> Collection[str]:
    """Begin a run: return the parameters of a new address that the visitor has come to; none in other runs."""
    visit = _visit()
    visit.drawn, visit.here = {}, None
    texts = {name: st.query_params.get_all(name) for name in st.query_params}
    visit.first = visit.first or (st.context.url, texts)
    # A change of page first makes an address without parameters: one that was left before it was written says nothing.
    if visit.number and not (is_history_navigation() and (texts or (st.context.url, texts) == visit.first)):
        return ()
    visit.number += 1
    visit.texts = visit.written = texts
    visit.page = None
    return texts


def on_page(name: str) -> None:
    """Say which page is drawn from here on."""
    visit = _visit()
    visit.here = name
    visit.page = name if visit.page is None else visit.page


def end() -> None:
    """Write the view to the address, with what the page has not drawn yet of the address that the visitor came to."""
    visit = _visit()
    waiting = {name: texts for name, texts in visit.texts.items() if name in FIELDS and FIELDS[name].is_due()}
    wanted = waiting | visit.drawn
    current = {name: st.query_params.get_all(name) for name in st.query_params}
    if wanted == current == visit.written:
        return
    visit.written = wanted
    ordered = {name: wanted[name] for name in current if name in wanted} | wanted
    st.query_params.from_dict({name: texts if len(texts) > 1 else texts[0] for name, texts in ordered.items()})


def page_address(page: str, settings: Mapping[str, str], *, templates: bool = False) -> str:
    """Return the address of a page with this sentence, model and language, relative to the app's.

    Settings of the page are named as in the address; in templates braces stay, for names to be replaced.
    """
    drawn = session_object(Visit).drawn
    frame = [(name, text) for name, texts in drawn.items() if FIELDS[name].in_frame for text in texts]
    own = {name for name, _ in frame} & settings.keys()
    query = urlencode([(name, text) for name, text in frame if name not in own])
    safe = "{}" if templates else ""
    named = [f"{quote(name, safe)}={quote(text, safe)}" for name, text in settings.items()]
    path = "./" if page == VIEWS[0].name else page
    return f"{path}?{'&'.join(filter(None, [query, *named]))}".rstrip("?")


def part_runs_alone() -> bool:
    """Whether this run draws a part of the page, and not what stands above it."""
    context = get_script_run_ctx(suppress_warning=True)
    return context is not None and bool(context.fragment_ids_this_run)


def end_part() -> None:
    """Write the view to the address if a part of the page runs alone."""
    if part_runs_alone():
        end()


def part(function: Callable[P, None], *, key: str = "", run_every: float | None = None) -> Callable[P, None]:
    """Make a function a part of a page that can run alone, as `st.fragment`; keys tell parts of one function apart.

    It, too, writes the address, and goes where a click leads. An analysis the model disagrees with is an error there.
    """
    name = f"{function.__module__}.{function.__qualname__} {key}"

    @functools.wraps(function)
    def drawn(*args: P.args, **kwargs: P.kwargs) -> None:
        follow()
        with _within(name), page_part():
            function(*args, **kwargs)

    return st.fragment(drawn, run_every=run_every)


@contextmanager
def _within(name: str) -> Generator[None]:
    visit = _visit()
    if part_runs_alone():
        for key in visit.parts.get(name, ()):
            visit.drawn.pop(key, None)
    visit.parts[name] = set()
    parts = _parts.get()
    token = _parts.set((*parts, name))
    try:
        yield
    finally:
        _parts.reset(token)
    if not parts:
        end_part()
