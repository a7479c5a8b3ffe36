"""Previews: drawings of a sentence that was just entered, before the page runs.

A run of a page keeps Streamlit and the browser busy for 0.2 s and more, whatever it draws. So with Enter the browser
first requests the data of some drawings from an address of the server and draws them, and then lets the page run, which
draws the same: see `components/preview.js` and `server/addresses.py`.
"""

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from time import monotonic, time_ns
from typing import Any
from weakref import WeakValueDictionary

from viz_app.language import language, speaking
from viz_app.session.models import Model
from viz_app.session.readings import Current, Reading, Search
from viz_app.session.state import MayHoldModel, session_object

PATIENCE = 0.25  # seconds for a search: the page waits for it, and can neither show its progress nor stop it
MAX_CHARACTERS = 400  # of a sentence: the search takes longer for more

Drawings = Callable[[Reading], dict[str, Any]]  # data by the keys of the components that draw them


class NoPreviewError(Exception):
    """There is no preview of this sentence."""


@dataclass(frozen=True)
class ShownPage:
    """The last run of a page, and the drawings that it offers for other sentences."""

    model: Model
    search: Search
    complete: Callable[[str], str]  # makes what is typed the text to translate
    language: str  # of the interface
    drawings: dict[str, Drawings] = field(default_factory=dict[str, Drawings])  # by place on the page


@dataclass(eq=False)
class Previews(MayHoldModel):
    """The drawings of a session that can be previewed."""

    # names the session in a request; it cannot be guessed
    ticket: str = field(default_factory=lambda: secrets.token_urlsafe(16))
    page: ShownPage | None = None
    # by model and settings of the search, the length of the shortest sentence that took too long
    slow: dict[tuple[str, Search], int] = field(default_factory=dict[tuple[str, Search], int])
    _current: Current = field(default_factory=lambda: session_object(Current))

    def __post_init__(self) -> None:
        _by_ticket[self.ticket] = self

    def forget_model(self, digest: str) -> None:
        """Drop the drawings of a model that is closed."""
        if self.page is not None and self.page.model.digest == digest:
            self.page = None

    def draw(self, typed: str) -> dict[str, tuple[int, Any]]:
        """Return the data of the drawings for a sentence, by the keys of their components.

        They come with the time in microseconds, see `dated` in components/component.py.

        Raises:
            NoPreviewError: the page does not change, explains a forced target, or would have to wait too long.
            ValueError: the text cannot be translated; the page says why.
        """
        if (page := self.page) is None:
            raise NoPreviewError
        text = page.complete(typed)
        search = replace(page.search, text=text)
        is_forced = self._current.forced_for(page.model, search) is not None
        settings = page.model.digest, replace(page.search, text="")
        most = min(MAX_CHARACTERS, self.slow.get(settings, MAX_CHARACTERS + 1) - 1)
        if is_forced or text == page.search.text or not text.strip() or len(text) > most:
            raise NoPreviewError
        end = monotonic() + PATIENCE

        def check_time(_done: int, _most: int) -> None:
            if monotonic() > end:
                self.slow[settings] = len(text)
                raise NoPreviewError

        with speaking(page.language):
            translation = search.run(page.model, check_time)
            reading = Reading(page.model, search, translation, 0, translation.hypotheses[0])
            drawn = [drawings(reading) for drawings in list(page.drawings.values())]
        now = time_ns() // 1000
        return {key: (now, data) for each in drawn for key, data in each.items()}


_by_ticket: WeakValueDictionary[str, Previews] = WeakValueDictionary()


def begin(model: Model, search: Search, complete: Callable[[str], str]) -> str:
    """Forget what the last run of the page offered, and return the ticket with which the browser asks for what this run
    offers; "" if there is no model.
    """
    previews = session_object(Previews)
    previews.page = None if model.explanation is not None else ShownPage(model, search, complete, language())
    return previews.ticket if previews.page is not None else ""


def offer(place: str, drawings: Drawings | None) -> None:
    """Offer drawings for other sentences, in place of those offered before for the same place on the page; None: none.

    They are made in another thread, which knows no visitor.
    """
    if (page := session_object(Previews).page) is None:
        return
    if drawings is None:
        page.drawings.pop(place, None)
    else:
        page.drawings[place] = drawings


def preview(ticket: str, typed: str) -> dict[str, tuple[int, Any]]:
    """Return the data of a session's drawings for a sentence, see `Previews.draw`.

    Raises:
        NoPreviewError: there is no such session, or as `Previews.draw`.
        ValueError: as `Previews.draw`.
    """
    if (previews := _by_ticket.get(ticket)) is None:
        raise NoPreviewError
    return previews.draw(typed)
