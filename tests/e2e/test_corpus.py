"""The page Corpus in a browser: an index built here, ranges on the axes, and an example whose map opens on Heads."""

import re

from playwright.sync_api import Locator, Page, expect

from tests.e2e.idle import open_page, wait_until_idle

SENTENCES = "A dog runs.\tEin Hund.\nWhere is the sea?\tWo ist das Meer?\nThe old house.\tDas alte Haus."


def test_an_index_is_built_searched_and_an_example_opens_on_the_page_heads(page: Page, app: str) -> None:
    open_page(page, f"{app}/corpus?corpus_kind=cross&corpus_place=any")
    page.get_by_label("Or paste lines").fill(SENTENCES)
    page.get_by_role("button", name="Index", exact=True).click()
    expect(page.get_by_text("3 sentences, ")).to_be_visible()
    wait_until_idle(page)
    heads = page.get_by_text(re.compile(r"^All scores: \d+ of \d+ heads"))
    expect(heads).to_be_visible()
    lowest = page.get_by_role("slider", name="same position, lowest")
    lowest.focus()
    lowest.press("PageUp")
    expect(page).to_have_url(re.compile("corpus_range=itself_0.1_1"))
    expect(heads).to_contain_text("in the selected ranges")
    expect(lowest).to_be_focused()
    expect(lowest).to_have_attribute("aria-valuenow", "0.10")
    wait_until_idle(page)
    lowest.press("Escape")
    expect(page).not_to_have_url(re.compile("corpus_range"))
    wait_until_idle(page)
    lines = page.locator(".line")
    lines.nth(1).dispatch_event("click")
    expect(page).to_have_url(re.compile(r"corpus_head=cross"))
    name = re.search(r"corpus_head=cross\+(L\d+)\+(H\d+)", page.url)
    assert name
    expect(page.get_by_text(f"{name[1]} {name[2]}:")).to_be_visible()
    wait_until_idle(page)
    expect(page.get_by_text("index agrees with the model").first).to_be_visible()
    example = page.get_by_role("group", name="Examples").get_by_role("button").first
    pointing_shows_weights_both_ways(page, example)
    source = example.locator(".text").first.text_content()
    example.click()
    expect(page).to_have_url(re.compile(r"/heads\?"))
    expect(page.get_by_role("textbox", name="Sentence")).to_have_value(re.sub(r"\s*</s>$", "", source or ""))
    expect(page.locator("[data-tag]")).to_have_text(f"{name[1]} {name[2]}")
    expect(page.get_by_role("group", name="Translation", exact=True).locator("[aria-pressed=true]")).not_to_have_count(
        0
    )


def pointing_shows_weights_both_ways(page: Page, example: Locator) -> None:
    """A token marks its row or column of the map; a cell marks its two tokens, and its weight is written."""
    drawing, reading = page.locator(".row .map").first, example.locator(".reading")
    bands = drawing.locator(".band")
    key, query = (example.locator(".text").nth(line).locator(".token").first for line in range(2))
    query.hover()
    expect(bands.nth(0)).to_be_visible()
    expect(bands.nth(1)).to_be_hidden()
    expect(query).to_have_class(re.compile(r"\bfrom\b"))
    drawing.hover(position={"x": 2, "y": 2})  # the first row and column
    expect(query).to_have_class(re.compile(r"\bfrom\b"))
    expect(key).to_have_class(re.compile(r"\bto\b"))
    expect(reading).to_have_text(re.compile(r"^[01]\.\d\d$"))
    example.focus()
    example.press("ArrowRight")
    expect(bands.nth(1)).to_be_visible()  # the first token of the source is a column
    expect(reading).to_have_attribute("aria-label", re.compile(r".+: .+ [01]\.\d\d"))
