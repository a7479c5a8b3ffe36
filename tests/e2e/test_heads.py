"""The page Heads in a real browser: the joint view, weights that are cut, BertViz, words that are linked."""

import re
from urllib.parse import urlencode

import pytest
from playwright.sync_api import FrameLocator, Locator, Page, expect

from tests.e2e.downloads import downloaded
from tests.e2e.idle import open_page, wait_until_idle
from tests.e2e.navigation import enter


def test_the_joint_view_by_layer_and_head(page: Page, app: str) -> None:
    open_page(page, f"{app}/heads?text=The+dog+is+wet.&beam_size=1&kind=joint&joint_layer=L1")
    matrix = page.get_by_role("img", name="L1 mean, ")
    expect(page.get_by_text("the source does not see the target")).to_be_visible()
    page.get_by_role("button", name="dog, source").first.hover()
    expect(page.get_by_role("status")).to_contain_text("dog is attended to by")
    dog = page.get_by_role("group", name="Source").get_by_role("button", name="dog")
    expect(dog).to_have_class(re.compile("pointed"))
    matrix.click(position={"x": 12, "y": 12})  # the first row
    expect(page.get_by_role("button", name="The", exact=True)).to_have_attribute("aria-pressed", "true")
    wait_until_idle(page)
    box = page.get_by_role("combobox", name="Head")
    box.click()
    page.get_by_role("option", name="Maximum of heads").click()
    file, content = downloaded(page, "SVG")
    assert file == "joint-layer0-maximum.svg"
    assert content.startswith(b"<svg")


def test_weights_are_cut_and_restored(page: Page, app: str) -> None:
    open_page(page, f"{app}/heads?text=Where%3F&beam_size=1&view=map&cutting=true&heads_cross=L2+H1")
    expect(page.get_by_text("No weight is cut")).to_be_visible()
    cells = page.get_by_role("img", name=re.compile("arrow keys read the cells")).first
    cells.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator(".map .cut")).to_have_count(1)
    expect(page.get_by_text("weights as set").first).to_be_visible()
    expect(page).to_have_url(re.compile(r"cut=cross\+L2\+H1\+row\+1(-\d+)?\+column\+1"))
    wait_until_idle(page)
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".map .cut")).to_have_count(0)
    wait_until_idle(page)
    cells.click(position={"x": 4, "y": 4})
    expect(page.locator(".map .cut")).to_have_count(1)
    wait_until_idle(page)
    page.get_by_text("Lines", exact=True).first.click()
    expect(page.locator(".lines path.cut")).to_have_count(1)
    wait_until_idle(page)
    page.locator(".lines [data-axis=query]").first.click()
    expect(page.get_by_text(re.compile(r"Cross L2 H1 row 1(-\d+)? to 0"))).to_be_visible()
    wait_until_idle(page)
    page.get_by_role("button", name="Remove all").click()
    expect(page.locator(".lines path.cut")).to_have_count(0)


HOSTILE = "</script><img src=x>"


def frame(page: Page) -> FrameLocator:
    return page.frame_locator("iframe")


@pytest.mark.new_tab
def test_both_views_offline_with_hostile_text(page: Page, app: str, requests: list[str], blocked: list[str]) -> None:
    failures: list[str] = []
    page.on("pageerror", lambda error: failures.append(str(error)))
    seen = {"text": HOSTILE, "selection": "encoder_self|attention|L1 H1", "kind": "encoder_self", "beam_size": "1"}
    open_page(page, f"{app}/bertviz?{urlencode({**seen, 'hide_special': 'false'})}")
    expect(frame(page).locator("#left text").filter(has_text="script").first).to_be_visible()
    assert frame(page).locator("img").count() == 0
    expect(page).to_have_url(re.compile(r"/heads\?.*view=bertviz"))  # the former address of a page
    expect(frame(page).locator("#layer option")).to_have_text(["1", "2"])  # layers are counted from 1
    tokens, lines = frame(page).locator("#left text"), frame(page).locator("#attention line")
    assert lines.count() == 4 * tokens.count() ** 2  # of one layer's four heads
    tokens.first.hover()
    expect(frame(page).locator("#attention line[visibility=visible]")).to_have_count(4 * tokens.count())
    page.mouse.move(0, 0)
    heads = frame(page).get_by_role("button", name="Head ")
    expect(heads.last).to_have_accessible_name("Head 4")
    heads.first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    assert [heads.nth(head).get_attribute("aria-pressed") for head in range(4)] == ["true", "true", "false", "false"]
    page.keyboard.press("Shift+Enter")
    assert [heads.nth(head).get_attribute("aria-pressed") for head in range(4)] == ["false", "true", "false", "false"]
    expect(frame(page).locator("#attention line[visibility=visible]")).to_have_count(0)
    page.keyboard.press("Shift+Tab")
    expect(frame(page).locator("#attention line[visibility=visible]")).to_have_count(4 * tokens.count())
    page.get_by_text("Model view", exact=True).click()
    expect(frame(page).locator(".attn_background")).to_have_count(8)
    frame(page).locator("#vis svg > g > rect:last-child").first.click()
    expect(frame(page).locator("text.detail").first).to_have_text("Layer 1, Head 1")
    expect(frame(page).locator(".detail .token").first).to_be_visible()
    assert set(requests) == {app.removeprefix("http://")}
    assert failures == blocked == []
    enter(page.get_by_label("Sentence", exact=True), "It rains. " * 30)
    expect(page.get_by_text("BertViz draws up to 60 tokens on an axis")).to_be_visible()
    expect(page.locator("iframe")).to_have_count(0)
    wait_until_idle(page)
    page.get_by_text("Map", exact=True).click()
    expect(page.locator("canvas.picture")).to_be_visible()
    expect(page.locator(".head")).to_have_text(["L1 H1"])


def word(page: Page, side: str, index: int) -> Locator:
    return page.get_by_role("group", name=f"{side} words").get_by_role("button").nth(index)


def links(page: Page) -> Locator:
    return page.get_by_role("textbox", name="Gold links")


def test_words_are_linked_by_mouse_and_by_keyboard_and_never_html(page: Page, app: str) -> None:
    open_page(page, f"{app}/alignment?text=A+<img/src=x/onerror=document.title='broken'>&beam_size=1")
    for expected in ("1-0", ""):  # two clicks link two words, two more unlink them
        word(page, "Target", 0).click()
        expect(word(page, "Target", 0)).to_have_attribute("aria-pressed", "true")
        word(page, "Source", 1).click()
        expect(links(page)).to_have_value(expected)
        expect(word(page, "Target", 0)).to_have_attribute("aria-pressed", "false")
        wait_until_idle(page)
    expect(page.get_by_text("rank all heads by agreement")).to_be_visible()

    word(page, "Source", 0).focus()
    for key in ("Enter", "Escape", "ArrowDown", "Enter", "ArrowRight", "Home", "Enter"):
        page.keyboard.press(key)
    expect(links(page)).to_have_value("1-0")
    expect(page.locator(".gold path")).to_have_count(1)
    expect(word(page, "Target", 0)).to_be_focused()

    wait_until_idle(page)
    word(page, "Target", 0).hover()  # only its own links stay
    expect(page.locator(".value").first).to_be_visible()
    page.mouse.move(0, 0)
    expect(page.locator(".value")).to_have_count(0)
    expect(word(page, "Source", 1)).to_contain_text("<")
    assert page.locator(".stMain img").count() == 0
    assert page.title() != "broken"
