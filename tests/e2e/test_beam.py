"""The page Beam in a browser: stepping through the search, and selecting a pruned candidate."""

import re

from playwright.sync_api import Locator, Page, expect

from tests.e2e.idle import open_page, wait_until_idle
from tests.e2e.navigation import go_to, shown_translation

ADDRESS = "{}/beam?text=Where+is+the+station%3F&beam_size=2&hypotheses=1"


def node(page: Page, position: int, rank: int) -> Locator:
    return page.locator(f'[data-position="{position}"][data-rank="{rank}"]')


def test_a_candidate_becomes_the_current_translation(page: Page, app: str) -> None:
    """An inner one with the best translation through it, cut off or not; a pruned one, which ends there."""
    open_page(page, ADDRESS.format(app))
    whole = page.locator("[data-side=target] .piece")
    inner = page.locator(".node.best").nth(2)
    expect(inner).to_be_visible()
    complete = page.locator(".node.best").count()
    inner.click()
    expect(inner).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".node.way")).to_have_count(complete)  # marked to its end
    expect(shown_translation(page)).to_have_text(re.compile("^1: "))
    wait_until_idle(page)
    page.get_by_role("button", name="Cut off here").click()
    expect(whole).to_have_count(4)  # three tokens and </s>
    expect(page.locator(".node.way")).to_have_count(3)
    expect(inner).to_have_attribute("aria-pressed", "true")
    wait_until_idle(page)
    page.get_by_role("button", name="Show it completed").click()
    expect(page.locator(".node.way")).to_have_count(complete)
    expect(shown_translation(page)).to_have_text(re.compile("^1: "))
    wait_until_idle(page)

    pruned = page.get_by_role("button", name=re.compile("position 1, .* pruned at once")).first
    pruned.click()
    expect(pruned).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".description")).to_contain_text("Pruned: 2 candidates that do not end rank above it.")
    expect(shown_translation(page)).to_have_text(re.compile("^Forced: "))
    expect(whole).to_have_count(2)  # the token and </s>
    wait_until_idle(page)
    page.get_by_role("link", name="See its attention").click()
    expect(page.get_by_role("group", name="Heads", exact=True)).to_be_visible()
    expect(shown_translation(page)).to_have_text(re.compile("^Forced: "))


def test_the_keyboard_steps_through_the_search(page: Page, app: str) -> None:
    open_page(page, ADDRESS.format(app))
    slider = page.get_by_role("slider", name="Step")
    slider.focus()
    for key in ("Home", "ArrowRight"):
        page.keyboard.press(key)
    expect(page.locator("output")).to_have_text(re.compile("^2 of"))
    expect(node(page, 2, 0)).to_be_visible()
    expect(node(page, 3, 0)).to_be_hidden()
    node(page, 1, 0).focus()
    for key in ("ArrowRight", "ArrowLeft", "ArrowDown"):
        page.keyboard.press(key)
    expect(page.locator("[data-position='2']:focus")).to_have_count(1)
    page.keyboard.press("ArrowUp")
    expect(node(page, 1, 0)).to_be_focused()
    wait_until_idle(page)
    page.get_by_role("link", name="See its attention").click()
    expect(page.get_by_role("group", name="Heads", exact=True)).to_be_visible()
    go_to(page, "beam")
    expect(page.locator("output")).to_have_text(re.compile("^2 of"))  # the step is kept
