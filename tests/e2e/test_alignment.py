"""Linking words by mouse and by keyboard, in a real browser."""

import pytest
from playwright.sync_api import Locator, Page, expect


@pytest.fixture
def alignment(page: Page, app: str) -> Page:
    """The page Alignment; the untrained model's translation has a word at least."""
    page.goto(f"{app}/alignment?text=A+dog+runs.&beam_size=1")
    expect(word(page, "Source", 0)).to_be_visible()
    return page


def word(page: Page, side: str, index: int) -> Locator:
    return page.get_by_role("group", name=f"{side} words").get_by_role("button").nth(index)


def links(page: Page) -> Locator:
    return page.get_by_role("textbox", name="Gold links")


def test_two_clicks_link_two_words_and_unlink_them(alignment: Page) -> None:
    expect(alignment.get_by_text("every head is ranked")).to_be_visible()
    for expected in ("1-0", ""):
        word(alignment, "Target", 0).click()
        expect(word(alignment, "Target", 0)).to_have_attribute("aria-pressed", "true")
        word(alignment, "Source", 1).click()
        expect(links(alignment)).to_have_value(expected)
        expect(word(alignment, "Target", 0)).to_have_attribute("aria-pressed", "false")
    expect(alignment.get_by_text("every head is ranked")).to_be_visible()


def test_the_keyboard_links_words_and_keeps_its_place(alignment: Page) -> None:
    word(alignment, "Source", 0).focus()
    for key in ("Enter", "Escape", "ArrowDown", "Enter", "ArrowRight", "Home", "Enter"):
        alignment.keyboard.press(key)
    expect(links(alignment)).to_have_value("1-0")
    expect(alignment.locator(".gold path")).to_have_count(1)
    expect(word(alignment, "Target", 0)).to_be_focused()


def test_hovering_a_word_leaves_what_meets_it(alignment: Page) -> None:
    word(alignment, "Target", 0).hover()
    expect(alignment.locator(".value").first).to_be_visible()
    alignment.mouse.move(0, 0)
    expect(alignment.locator(".value")).to_have_count(0)


def test_words_are_never_html(page: Page, app: str) -> None:
    page.goto(f"{app}/alignment?text=<img/src=x/onerror=document.title='broken'>&beam_size=1")
    expect(word(page, "Source", 0)).to_be_visible()
    assert page.locator(".stMain img").count() == 0
    assert page.title() != "broken"
