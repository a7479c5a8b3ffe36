"""The sentence bar in a real browser: it is the words and, while one types, the text box."""

import re

from playwright.sync_api import Locator, Page, expect

from tests.e2e.idle import open_page, wait_until_idle
from tests.e2e.navigation import enter, shown_translation


def box(page: Page) -> Locator:
    return page.get_by_role("textbox", name="Sentence", exact=True)


def opacity(locator: Locator) -> str:
    return str(locator.evaluate("e => getComputedStyle(e).opacity"))


def test_the_sentence_stands_there_once_as_words_or_as_a_text_box(page: Page, app: str) -> None:
    """An empty one is a text box."""
    open_page(page, f"{app}/heads?beam_size=2&text=")
    words, text = page.locator(".st-key-sentence-words"), page.locator(".st-key-text")
    assert opacity(text) == "1"
    enter(box(page), "The dog is wet.")
    expect(words.get_by_role("button", name="dog", exact=True)).to_be_visible()
    wait_until_idle(page)
    assert (opacity(words), opacity(text)) == ("1", "0")
    page.get_by_role("button", name="Edit the sentence").click()
    expect(box(page)).to_be_focused()
    assert (opacity(words), opacity(text)) == ("0", "1")
    page.keyboard.type(" Who?")
    page.keyboard.press("Escape")  # as if nothing had been typed
    expect(page.get_by_role("button", name="Edit the sentence")).to_be_focused()
    assert (opacity(words), opacity(text)) == ("1", "0")
    wait_until_idle(page)
    expect(box(page)).to_have_value("The dog is wet.")
    page.keyboard.press("Enter")  # on the pen
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type("Where is it?")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"text=Where\+is\+it"))
    expect(words.get_by_role("button", name="Where", exact=True)).to_be_visible()
    wait_until_idle(page)
    assert (opacity(words), opacity(text)) == ("1", "0")
    expect(page.get_by_role("button", name="Edit the sentence")).to_be_focused()

    # another translation is behind the arrow
    arrow = page.get_by_role("button", name="Other translations")
    expect(shown_translation(page)).to_have_text(re.compile("^1: "))
    arrow.click()
    expect(arrow).to_have_attribute("aria-expanded", "true")
    page.keyboard.press("Escape")
    expect(arrow).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("hypothesis=2"))
    wait_until_idle(page)
    expect(shown_translation(page)).to_have_text(re.compile("^2: "))
    expect(arrow).to_be_focused()
    page.go_back()
    wait_until_idle(page)
    expect(shown_translation(page)).to_have_text(re.compile("^1: "))
