"""The page "Table 1" in a real browser: the curves, the sliders by keyboard, and measuring anew."""

import re

from playwright.sync_api import Page, expect

from tests.e2e.downloads import downloaded
from tests.e2e.idle import open_page


def test_table_1_is_drawn_moved_and_measured(page: Page, app: str) -> None:
    open_page(page, f"{app}/why?text=Where%3F&beam_size=1")
    expect(page.locator(".table-1 tbody tr")).to_have_count(5)
    expect(page.locator(".chart svg[role=img] .curve").first).to_be_visible()
    expect(page.get_by_text("At n = 64 < d = 512")).to_be_visible()
    page.get_by_role("slider", name="n, positions").focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    expect(page.get_by_text("At n = d = 512")).to_be_visible()
    expect(page).to_have_url(re.compile("why_n=512"))
    assert downloaded(page, "SVG")[0] == "layers-time.svg"
    page.get_by_role("button", name="Measure on this machine").click()
    page.get_by_test_id("stMainBlockContainer").get_by_role("button", name="Stop").click()
    expect(page.get_by_text(re.compile(r"^\d+ of \d+ layers$"))).to_be_visible()
    expect(page.get_by_role("button", name="Continue")).to_be_visible()
