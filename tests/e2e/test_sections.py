"""The page The paper, section by section: every link leads to a page that shows what it promises."""

import re

import pytest
from playwright.sync_api import Page, expect

from viz_app.features.sections.paper_sections import SECTIONS, PaperSection

# what is on the page of each section, as a selector
SHOWN = {
    "3.1": ".walk .step",
    "3.2.1": "canvas.picture",
    "3.2.2": "[role=group][aria-label=Heads] button",
    "3.2.3": "canvas.picture",
    "3.3": ".walk .step",
    "3.4": ".walk .step",
    "3.5": ".stPlotlyChart",
    "5.4": "[aria-label='Translation, token by token']",
    "6.1": ".tree .node",
    "6.3": ".bracket",
}


def test_every_section_is_there_with_its_link(page: Page, app: str) -> None:
    page.goto(f"{app}/sections?tour=off")
    expect(page.get_by_test_id("stLinkButton")).to_have_count(len(SECTIONS))
    links = page.get_by_test_id("stLinkButton").get_by_role("link").all()
    assert [link.get_attribute("href") for link in links] == [section.address for section in SECTIONS]
    with page.context.expect_page() as opened:
        links[3].click()
    expect(opened.value).to_have_url(re.compile("/heads\\?.*kind=Joint"))
    opened.value.close()


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.number)
def test_a_link_leads_to_what_it_promises(page: Page, app: str, section: PaperSection) -> None:
    page.goto(f"{app}/{section.address}")
    expect(page.locator(SHOWN[section.number]).first).to_be_visible()
    expect(page.get_by_role("textbox", name="Sentence", exact=True)).to_have_value(section.sentence)
    for name, value in section.settings.items():
        if name in ("kind", "view", "positions_view", "stack"):
            expect(page.get_by_role("radio", name=value, exact=True)).to_be_checked()
    if "hide_special" in section.settings:
        toggle = page.get_by_test_id("stCheckbox").filter(has_text="Hide special tokens")
        expect(toggle.locator("input")).not_to_be_checked()
    expect(page.get_by_role("alert")).to_have_count(0)
    expect(page.get_by_test_id("stException")).to_have_count(0)
