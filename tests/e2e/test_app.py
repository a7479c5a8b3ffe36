"""The main flows in a browser: enter a sentence, translate, click a head."""

import re

import pytest
from playwright.sync_api import Locator, Page, WebSocketRoute, expect

from tests.e2e.downloads import downloaded
from tests.e2e.idle import open_page, wait_until_idle
from tests.e2e.navigation import enter, go_to

SENTENCE = "text=The+dog+is+wet.&beam_size=1"  # quicker than the sentence of the first visit


def translate(page: Page, text: str) -> None:
    box = page.get_by_label("Sentence", exact=True)
    enter(box, text)
    expect(words(page, text.split()[0])).to_be_visible()
    wait_until_idle(page)


def words(page: Page, text: str) -> Locator:
    bar = page.get_by_label("Source", exact=True).or_(page.get_by_label("Translation", exact=True))
    return bar.get_by_role("button", name=text, exact=True).first


def head(page: Page, name: str) -> Locator:
    return page.get_by_role("group", name="Heads", exact=True).get_by_role("button", name=name, exact=True)


def chosen(page: Page) -> Locator:
    return page.locator(".stMultiSelect [role=group] > [data-tag]")


def test_the_first_screen_shows_a_translation_without_external_requests(
    page: Page, app: str, requests: list[str]
) -> None:
    page.route("**/*.js", lambda route: route.abort())  # so that Streamlit paints nothing
    page.goto(app)
    expect(page.locator("#frame").get_by_text("Heads", exact=True)).to_be_visible()
    add = (
        "name => document.getElementById('root').append(Object.assign(document.createElement('p'), {className: name}))"
    )
    for name, count in (("stTextInput", 1), ("st-key-frame_script", 1), ("drawn", 0)):  # the picture's place stays
        page.evaluate(add, name)
        expect(page.locator("#frame.framed")).to_have_count(count)
    page.unroute("**/*.js")
    open_page(page, f"{app}/translate")
    expect(page.locator("#frame")).to_have_count(0)
    expect(page.locator(".hypotheses tbody tr")).to_have_count(4)
    expect(page.get_by_text("Example: head")).to_be_visible()
    expect(page.get_by_label("source, attended to", exact=True).get_by_role("button").first).to_be_visible()
    go_to(page, "heads")
    expect(head(page, "L2 H4")).to_be_visible()
    go_to(page, "positions")
    expect(page.locator(".js-plotly-plot .heatmaplayer image")).to_be_visible()
    assert set(requests) == {app.removeprefix("http://")}


def test_entered_texts_are_translated(page: Page, app: str) -> None:
    """The sentence is hidden where it is not used, and the examples after an own one."""
    open_page(page, f"{app}?beam_size=1")
    examples = page.get_by_role("button", name="A brown dog runs across the grass.")
    expect(examples).to_be_visible()
    translate(page, "Nobody knows <b>why</b> *it* rains.")
    expect(page).to_have_url(re.compile(r"text=Nobody"))
    expect(words(page, "Nobody")).to_be_visible()
    expect(examples).to_have_count(0)
    translate(page, "Where is he?")
    box = page.get_by_label("Sentence", exact=True)
    for name in ("training", "paper_figures", "why"):
        go_to(page, name)
        expect(box).to_be_hidden()
        expect(page.get_by_label("Source", exact=True)).to_be_hidden()
    go_to(page, "heads")
    expect(box).to_have_value("Where is he?")
    expect(words(page, "Where")).to_be_visible()
    expect(page).to_have_url(re.compile(r"text=Where.is.he"))


def test_heads_are_selected_with_the_keyboard_and_compared_by_clicks(page: Page, app: str) -> None:
    page.set_viewport_size({"width": 1280, "height": 400})
    open_page(page, f"{app}/heads?{SENTENCE}&heads_cross=L1+H1")
    expect(chosen(page)).to_have_text(["L1 H1"])
    head(page, "L1 H1").focus()
    for key in ("ArrowDown", "ArrowRight", "ArrowRight", "ArrowLeft", "ArrowDown", "ArrowUp"):
        page.keyboard.press(key)
    expect(head(page, "L2 H2")).to_be_focused()
    page.keyboard.press("Enter")
    expect(chosen(page)).to_have_text(["L2 H2"])
    expect(head(page, "L2 H2")).to_be_focused()

    wait_until_idle(page)
    head(page, "L2 H3").scroll_into_view_if_needed()
    place = head(page, "L2 H3").bounding_box()
    head(page, "L2 H3").click()
    expect(chosen(page)).to_have_text(["L2 H3"])
    expect(page.locator(".head")).to_have_text(["L2 H3"])
    expect(page).to_have_url(re.compile(r"heads_cross=L2(\+|%20)H3"))
    wait_until_idle(page)
    assert head(page, "L2 H3").bounding_box() == place  # nothing has scrolled
    page.get_by_role("button", name="More").click()
    page.get_by_text("Select several", exact=True).click()
    expect(page).to_have_url(re.compile("compare=true"))
    page.keyboard.press("Escape")  # the menu, which would take the next click
    wait_until_idle(page)
    head(page, "L2 H4").click()
    expect(chosen(page)).to_have_text(["L2 H3", "L2 H4"])
    expect(page.locator(".head")).to_have_text(["L2 H3", "L2 H4"])
    wait_until_idle(page)
    head(page, "L2 H3").click()
    expect(chosen(page)).to_have_text(["L2 H4"])
    go_to(page, "positions")
    expect(page.get_by_text("a row for each position")).to_be_visible()
    go_to(page, "heads")
    expect(chosen(page)).to_have_text(["L2 H4"])


