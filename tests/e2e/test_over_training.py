"""The page "Over training" in a real browser."""

import re
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.e2e.idle import open_page, wait_until_idle
from tests.e2e.navigation import enter


def test_arrow_keys_move_through_the_training(page: Page, app: str, history_file: Path) -> None:
    open_page(page, f"{app}/over_training?text=&beam_size=1")  # without a sentence the shipped one is not measured
    for label, text in (("Training", str(history_file)), ("Sentence", "Where?")):
        box = page.get_by_label(label, exact=True)
        enter(box, text)
        wait_until_idle(page)
    assert "history" not in page.url
    expect(page.get_by_text("last snapshot equals its search").first).to_be_visible()  # others are being measured
    slider = page.get_by_role("slider", name="Training steps")
    slider.focus()
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_text("Step 100: ")).to_be_visible()
    expect(page).to_have_url(re.compile("trained_steps=100"))
    wait_until_idle(page)
    cells = page.get_by_role("group", name="Roles of heads by step").get_by_role("button")
    cells.first.click()
    expect(page.get_by_text("Step 0: ")).to_be_visible()
    expect(page).to_have_url(re.compile(r"trained_head=1\.1"))
    page.keyboard.press("p")  # Play
    expect(page.get_by_text("Step 300: ")).to_be_visible()
    expect(page.get_by_role("button", name="Play")).to_be_visible()  # it has stopped at the end
