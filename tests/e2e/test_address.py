"""The address in a browser that draws slowly: it has the sentence whenever that is typed."""

import re

import pytest
from playwright.sync_api import Page, expect

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


@pytest.mark.parametrize(("last_click", "delays"), [("Skip the tour", (100, 400, 800, 2000)), ("Done", (100, 800))])
def test_a_sentence_typed_while_the_tour_goes_away_enters_the_address(
    page: Page, app: str, last_click: str, delays: tuple[int, ...]
) -> None:
    page.add_init_script(SLOW)
    page.goto(f"{app}?beam_size=1&text=Where%3F")
    box = page.get_by_label("Sentence", exact=True)
    expect(page.locator(".hypotheses")).to_be_visible()
    for delay in delays:
        for step in range(2, 7) if last_click == "Done" else ():
            page.get_by_role("button", name="Next").click()
            expect(page.get_by_text(f"{step} of 6")).to_be_visible()
        expect(page.locator(".stApp")).to_have_attribute("data-test-script-state", "notRunning")
        page.evaluate(f"window.pause = {PAUSE}")
        page.get_by_role("button", name=last_click).click()
        page.wait_for_timeout(delay)
        box.fill(f"{delay}.")
        box.press("Enter")
        expect(page).to_have_url(re.compile(rf"text={delay}\..*tour=off"))
        page.evaluate("window.pause = 0")
        page.get_by_role("button", name="Take the tour").click()
        expect(page.get_by_text("1 of 6")).to_be_visible()
        expect(page).to_have_url(re.compile(rf"text={delay}\.$"))
    page.reload()
    expect(box).to_have_value(f"{delays[-1]}.")
