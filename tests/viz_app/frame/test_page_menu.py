"""The navigation without a browser."""

from streamlit.testing.v1 import AppTest

from tests.viz_app.pages import Start, opened
from viz_app.frame import page_menu
from viz_app.page_list import PAGES, VIEWS


def menu(app: AppTest) -> dict[str, str]:
    shown = {each.proto.label: each.proto.page for each in app.sidebar.get("page_link")}
    return {page.title: shown[page.title] for page in PAGES}


def row(app: AppTest) -> dict[str, str]:
    """The addresses of the links above the page, by their labels."""
    links = [each.proto for each in app.main.get("page_link")]
    return {each.label: each.page for each in links if each.label in [view.title for view in VIEWS]}


def test_the_menu_leads_to_the_view_that_was_seen_last_and_a_page_has_its_views_in_a_row(start: Start) -> None:
    app = opened(start(text="Where?", beam_size="1"), "positions")
    assert menu(app)["Paper"] == "positions"
    assert menu(app)["Heads"] == "heads"
    opened(app, "alignment")
    assert menu(app)["Paper"] == "positions"
    assert menu(app)["Heads"] == "alignment"
    assert row(app) == {"All heads": "heads", "Alignment": "alignment"}
    assert row(opened(app, "step_through")) == {"One token": "step_through", "One step of training": "training_step"}
    assert row(opened(app, "corpus")) == {}


def test_every_view_belongs_to_one_page() -> None:
    assert [page_menu.page_of(view) for view in VIEWS] == [page for page in PAGES for _ in page.views]
