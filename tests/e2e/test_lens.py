"""The page "Layer by layer" in a real browser."""

import re

from playwright.sync_api import Page, expect

from tests.e2e.idle import open_page, wait_until_idle


def test_a_click_on_a_cell_shows_its_best_tokens(page: Page, app: str) -> None:
    open_page(page, f"{app}/lens?text=Where%3F&beam_size=1")
    expect(page.get_by_text("Layers of the encoder")).to_be_visible()
    cells = page.get_by_role("group", name="Most probable token after each layer").get_by_role("button")
    cells.nth(1).hover()  # the mouse is down on one cell while the server answers a click on another one
    page.mouse.down()
    cells.nth(2).dispatch_event("click")
    expect(cells.nth(2)).to_have_attribute("aria-pressed", "true")
    page.mouse.up()
    expect(cells.nth(1)).to_have_attribute("aria-pressed", "true")
    expect(page).to_have_url(re.compile(r"cell=1\.1"))
    wait_until_idle(page)
    cells.nth(1).focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"cell=1\.2"))
    expect(page.get_by_text("last layer equals the model").first).to_be_visible()
