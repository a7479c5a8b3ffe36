"""The page Positions in a real browser: the encoding, and a rotation that is checked as it is rotated by keyboard."""

import re

from playwright.sync_api import Page, expect

from tests.e2e.downloads import downloaded
from tests.e2e.idle import open_page, wait_until_idle


def test_the_encoding_is_drawn_and_its_rotation_checked(page: Page, app: str) -> None:
    open_page(page, f"{app}/positions?text=Where%3F&beam_size=1")
    expect(page.get_by_text("Encoding: a row for each position")).to_be_visible()
    expect(page.locator(".js-plotly-plot .heatmaplayer image")).to_be_visible()
    assert downloaded(page, "SVG")[0] == "positions-encoding.svg"
    page.get_by_role("radio", name="First layer").click()
    cells = page.get_by_role("img", name=re.compile("^Content to position, L1 H1, "))
    cells.press("ArrowDown")
    cells.press("ArrowRight")
    cells.press("Enter")
    expect(page.get_by_text(re.compile("whose sum is the score"))).to_be_visible()
    expect(page.get_by_text("products sum to the score").first).to_be_visible()
    expect(page).to_have_url(re.compile(r"products=scores\.encoder_self\.1\.1\.1\.2"))
    wait_until_idle(page)
    page.get_by_role("radio", name="Rotation").click()
    expect(page.get_by_text("rotated by k = 5 differs")).to_be_visible()
    wait_until_idle(page)
    page.get_by_test_id("stSlider").filter(has_text="k").get_by_role("slider").last.focus()
    page.keyboard.press("ArrowRight")
    checked = page.get_by_text(re.compile(r"rotated by k = 6 differs from PE\(pos \+ 6\) by at most [0-9]e\u2212"))
    expect(checked).to_be_visible()
    expect(page).to_have_url(re.compile("offset=6"))
