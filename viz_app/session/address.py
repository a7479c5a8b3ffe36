"""The address of a view: its fields, when they are read, and when they are written.

A view is written to the address as a whole at the end of a run, or of a part of a page that runs alone. It is read when
a session begins, and when the visitor goes back or forward: then each field takes its value from the address when it is
drawn next. What the address leaves out is at its default. In the browser, `server/frame.html` makes one step of the
history of all that follows a click or key.
"""

from collections.abc import Callable, Collection, Generator, Hashable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, Generic, Literal, ParamSpec, TypeVar

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from viz_app.language import IN_ADDRESS, LANGUAGES
from viz_app.session.address_codecs import INTEGER, NUMBER, SWITCH, TEXT, Codec, choice
from viz_app.session.state import Widget, session_object

T = TypeVar("T")
P = ParamSpec("P")
FIRST_EXAMPLE = "A little girl in a pink dress is climbing up a set of stairs."
FROM_OPTIONS = ("selectbox", "segmented_control", "pills", "radio", "select_slider", "multiselect")
FROM_RANGE = ("slider", "number_input")


@dataclass
class _Visit:
    """The address of a session.

    Attributes:
        number: of the addresses that the visitor has come to, by a link, back or forward.
        texts: of the parameters of the last of them.
        page: the page that it names.
        here: the page that is drawn.
        taken: for each field, the number of the address that it was last read from.
        drawn: texts of the fields of the view, which are written to the address.
        values: the last value of each field that was drawn.
        parts: the fields of each part of a page that can run alone.
        within: the parts that are being drawn.
        made_for: what the values that depend on something were made for.
        written: what the browser was last told, or what it came with.
        first: the address with which the session began.
    """

    number: int = 0
    texts: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    page: str | None = None
    here: str | None = None
    taken: dict[str, int] = field(default_factory=dict[str, int])
    drawn: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    values: dict[str, Any] = field(default_factory=dict[str, Any])
    parts: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    within: list[str] = field(default_factory=list[str])
    written: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    first: tuple[str | None, dict[str, list[str]]] | None = None
    made_for: dict[str, Hashable] = field(default_factory=dict[str, Hashable])


@dataclass(frozen=True)
class Taken(Generic[T]):
    """The value that an address gives a field.

    Attributes:
        is_named: whether the address has it; if not, or if its text has no possible value, this is the default.
    """

    value: T
    is_named: bool


@dataclass(frozen=True)
class Field(Widget[T]):
    """A setting that decides a view: a parameter of the address and, for most, a widget with it as its key.

    Attributes:
        default: the value that the address leaves out; None if it depends on the sentence, the model or other fields,
            and stands in the address always.
        in_frame: whether it is drawn above every page.
    """

    codec: Codec[T]
    default: T | None = None
    in_frame: bool = False

    def __post_init__(self) -> None:
        """Add the field to `FIELDS`."""
        FIELDS[self.key] = self

    def is_due(self) -> bool:
        """Whether the field is to be read from the address that the visitor has come to."""
        visit = session_object(_Visit)
        is_here = self.in_frame or visit.page == visit.here
        return is_here and visit.taken.get(self.key, 0) != visit.number

    @property
    def texts(self) -> Sequence[str]:
        """The texts that the address has for the field, until it is read from there."""
        return session_object(_Visit).texts.get(self.key, ()) if self.is_due() else ()

    def take(self, default: T | None = None, possible: Callable[[T], bool] = lambda _: True) -> Taken[T] | None:
        """Read the field, once for each address that the visitor comes to.

        Returns:
            None if it has been read, or if the address with which the session began leaves it out.
        """
        if not self.is_due():
            return None
        visit = session_object(_Visit)
        visit.taken[self.key] = visit.number
        texts: Any = visit.texts.get(self.key)
        found: Any = self.default if default is None else default
        if texts is None:
            return Taken(found, is_named=False) if visit.number > 1 else None
        try:
            value = self.codec.decode(texts)
        except ValueError:
            return Taken(found, is_named=False)
        return Taken(value, is_named=True) if possible(value) else Taken(found, is_named=False)

    def put(self, value: T, default: T | None = None) -> None:
        """Note the value for the address, which leaves out the default."""
        visit = session_object(_Visit)
        visit.values[self.key] = value
        default = self.default if default is None else default
        if value is None or value == default:
            visit.drawn.pop(self.key, None)
        else:
            visit.drawn[self.key] = self.codec.encode(value)
        for part in visit.within:
            visit.parts[part].add(self.key)

    def restore(
        self, default: T | None = None, possible: Callable[[T], bool] = lambda _: True, *, is_old: bool = False
    ) -> T:
        """Set the widget from the address if it is due, or else to its last value if it has none.

        Args:
            is_old: the value that the browser has sent is outdated: take the last one.
        """
        found: Any = self.default if default is None else default
        if (taken := self.take(default, possible)) is not None:
            self.set(taken.value)
        elif self.value is None or is_old or not possible(self.value):
            value = session_object(_Visit).values.get(self.key, found)
            self.set(value if value is None or possible(value) else found)
        return self.value  # type: ignore[return-value]

    def draw(
        self, widget: Callable[..., Any], label: str, *arguments: Any, default: T | None = None, **options: Any
    ) -> T:
        """Draw a widget of Streamlit with the field's value, and note it for the address.

        Args:
            widget: such as `st.selectbox`, or the method of a container.
            arguments: of the widget, after its label, without the value.
            default: if it depends on the options; else the field's own or, without one, the first option.
        """
        possible = _possible(widget.__name__, arguments)
        if default is None and self.default is None and widget.__name__ in FROM_OPTIONS[:-1]:
            default = next(iter(arguments[0]), None)
        self.restore(default, possible)
        value = widget(label, *arguments, key=self.key, persist_state="session", **options)
        self.put(value, default)
        return value

    def preset(self, value: T) -> None:
        """Set a value that depends on the sentence, before the widget is drawn; one in the address comes first."""
        if not self.texts:
            self.set(value)

    def preset_for(self, source: Hashable, value: Callable[[], T]) -> None:
        """Preset the widget on first use, and again whenever `source` changes."""
        made_for = session_object(_Visit).made_for
        if self.value is None or made_for.get(self.key, source) != source:
            self.preset(value())


