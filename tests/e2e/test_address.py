"""The address in a browser: it has the sentence and the settings."""

import re
from urllib.parse import quote_plus

from playwright.sync_api import Page, expect

from tests.e2e.idle import open_page, wait_until_idle
from tests.e2e.navigation import enter


def test_sentence_and_settings_stay_in_the_address_on_every_page(page: Page, app: str) -> None:
    """Also if the page is changed before the first one has been drawn."""
    page.goto(f"{app}/positions?text=Where%3F&beam_size=2&length_penalty=1.3&hypotheses=2")
    for is_drawn in (False, True):
        if is_drawn:
            wait_until_idle(page)
        page.get_by_role("link", name="Models", exact=True).click()
        expect(page).to_have_url(re.compile(r"/checkpoint\?"))
        for parameter in ("text=Where", "beam_size=2", r"length_penalty=1\.3", "hypotheses=2"):
            expect(page).to_have_url(re.compile(parameter))
        page.get_by_role("link", name="Translate", exact=True).click()
        expect(page.get_by_label("Sentence", exact=True)).to_have_value("Where?")
        expect(page).to_have_url(re.compile(r"/translate\?.*text=Where"))
    page.reload()
    expect(page.get_by_label("Sentence", exact=True)).to_have_value("Where?")


def test_back_and_forward_bring_sentences_and_settings_back(page: Page, app: str) -> None:
    open_page(page, f"{app}/?beam_size=1&text=A+dog+runs.")
    box = page.get_by_label("Sentence", exact=True)
    for text in ("A cat sleeps.", "Where?"):
        enter(box, text)
        expect(page).to_have_url(re.compile(rf"text={re.escape(quote_plus(text))}$"))
        wait_until_idle(page)
    page.get_by_role("button", name="Settings", exact=True).click()
    page.get_by_role("slider", name="Length penalty").press("ArrowRight")
    wait_until_idle(page)
    page.keyboard.press("Escape")
    wait_until_idle(page)
    expect(page).to_have_url(re.compile(r"text=Where.*length_penalty=0\.7"))

    words = page.locator(".st-key-sentence-words")
    for go, text, word, address in (
        (page.go_back, "Where?", "Where", r"text=Where%3F$"),
        (page.go_back, "A cat sleeps.", "cat", r"text=A\+cat\+sleeps\.$"),
        (page.go_back, "A dog runs.", "dog", r"text=A\+dog\+runs\.$"),
        (page.go_forward, "A cat sleeps.", "cat", r"text=A\+cat\+sleeps\.$"),
    ):
        go()
        wait_until_idle(page)
        expect(box).to_have_value(text)
        expect(page).to_have_url(re.compile(address))
        expect(words.get_by_role("button", name=word, exact=True)).to_be_visible()
    enter(box, "Who?")
    expect(page).to_have_url(re.compile(r"text=Who%3F$"))  # the length penalty of later is gone
