"""A sentence is on the screen before Streamlit has run the page for it."""

from playwright.sync_api import Page, Route, expect

from tests.e2e.idle import open_page, wait_until_idle
from tests.e2e.navigation import enter
from tests.e2e.test_app import words

# Hold back what the page sends to Streamlit, until `release()`.
HOLD = """() => {
  const { send } = WebSocket.prototype;
  const held = [];
  WebSocket.prototype.send = function (data) { held.push([this, data]); };
  window.heldBack = () => held.length;
  window.release = () => {
    WebSocket.prototype.send = send;
    held.forEach(([socket, data]) => send.call(socket, data));
  };
}"""
# What is drawn in the components: all text, the pictures, and the marks of words and heads; not the rows of files.
DRAWN = """() => [...document.querySelectorAll(".stMain :not([class*=st-key-files_] *)")].filter(
  (each) => each.shadowRoot?.querySelector(".root").innerHTML,
).map(({ shadowRoot }) => [
  shadowRoot.querySelector(".root").innerHTML,
  ...[...shadowRoot.querySelectorAll("canvas")].map((canvas) => canvas.toDataURL()),
])"""


def type_sentence(page: Page, text: str) -> None:
    enter(page.get_by_label("Sentence", exact=True), text)


def test_words_grid_and_drawing_are_those_of_the_run_that_follows(page: Page, app: str) -> None:
    open_page(page, f"{app}/heads?text=Where%3F&view=map")
    before = page.evaluate(DRAWN)
    page.evaluate(HOLD)
    type_sentence(page, "Two children play.")
    expect(words(page, "children")).to_be_visible()
    page.wait_for_function("() => heldBack() > 0")  # the page runs all the same
    previewed = page.evaluate(DRAWN)
    assert len(previewed) == len(before) == 3
    assert all(now != then for now, then in zip(previewed, before, strict=True))
    page.evaluate("release()")
    wait_until_idle(page)
    assert page.evaluate(DRAWN) == previewed
    assert "text=Two+children+play." in page.url


def test_figure_1_is_on_the_screen_before_the_page_runs_and_its_links_come_with_it(page: Page, app: str) -> None:
    open_page(page, f"{app}/?text=Where%3F&beam_size=1")
    figure = page.locator(".st-key-figure1 svg")
    before = figure.locator(".word").all_text_contents()
    page.evaluate(HOLD)
    type_sentence(page, "Two children play.")
    expect(figure.locator(".word")).not_to_have_text(before)
    previewed = figure.locator(".word").all_text_contents()
    page.wait_for_function("() => heldBack() > 0")
    expect(figure.locator("a[href]")).to_have_count(0)  # the address of a link has the sentence
    page.evaluate("release()")
    expect(figure.locator("a[href*='Two+children+play.']").first).to_be_visible()
    expect(figure.locator(".word")).to_have_text(previewed)


def test_where_no_preview_comes_through_the_page_shows_the_sentence(page: Page, app: str) -> None:
    answers = [None, 404, 200]  # the network fails, a proxy refuses

    def refuse(route: Route) -> None:
        status = answers.pop(0)
        if status is None:
            route.abort()
        else:
            route.fulfill(status=status)

    page.route("**/preview", refuse)
    open_page(page, f"{app}/score?text=Where%3F")  # a short page
    box = page.get_by_label("Sentence", exact=True)
    box.fill("A d")
    box.dispatch_event("keydown", {"key": "Enter", "isComposing": True, "bubbles": True})  # ends a Chinese word
    wait_until_idle(page)
    assert answers == [None, 404, 200]
    for text in ("Two children play.", "A dog runs.", "The sea."):
        type_sentence(page, text)
        expect(words(page, text.split()[1].strip("."))).to_be_visible()
    assert answers == [200]  # what refuses once is not asked again
