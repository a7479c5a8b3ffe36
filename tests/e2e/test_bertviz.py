"""BertViz in a browser: both views react, without external requests, and escape tokens."""

import re
from urllib.parse import urlencode

import pytest
from playwright.sync_api import FrameLocator, Page, expect

from tests.e2e.idle import open_page, wait_until_idle
from tests.e2e.navigation import enter

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
