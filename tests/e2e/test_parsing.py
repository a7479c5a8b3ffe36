"""The page Parsing in a browser."""

import re
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.e2e.idle import open_page, wait_until_idle


def test_brackets_and_words_show_their_attention(page: Page, app: str, tree_checkpoint: Path) -> None:
    open_page(page, f"{app}/parsing?text=It+rains.&beam_size=1&hypotheses=1")
    sidebar = page.get_by_test_id("stSidebar")
    sidebar.locator("input[type=file]").set_input_files(tree_checkpoint)
    expect(sidebar.get_by_role("button", name="Close")).to_be_visible()  # until then the tree is the shipped parser's
    wait_until_idle(page)  # until then the shipped parser's tree may stand beside it
    tree = page.get_by_role("group", name="Tree", exact=True)
    root = tree.locator("[data-node='0']")
    root.click()
    expect(root).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_text("was written, at position 1 of")).to_be_visible()
    wait_until_idle(page)
    page.get_by_text("Closed", exact=True).click()
    expect(
        page.get_by_text(re.compile(r"was written, at position [2-9]\d* of|was written, at position 1\d+ of"))
    ).to_be_visible()
    wait_until_idle(page)
    word = tree.get_by_role("button", name=re.compile("^rains, attention 0\\."))
    word.focus()
    page.keyboard.press("Enter")
    expect(word).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_text("the word rains")).to_be_visible()
    wait_until_idle(page)
    page.keyboard.press("ArrowUp")
    expect(tree.locator(".bracket:focus")).to_have_count(1)
