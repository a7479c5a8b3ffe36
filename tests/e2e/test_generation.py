"""The page Generation in a real browser."""

import re

from playwright.sync_api import Page, expect

from tests.e2e.idle import open_page, wait_until_idle


def test_the_keyboard_moves_to_another_iteration(page: Page, app: str) -> None:
    open_page(page, f"{app}/generation?text=Where+is+the+nearest+station%3F&beam_size=1&iterations=3")
    rows = page.locator(".token-rows").last.get_by_role("row")
    expect(rows).to_have_count(3)
    expect(page.get_by_text(re.compile("iteration 3: each target token attends to all"))).to_be_visible()
    page.get_by_role("slider", name="Iteration shown").press("ArrowLeft")
    expect(page.get_by_text(re.compile("iteration 2: each target token attends to all"))).to_be_visible()
    expect(page).to_have_url(re.compile("generation_step=2"))
    wait_until_idle(page)
    expect(page.locator(".token-rows .selected")).to_have_text(re.compile("^Iteration 2"))
