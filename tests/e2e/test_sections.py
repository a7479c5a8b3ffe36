"""The page The paper, section by section: its links."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.idle import open_page
from viz_app.views.paper.sections.paper_sections import SECTIONS, PaperSection

LABELS = {"encoder_self": "Encoder", "rotation": "Rotation"}
# a section for each kind of drawing: of the project in a grid or a tree, and of Plotly
SHOWN = {"3.2.2": "[role=group][aria-label=Heads] button", "3.5": ".stPlotlyChart", "6.1": ".tree .node"}


def test_every_section_is_there_with_its_link(page: Page, app: str) -> None:
    open_page(page, f"{app}/sections")
    expect(page.get_by_test_id("stLinkButton")).to_have_count(len(SECTIONS))
    links = page.get_by_test_id("stLinkButton").get_by_role("link").all()
    assert [link.get_attribute("href") for link in links] == [section.address for section in SECTIONS]
    with page.context.expect_page() as opened:
        links[3].click()
    expect(opened.value).to_have_url(re.compile("/heads\\?.*kind=joint"))
    opened.value.close()


@pytest.mark.parametrize("section", [section for section in SECTIONS if section.number in SHOWN], ids=list(SHOWN))
def test_a_link_leads_to_what_it_promises(page: Page, app: str, section: PaperSection) -> None:
    open_page(page, f"{app}/{section.address}")
    expect(page.locator(SHOWN[section.number]).first).to_be_visible()
    expect(page.get_by_role("textbox", name="Sentence", exact=True)).to_have_value(section.sentence)
    for name, value in section.settings.items():
        if name in ("kind", "positions_view"):
            expect(page.get_by_role("radio", name=LABELS[value], exact=True)).to_be_checked()
    # the tiny model of the tests does lack characters
    notes = page.get_by_role("alert").filter(has_not_text="vocabulary of the model lacks")
    expect(notes).to_have_count(0)