@pytest.mark.new_tab
def test_a_clicked_head_is_drawn_before_the_server_answers(page: Page, app: str) -> None:
    held: list[bytes | str] | None = None
    servers: list[WebSocketRoute] = []

    def connected(browser: WebSocketRoute) -> None:
        server = browser.connect_to_server()
        servers.append(server)
        browser.on_message(lambda message: server.send(message) if held is None else held.append(message))

    page.route_web_socket("**/stream", connected)
    # this model's translations are too long to be drawn by the page
    open_page(page, f"{app}/heads?{SENTENCE}&kind=encoder_self&heads_encoder_self=L1+H1&view=map")
    expect(page.locator(".head")).to_have_text(["L1 H1"])
    held = []
    head(page, "L2 H3").click()
    expect(page.locator(".head")).to_have_text(["L2 H3"])
    expect(chosen(page)).to_have_text(["L1 H1"])
    for message in held:
        servers[-1].send(message)
    held = None
    expect(chosen(page)).to_have_text(["L2 H3"])
    expect(page.locator(".head")).to_have_text(["L2 H3"])


def test_a_word_hovered_or_selected_anywhere_is_highlighted_everywhere(page: Page, app: str) -> None:
    open_page(page, f"{app}/heads?{SENTENCE}&kind=encoder_self&view=map")
    expect(page.locator("canvas.picture")).to_be_visible()
    words(page, "dog").hover()
    for axis in ("query", "key"):
        expect(page.locator(".grid.dimmed")).to_be_visible()
        expect(page.locator(f".band.{axis}")).to_be_visible()
    page.get_by_label("Rows", exact=True).get_by_role("button", name="wet").hover()
    expect(words(page, "wet")).to_have_class(re.compile(r"\bpointed\b"))
    expect(page.get_by_role("status").filter(has_text="wet attends to")).to_be_visible()
    page.get_by_text("Lines", exact=True).first.click()
    expect(page.locator("canvas.picture")).to_have_count(0)

    wait_until_idle(page)
    word = words(page, "dog")
    word.click()
    expect(word).to_have_class(re.compile(r"\bon\b"))
    expect(page.get_by_label("source, attends", exact=True).get_by_role("button", name="dog")).to_have_class(
        re.compile(r"\bon\b")
    )
    wait_until_idle(page)
    words(page, "wet").click(modifiers=["ControlOrMeta"])
    wait_until_idle(page)
    page.get_by_label("source, attends", exact=True).get_by_role("button", name="The").press("Shift+Enter")
    selected = page.get_by_label("source, attends", exact=True).locator("[aria-pressed=true]")
    expect(selected).to_have_text(["The", "dog", "wet"])
    expect(
        page.get_by_text("Mean of 3 selected rows: \u201cThe\u201d, \u201cdog\u201d, \u201cwet\u201d")
    ).to_be_visible()
    expect(page).to_have_url(re.compile(r"word=source\.2&word=source\.4&word=source\.1"))
    wait_until_idle(page)
    go_to(page, "translate")
    pressed = page.get_by_label("Source", exact=True).locator("[aria-pressed=true]")
    expect(pressed).to_have_count(3)
    words(page, "dog").press("Escape")
    expect(pressed).to_have_count(0)
    expect(page).not_to_have_url(re.compile("word="))


def test_in_a_narrow_window_the_grid_is_above_the_map_in_both_colour_schemes(page: Page, app: str) -> None:
    """The map can be downloaded, and on a phone, that of a tapped head is shown at once."""
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": 800, "height": 900})
    open_page(page, f"{app}/heads?{SENTENCE}&view=map&heads_cross=L1+H1")
    expect(page.locator("canvas.picture")).to_be_visible()
    detail, overview = (
        place.bounding_box()
        for place in (page.locator("canvas.picture"), page.get_by_role("group", name="Heads", exact=True))
    )
    assert overview is not None
    assert detail is not None
    assert overview["y"] + overview["height"] <= detail["y"]
    assert detail["x"] + detail["width"] <= 800
    scale, white = page.locator(".scale i"), "rgb(255, 255, 255)"
    expect(page.locator(".stApp")).to_have_css("background-color", white)
    colors = scale.get_attribute("style")
    assert colors
    page.emulate_media(color_scheme="dark")  # redraws without a click
    expect(page.locator(".stApp")).not_to_have_css("background-color", white)
    expect(scale).not_to_have_attribute("style", colors)
    page.emulate_media(color_scheme="light")
    expect(scale).to_have_attribute("style", colors)
    for name, start in (("PNG", b"\x89PNG"), ("CSV", b"kind,")):
        file, content = downloaded(page, name, "cross")
        assert content.startswith(start)
        assert file == f"cross-layer0-head0.{name.lower()}"
    page.set_viewport_size({"width": 390, "height": 844})
    wait_until_idle(page)
    head(page, "L2 H3").click()
    expect(page.locator("canvas.picture")).to_be_in_viewport(ratio=1)
    expect(page.locator(".head")).to_have_text(["L2 H3"])
