"""The page Alignment in a browser: words are linked by mouse and by keyboard."""

from playwright.sync_api import Locator, Page, expect

from tests.e2e.idle import open_page, wait_until_idle


def word(page: Page, side: str, index: int) -> Locator:
    return page.get_by_role("group", name=f"{side} words").get_by_role("button").nth(index)


def links(page: Page) -> Locator:
    return page.get_by_role("textbox", name="Gold links")


def test_words_are_linked_by_mouse_and_by_keyboard(page: Page, app: str) -> None:
    open_page(page, f"{app}/alignment?text=A+dog+runs.&beam_size=1")
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


def test_words_are_never_html(page: Page, app: str) -> None:
    open_page(page, f"{app}/alignment?text=<img/src=x/onerror=document.title='broken'>&beam_size=1")
    expect(word(page, "Source", 0)).to_be_visible()
    assert page.locator(".stMain img").count() == 0
    assert page.title() != "broken"
