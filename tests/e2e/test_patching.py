"""The page Patching in a real browser: a cell shows its heads, and a sender its positions."""

import re

from playwright.sync_api import Page, expect

from tests.e2e.idle import open_page, wait_until_idle

ADDRESS = "text=The%20old%20house%20is%20cold.&corrupted=The%20old%20train%20is%20cold.&beam_size=1&target=345.28.346.2"


def test_a_click_on_a_cell_shows_its_heads(page: Page, app: str) -> None:
    open_page(page, f"{app}/patching?{ADDRESS}&patched_token=1")
    expect(page.get_by_text("all patched equals the other run").first).to_be_visible()
    cell = page.get_by_role("button", name=re.compile(r"^<s>, Cross-attention, L2: "))
    cell.click()
    expect(cell).to_have_attribute("aria-pressed", "true")
    expect(page).to_have_url(re.compile(r"patch=cross\.2\.1"))
    expect(page.get_by_text(re.compile(r"^Cross-attention L2 at <s>: .*, and each of its heads alone"))).to_be_visible()
    wait_until_idle(page)
    page.get_by_text("Paths between heads").click()
    sender = page.get_by_role("group", name="Effects of heads through").get_by_role("button").first
    expect(sender).to_be_visible()
    wait_until_idle(page)
    sender.click()
    expect(page.get_by_text("by the position of its output")).to_be_visible()
    expect(page).to_have_url(re.compile(r"sender=encoder_self\.1\.1"))
