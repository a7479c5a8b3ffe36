"""Cuts on the page Heads in a real browser: a weight of a map, a line and a row are cut by click and keyboard."""

import re

from playwright.sync_api import Page, expect

from tests.e2e.idle import open_page, wait_until_idle


def test_weights_are_cut_and_restored(page: Page, app: str) -> None:
    open_page(page, f"{app}/heads?text=Where%3F&beam_size=1&view=map&cutting=true&heads_cross=L2+H1")
    expect(page.get_by_text("No weight is cut")).to_be_visible()
    cells = page.get_by_role("img", name=re.compile("arrow keys read the cells")).first
    cells.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator(".map .cut")).to_have_count(1)
    expect(page.get_by_text("weights as set").first).to_be_visible()
    expect(page).to_have_url(re.compile(r"cut=cross\+L2\+H1\+row\+1(-\d+)?\+column\+1"))
    wait_until_idle(page)
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".map .cut")).to_have_count(0)
    wait_until_idle(page)
    cells.click(position={"x": 4, "y": 4})
    expect(page.locator(".map .cut")).to_have_count(1)
    wait_until_idle(page)
    page.get_by_text("Lines", exact=True).first.click()
    expect(page.locator(".lines path.cut")).to_have_count(1)
    wait_until_idle(page)
    page.locator(".lines [data-axis=query]").first.click()
    expect(page.get_by_text(re.compile(r"Cross L2 H1 row 1(-\d+)? to 0"))).to_be_visible()
    wait_until_idle(page)
    page.get_by_role("button", name="Remove all").click()
    expect(page.locator(".lines path.cut")).to_have_count(0)
