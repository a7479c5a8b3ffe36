"""The page The paper, section by section: every link leads to a page in the state that it promises."""

from urllib.parse import parse_qs, urljoin, urlsplit

import pytest
from streamlit.testing.v1 import AppTest

from tests.viz_app.pages import Start, opened, reading
from viz_app.session.fields import FIELDS
from viz_app.views.paper.sections.paper_sections import SECTIONS, PaperSection

SHOWN = {  # the drawing that the section is about
    "3.1": "step_walk",
    "3.2.1": "step_walk",
    "3.2.2": "head_grid",
    "3.2.3": "attention_map",
    "3.3": "step_walk",
    "3.4": "step_walk",
    "3.5": "plotly_chart",
    "4": "picture",
    "5.1": "step_walk",
    "5.2": "dataframe",
    "5.3": "picture",
    "5.4": "token_steps",
    "6.1": "beam_tree",
    "6.2": "html",
    "6.3": "constituency_tree",
    "7": "html",
    "Appendix": "appendix_figure",
}


def drawings(app: AppTest) -> list[str]:
    """The components of a page, and the kinds of its other elements."""
    components = [each.proto.component_name.removeprefix("headlight_") for each in app.get("bidi_component")]
    return [*components, *(kind for kind in ("plotly_chart", "html", "dataframe") if app.main.get(kind))]


@pytest.mark.usefixtures("small_pages")
@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.number)
def test_a_link_leads_to_what_it_promises(start: Start, section: PaperSection) -> None:
    address = urlsplit(urljoin("http://localhost/sections", section.address))  # where a browser goes
    app = start(**parse_qs(address.query))
    opened(app, address.path.removeprefix("/"))
    if section.sentence:
        assert reading(app).translation.source == section.sentence
    assert SHOWN[section.number] in drawings(app)
    assert not app.error
    widgets = {each.key: each for kind in ("segmented_control", "toggle", "multiselect") for each in app.get(kind)}
    for name in section.settings.keys() & widgets.keys():
        setting = section.settings[name]
        expected = FIELDS[name].codec.decode(setting if isinstance(setting, list) else [setting])
        assert widgets[name].value == expected
