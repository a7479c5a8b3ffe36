"""The page "Why A rather than B" in a real browser: another B, other methods, and a sample that is stopped."""

import re

from playwright.sync_api import Page, expect

from tests.e2e.idle import open_page, wait_until_idle


def test_another_alternative_and_a_sample_that_is_stopped(page: Page, app: str) -> None:
    open_page(page, f"{app}/contrast?text=Where%3F&beam_size=1")
    expect(page.get_by_text("integrated gradients are complete").first).to_be_visible()
    grid = page.get_by_role("group", name=re.compile("^Why "))
    expect(grid.get_by_text("Occlusion")).to_be_visible()
    wait_until_idle(page)  # until all methods are done
    bars = grid.locator(".cell.bar")
    assert bars.count() % 8 == 0
    fits = "element => element.parentElement.scrollWidth <= element.parentElement.clientWidth"
    assert grid.evaluate(fits), "a method is out of sight"
    assert "linear-gradient" in bars.first.evaluate("cell => getComputedStyle(cell).backgroundImage")
    word = grid.get_by_role("button").nth(1)
    word.click()
    expect(word).to_have_attribute("aria-pressed", "true")
    expect(page).to_have_url(re.compile(r"words?=source"))
    wait_until_idle(page)
    page.get_by_test_id("stButtonGroup").get_by_text("nothing").click()
    expect(page).to_have_url(re.compile("rather_than=nothing"))
    wait_until_idle(page)
    page.get_by_role("button", name="More", exact=True).click()
    page.get_by_test_id("stButtonGroup").get_by_text("Occlusion").click()
    expect(grid.get_by_text("Occlusion")).to_have_count(0)
    expect(page).to_have_url(re.compile("contrast_methods="))
    page.keyboard.press("Escape")
    wait_until_idle(page)
    page.get_by_test_id("stButtonGroup").get_by_text("My own").click()
    own = page.get_by_role("textbox", name="Sentences, one per line")
    own.fill("Where are you?\n" * 300)  # more than are measured until Stop is clicked
    own.press("Control+Enter")
    wait_until_idle(page)
    page.get_by_role("button", name="Measure the sample").click()
    expect(page).to_have_url(re.compile("faithful_sample=own"))
    expect(page.get_by_text(re.compile(r"^[1-9]\d* of 300 sentences$"))).to_be_visible()  # what is above does not move
    page.get_by_test_id("stMain").get_by_role("button", name="Stop").click()  # Streamlit has one in the header, too
    expect(page.get_by_role("button", name="Continue")).to_be_visible()
