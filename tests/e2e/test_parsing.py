"""The page Parsing in a browser."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from viz_app.server.launch import running_app


@pytest.fixture(scope="module")
def tree_app(tree_checkpoint: Path) -> Iterator[str]:
    """The app on a checkpoint that writes trees."""
    with running_app(tree_checkpoint) as address:
        yield address


def test_brackets_and_words_show_their_attention(page: Page, tree_app: str) -> None:
    page.goto(f"{tree_app}/parsing?text=It+rains.&beam_size=1&hypotheses=1")
    tree = page.get_by_role("group", name="Tree", exact=True)
    root = tree.locator("[data-node='0']")
    root.click()
    expect(root).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_text("was written, at position 1 of")).to_be_visible()
    page.get_by_text("Closed", exact=True).click()
    expect(
        page.get_by_text(re.compile(r"was written, at position [2-9]\d* of|was written, at position 1\d+ of"))
    ).to_be_visible()
    word = tree.get_by_role("button", name=re.compile("^rains, attention 0\\."))
    word.focus()
    page.keyboard.press("Enter")
    expect(word).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_text("the word rains")).to_be_visible()
    page.keyboard.press("ArrowUp")
    expect(tree.locator(".bracket:focus")).to_have_count(1)
    expect(page.get_by_test_id("stException")).to_have_count(0)
