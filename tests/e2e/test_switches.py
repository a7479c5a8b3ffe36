"""The page Switches in a real browser: turn heads off by click and by keyboard, and back on."""

import re

from playwright.sync_api import Locator, Page, expect

from tests.e2e.idle import open_page, wait_until_idle


def switch(page: Page, layer: int, head: int) -> Locator:
    return page.get_by_role("button", name=re.compile(rf"^L{layer}, Cross, H{head}: "))


def test_heads_are_switched_off_and_back_on(page: Page, app: str) -> None:
    open_page(page, f"{app}/switches?text=Where%3F&beam_size=1")
    expect(page.get_by_text("The translation needs ")).to_be_visible()
    expect(page.locator("div.legend").first).to_contain_text("the scale is logarithmic")
    expect(switch(page, 2, 1)).to_have_attribute(
        "aria-label", re.compile(r": on, off alone: [+\u2212]?\d\.\d{3} nats$")
    )
    switch(page, 2, 1).click()
    expect(switch(page, 2, 1)).to_have_text("off")
    expect(page.get_by_text("a change of")).to_be_visible()
    wait_until_idle(page)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(switch(page, 2, 2)).to_have_attribute("aria-pressed", "true")
    expect(switch(page, 2, 2)).to_be_focused()
    expect(page.get_by_text("Cross: 2 changed")).to_be_visible()
    wait_until_idle(page)
    page.get_by_role("button", name="L1, Encoder: All heads of this layer").click()
    expect(page.get_by_text("Encoder: 4 changed")).to_be_visible()
    wait_until_idle(page)
    page.get_by_role("button", name="All back on").click()
    expect(page.locator(".cell.marked")).to_have_count(0)
