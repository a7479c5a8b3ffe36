"""A visible change is one step of the browser's Back button."""

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.idle import wait_until_idle
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


CHANGES = [selected_head, selected_word, new_sentence, other_view, switched_toggle, other_view_of_the_page, other_page]


@pytest.mark.new_tab  # the history of a tab has at most 50 entries
def test_a_link_and_each_change_are_one_entry_and_back_undoes_the_last(page: Page, app: str) -> None:
    page.goto(f"{app}/heads?beam_size=1&text=Where+is+it%3F", wait_until="commit")
    entries = page.evaluate("history.length")
    wait_until_idle(page)
    assert page.evaluate("history.length") == entries  # what the app adds to the address belongs to it
    for number, change in enumerate(CHANGES, 1):
        before = page.url
        change(page)
        page.wait_for_function("before => location.href != before", arg=before)
        wait_until_idle(page)
        assert page.evaluate("history.length") - entries == number, change.__name__
    words = page.get_by_test_id("stCheckbox").filter(has_text="Whole words").locator("input")
    page.go_back()
    wait_until_idle(page)
    assert "/alignment?" in page.url
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
