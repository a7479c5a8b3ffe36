"""The page Translate in a browser: alternatives chosen by mouse and by keyboard, and removed."""

import re

from playwright.sync_api import Locator, Page, expect

from tests.e2e.idle import open_page, wait_until_idle
from tests.e2e.navigation import go_to, shown_translation

ADDRESS = "{}/translate?text=Where+is+the+station%3F&beam_size=2"


def tokens(page: Page) -> Locator:
    return page.get_by_role("group", name="Translation, token by token").get_by_role("button")


def options(page: Page) -> Locator:
    """The alternatives at the open position."""
    return page.get_by_role("group", name=re.compile("^In place of")).get_by_role("button")


def test_a_token_is_forbidden_at_its_place(page: Page, app: str) -> None:
    open_page(page, ADDRESS.format(app))
    tokens(page).nth(1).click()
    written = page.locator(".option.written .text")
    name = written.inner_text()
    page.get_by_role("button", name=re.compile("^Forbid .* here$")).click()
    expect(page).to_have_url(re.compile(r"prefix=\d+&.*forbidden=2\.\d+(&|$)"))
    expect(written).not_to_have_text(name)
    expect(page.locator(".option.forbidden .text")).to_have_text(name)
    expect(page.get_by_role("button", name=re.compile("^Forbid .* here$"))).to_be_focused()
    wait_until_idle(page)
    second = written.inner_text()
    page.keyboard.press("Enter")  # the second one, too
    expect(page).to_have_url(re.compile(r"forbidden=2\.\d+\.2\.\d+(&|$)"))
    expect(written).not_to_have_text(second)
    expect(page.locator(".option.forbidden .text")).to_have_text([name, second])
    expect(page.get_by_text("replay equals page").first).to_be_visible()
    wait_until_idle(page)
    page.get_by_role("button", name="Back to the model's own").click()
    expect(written).to_have_text(name)
    expect(page).not_to_have_url(re.compile("forbidden="))


def test_a_sample_is_explained_on_all_pages(page: Page, app: str) -> None:
    open_page(page, f"{ADDRESS.format(app)}&samples=true&num_samples=4")
    rows = page.get_by_role("group", name="Hypotheses and samples").get_by_role("button")
    expect(rows.first).to_have_attribute("aria-pressed", "true")
    expect(rows.last).to_have_attribute("aria-label", re.compile("1 sample$"))
    rows.first.focus()
    page.keyboard.press("End")
    expect(rows.last).to_be_focused()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"target=\d+"))
    expect(rows.last).to_have_attribute("aria-pressed", "true")
    expect(shown_translation(page)).to_have_text(re.compile("^Forced: "))


def test_an_alternative_becomes_the_current_translation(page: Page, app: str) -> None:
    open_page(page, ADDRESS.format(app))
    tokens(page).first.click()
    chosen = options(page).filter(has_not_text="/").last  # not a byte, such as 1/2, which is decoded differently
    name = chosen.locator(".text").inner_text()
    chosen.click()
    expect(page).to_have_url(re.compile(r"prefix=\d+(&|$)"))
    expect(page.locator(".option.written")).to_contain_text(name)
    expect(page.locator(".option.written")).to_be_focused()
    expect(tokens(page).first).to_have_text(name)
    expect(tokens(page).first).to_have_class(re.compile(r"\bforced\b"))
    expect(shown_translation(page)).to_have_text(re.compile("^Forced: "))
    expect(page.get_by_text("replay equals page").first).to_be_visible()
    wait_until_idle(page)

    tokens(page).first.click()  # by keyboard: an own word instead of the second token
    for key in ("ArrowRight", "ArrowDown", "End", "ArrowDown"):
        page.keyboard.press(key)
    own = page.get_by_role("textbox", name=re.compile("^Own word"))
    expect(own).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("The text is blank: type a word")
    own.fill(" Bahnhof")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"prefix=\d+\.\d+"))
    expect(
        page.get_by_role("group", name="Translation", exact=True).get_by_role("button", name="Bahnhof")
    ).to_be_visible()

    wait_until_idle(page)
    go_to(page, "heads")
    expect(page.get_by_role("group", name="Heads", exact=True)).to_be_visible()
    expect(shown_translation(page)).to_have_text(re.compile("^Forced: .*Bahnhof"))
    expect(page).to_have_url(re.compile(r"/heads\?.*prefix=\d+\.\d+"))
    wait_until_idle(page)
    go_to(page, "translate")
    wait_until_idle(page)
    page.get_by_role("button", name="Back to the model's own").click()
    expect(shown_translation(page)).to_have_text(re.compile("^1: "))
    expect(page).not_to_have_url(re.compile("prefix="))