FIELDS: dict[str, Field[Any]] = {}


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


def begin() -> None:
    """Begin a run: look whether the visitor has come to a new address."""
    visit = session_object(_Visit)
    visit.drawn, visit.within, visit.here = {}, [], None
    texts = {name: st.query_params.get_all(name) for name in st.query_params}
    visit.first = visit.first or (st.context.url, texts)
    # A change of page first makes an address without parameters: one that was left before it was written says nothing.
    if not visit.number or (is_history_navigation() and (texts or (st.context.url, texts) == visit.first)):
        visit.number += 1
        visit.texts = visit.written = texts
        visit.page = None


def on_page(name: str) -> None:
    """Say which page is drawn from here on."""
    visit = session_object(_Visit)
    visit.here = name
    visit.page = name if visit.page is None else visit.page


def end() -> None:
    """Write the view to the address, with what the page has not drawn yet of the address that the visitor came to."""
    visit = session_object(_Visit)
    waiting = {name: texts for name, texts in visit.texts.items() if name in FIELDS and FIELDS[name].is_due()}
    wanted = waiting | visit.drawn
    current = {name: st.query_params.get_all(name) for name in st.query_params}
    if wanted == current == visit.written:
        return
    visit.written = wanted
    for name in FIELDS:
        if current.get(name) != wanted.get(name):
            if name in wanted:
                st.query_params[name] = wanted[name]
            else:
                del st.query_params[name]


def part(function: Callable[P, None], *, run_every: float | None = None) -> Callable[P, None]:
    """Make a function a part of a page that can run alone, as `st.fragment` does: then it, too, writes the address."""
    name = f"{function.__module__}.{function.__qualname__}"

    @wraps(function)
    def drawn(*args: P.args, **kwargs: P.kwargs) -> None:
        with _within(name):
            function(*args, **kwargs)

    return st.fragment(drawn, run_every=run_every)


@contextmanager
def _within(name: str) -> Generator[None]:
    visit, context = session_object(_Visit), get_script_run_ctx(suppress_warning=True)
    runs_alone = context is not None and bool(context.fragment_ids_this_run)
    if runs_alone:
        visit.within = []  # what an interrupted run has left
        for key in visit.parts.get(name, ()):
            visit.drawn.pop(key, None)
    visit.parts[name] = set()
    visit.within.append(name)
    yield
    visit.within.pop()
    if runs_alone and not visit.within:
        end()


# the frame of every page
LANGUAGE = Field(IN_ADDRESS, choice({code: code for code in LANGUAGES}), in_frame=True)
SENTENCE = Field("text", TEXT, FIRST_EXAMPLE, in_frame=True)
BEAM_SIZE = Field("beam_size", INTEGER, 4, in_frame=True)
LENGTH_PENALTY = Field("length_penalty", NUMBER, 0.6, in_frame=True)
NUM_HYPOTHESES = Field("hypotheses", INTEGER, 4, in_frame=True)
WHOLE_WORDS = Field("words", SWITCH, True)
HIDE_SPECIAL = Field("hide_special", SWITCH, True)
VIEW: Field[Literal["Lines", "Map", "Table", "BertViz"]] = Field(
    "view", choice({"lines": "Lines", "map": "Map", "table": "Table", "bertviz": "BertViz"}), "Lines"
)
