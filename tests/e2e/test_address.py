"""The address in a browser that draws slowly: it has the sentence whenever that is typed."""

import re
from urllib.parse import quote_plus

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.idle import open_page, wait_until_idle
from tests.e2e.navigation import enter

PAUSE = 4  # milliseconds between messages of the server, each of which the page then draws on its own
SLOW = """
let last = Promise.resolve();
const listen = WebSocket.prototype.addEventListener;
WebSocket.prototype.addEventListener = function (name, handler, ...rest) {
  const later = (event) => {
    const pause = () => new Promise((done) => setTimeout(done, window.pause ?? 0));
    last = last.then(pause).then(() => handler.call(this, event));
  };
  listen.call(this, name, name === "message" ? later : handler, ...rest);
};
"""


@pytest.mark.new_tab
def test_a_sentence_typed_while_the_tour_goes_away_enters_the_address(page: Page, app: str) -> None:
    page.add_init_script(SLOW)
    open_page(page, f"{app}/score?beam_size=1&text=Where%3F")  # a short page
    box = page.get_by_label("Sentence", exact=True)
    delay = 0
    for delay in (100, 800):
        wait_until_idle(page)
        page.evaluate(f"window.pause = {PAUSE}")
        page.get_by_role("button", name="Skip the tour").click()
        page.wait_for_timeout(delay)
        enter(box, f"{delay}.")
        expect(page).to_have_url(re.compile(rf"text={delay}\..*tour=off"))
        page.evaluate("window.pause = 0")
        page.get_by_role("button", name="Take the tour").click()
        expect(page.get_by_text("1 of 6")).to_be_visible()
        expect(page).to_have_url(re.compile(rf"text={delay}\.$"))
    page.reload()
    expect(box).to_have_value(f"{delay}.")


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


def test_an_impossible_setting_in_the_address_is_ignored(page: Page, app: str) -> None:
    page.goto(f"{app}/translate?tour=off&text=Where%3F&beam_size=many&hypotheses=1")
    expect(page.locator(".hypotheses")).to_be_visible()
    expect(page).not_to_have_url(re.compile("beam_size"))


def test_back_and_forward_bring_sentences_and_settings_back(page: Page, app: str) -> None:
    open_page(page, f"{app}/?tour=off&beam_size=1&text=A+dog+runs.")
    box = page.get_by_label("Sentence", exact=True)
    for text in ("A cat sleeps.", "Where?"):
        enter(box, text)
        expect(page).to_have_url(re.compile(rf"text={re.escape(quote_plus(text))}$"))
        wait_until_idle(page)
    page.get_by_role("button", name="Settings", exact=True).click()
    length_penalty = page.get_by_role("slider", name="Length penalty")
    length_penalty.press("ArrowRight")
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
    wait_until_idle(page)
    page.get_by_role("button", name="Settings", exact=True).click()
    expect(length_penalty).to_have_value("0.6")
    wait_until_idle(page)
    page.keyboard.press("Escape")
    wait_until_idle(page)
    page.go_back()
    wait_until_idle(page)
    expect(box).to_have_value("A cat sleeps.")
    expect(page).not_to_have_url(re.compile("length_penalty"))
