"""A visible change is one step of the browser's Back button."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.idle import open_page, wait_until_idle
from tests.e2e.navigation import enter


def new_sentence(page: Page) -> None:
    enter(page.get_by_label("Sentence", exact=True), "Who?")


def selected_head(page: Page) -> None:
    page.locator(".head-grid .cell, .cell").nth(3).click()


def selected_word(page: Page) -> None:
    words = page.locator(".st-key-sentence-words")
    words.get_by_role("button", name="Where", exact=True).click()


def other_view_of_the_page(page: Page) -> None:
    page.get_by_role("link", name="Alignment", exact=True).click()


def other_page(page: Page) -> None:
    page.get_by_role("link", name="Compare", exact=True).click()


def switched_toggle(page: Page) -> None:
    opened_menu(page)
    page.get_by_text("Whole words", exact=True).click()


def opened_menu(page: Page) -> None:
    page.get_by_role("button", name="More").click()
    expect(page.get_by_text("Whole words", exact=True)).to_be_visible()
    wait_until_idle(page)


def other_view(page: Page) -> None:
    page.get_by_role("radio", name="Table", exact=True).click()


CHANGES = [new_sentence, selected_head, selected_word, other_view_of_the_page, other_page, switched_toggle, other_view]


@pytest.mark.new_tab  # the history of a tab has at most 50 entries
@pytest.mark.parametrize("change", CHANGES, ids=[each.__name__ for each in CHANGES])
def test_a_change_is_one_entry_of_the_history(page: Page, app: str, change: Callable[[Page], None]) -> None:
    open_page(page, f"{app}/heads?beam_size=1&text=Where+is+it%3F")
    wait_until_idle(page)
    before = page.url
    entries = page.evaluate("history.length")
    change(page)
    page.wait_for_function("before => location.href != before", arg=before)
    wait_until_idle(page)
    assert page.evaluate("history.length") - entries == 1


@pytest.mark.new_tab
def test_opening_a_link_is_one_entry_and_back_undoes_the_last_change(page: Page, app: str) -> None:
    page.goto(f"{app}/heads?beam_size=1&text=Where+is+it%3F", wait_until="commit")
    entries = page.evaluate("history.length")
    wait_until_idle(page)
    assert page.evaluate("history.length") == entries  # what the app adds to the address belongs to it
    switched_toggle(page)
    wait_until_idle(page)
    other_page(page)
    wait_until_idle(page)
    words = page.get_by_test_id("stCheckbox").filter(has_text="Whole words").locator("input")
    page.go_back()
    wait_until_idle(page)
    assert "/heads?" in page.url
    opened_menu(page)
    expect(words).not_to_be_checked()
    page.go_back()
    wait_until_idle(page)
    expect(words).to_be_checked()
    assert "words=" not in page.url
    page.go_forward()
    wait_until_idle(page)
    expect(words).not_to_be_checked()
