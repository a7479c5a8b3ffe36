"""The page "What heads write" in a real browser: a word, an alternative and a head are chosen by click and keyboard."""

import re

from playwright.sync_api import Page, expect

from tests.e2e.idle import open_page, wait_until_idle


def test_a_click_on_a_head_shows_its_terms_and_opens_it(page: Page, app: str) -> None:
    open_page(page, f"{app}/contributions?text=Where%3F&beam_size=1")
    expect(page.get_by_text("terms sum to the logit").first).to_be_visible()
    bars = page.get_by_role("group", name="Contributions by layer and part")
    for layer in (1, 2, 1):  # a bar stays clickable
        bars.get_by_role("button", name=re.compile(rf"^Cross-attention, L{layer}: ")).click()
        expect(page).to_have_url(re.compile(rf"term=cross\+L{layer}\+H"))
        wait_until_idle(page)
    cell = page.get_by_role("button", name=re.compile(r"^L2, Cross-attention, H3: "))
    cell.click()
    expect(cell).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_text("Cross L2 H3 contributes")).to_be_visible()
    expect(page.locator(".map .heads")).to_contain_text("Cross L2 H3")  # one click opens the head
    expect(page).to_have_url(re.compile(r"term=cross\+L2\+H3"))
    wait_until_idle(page)
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Cross L2 H2 contributes")).to_be_visible()
    wait_until_idle(page)
    page.get_by_text("mean of all").click()
    expect(page.get_by_text(re.compile(r"^The logit of .* minus that of .mean of all"))).to_be_visible()
    wait_until_idle(page)
    page.get_by_role("button", name="Open on Heads").click()
    expect(page).to_have_url(re.compile(r"/heads"))
    expect(page.get_by_text("L2 H2", exact=True).first).to_be_visible()
