"""The sketch of the model beside every page."""

from typing import Any

import pytest

from tests.viz_app.pages import Start, opened
from viz_app.frame import place_in_model
from viz_app.frame.place_in_model import place_of
from viz_app.page_list import VIEWS
from viz_app.session.fields import FIELDS


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The data of the sketches that the app has drawn."""
    sent: list[dict[str, Any]] = []
    monkeypatch.setattr(place_in_model, "_component", lambda data, key: sent.append(data))
    return sent


def test_every_setting_that_says_more_about_a_place_is_a_field() -> None:
    for view in VIEWS:
        place = place_of(view)
        for name in (place.kind, place.stack, *(place.layer.format(kind=kind) for kind in ("cross", "encoder_self"))):
            assert not name or name in FIELDS, view.name


def test_a_page_shows_its_place_and_leads_to_the_figure(start: Start, drawn: list[dict[str, Any]]) -> None:
    opened(start(text="Where?", beam_size="1"), "heads")
    [sketch] = drawn
    assert (sketch["encoder"], sketch["decoder"]) == (2, 2)
    assert sketch["place"]["kinds"] == ["cross"]
    assert (sketch["kind"], sketch["layer"]) == ("kind", "heads_{kind}")
    assert sketch["link"].startswith("./?")
    assert "text=Where%3F" in sketch["link"]


def test_the_figure_itself_has_none(start: Start, drawn: list[dict[str, Any]]) -> None:
    opened(start(text="Where?", beam_size="1"), "overview")
    assert not drawn
