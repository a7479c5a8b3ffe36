"""The page Why this word in a real browser: a click on what is drawn shows more, and the address has it."""

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


def test_a_click_on_a_head_shows_its_terms_and_opens_it(page: Page, app: str) -> None:
    open_page(page, f"{app}/contributions?text=Where%3F&beam_size=1")
    expect(page.get_by_text("terms sum to the logit").first).to_be_visible()
    bars = page.get_by_role("group", name="Contributions by layer and part")
    for layer in (1, 2, 1):  # a bar stays clickable
        bars.get_by_role("button", name=re.compile(rf"^Cross-attention, L{layer}: ")).click()
        expect(page).to_have_url(re.compile(rf"term=cross\+L{layer}\+H"))
        wait_until_idle(page)
    cell = page.get_by_role("button", name=re.compile(r"^L2, Cross-attention, H3: "))
    cell.click()
    expect(cell).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_text("Cross L2 H3 contributes")).to_be_visible()
    expect(page.locator(".map .heads")).to_contain_text("Cross L2 H3")  # one click opens the head
    expect(page).to_have_url(re.compile(r"term=cross\+L2\+H3"))
    wait_until_idle(page)
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Cross L2 H2 contributes")).to_be_visible()
    wait_until_idle(page)
    page.get_by_text("mean of all").click()
    expect(page.get_by_text(re.compile(r"^The logit of .* minus that of .mean of all"))).to_be_visible()
    wait_until_idle(page)
    page.get_by_role("button", name="Open on Heads").click()
    expect(page).to_have_url(re.compile(r"/heads"))
    expect(page.get_by_text("L2 H2", exact=True).first).to_be_visible()


def test_a_head_of_the_query_opens_its_own_map_and_back_returns(page: Page, app: str) -> None:
    products = "map_0.cross.2.3.2.1"  # the cell that was clicked
    settings = f"text=Where+is+it%3F&beam_size=1&view=map&heads_cross=L2+H3&products={products}"
    open_page(page, f"{app}/heads?{settings}")
    page.get_by_role("button", name="Why does it look there?").click()
    expect(page.get_by_text(re.compile(r"^Cross L2 H3 looks from ")).first).to_be_visible()
    expect(page).to_have_url(re.compile(r"/score_components\?.*attending_head=cross\+L2\+H3&.*attending=2&attended=1"))
    wait_until_idle(page)
    page.get_by_role("button", name=re.compile(r"Cross-attention of layer 1: ")).click()
    head = page.get_by_role("button", name=re.compile(r"Cross L1 H2: "))
    expect(head).to_be_visible()
    expect(page).to_have_url(re.compile(r"opened_terms=query\.cross\.1"))
    wait_until_idle(page)
    head.click()
    expect(page.get_by_text(re.compile(r"^Cross L1 H2 looks from ")).first).to_be_visible()
    expect(page.locator(".map .heads")).to_contain_text("Cross L1 H2")
    expect(page).to_have_url(re.compile(r"attending_head=cross\+L1\+H2&.*attending=2&"))  # in the same row
    wait_until_idle(page)
    page.go_back()
    expect(page.get_by_text(re.compile(r"^Cross L2 H3 looks from ")).first).to_be_visible()
    expect(page.get_by_text("bars sum to the score").first).to_be_visible()
    wait_until_idle(page)
    page.get_by_role("button", name="Open on Heads").click()
    expect(page).to_have_url(re.compile(r"/heads\?.*heads_cross=L2.H3"))


def test_a_click_on_a_cell_shows_its_best_tokens(page: Page, app: str) -> None:
    open_page(page, f"{app}/lens?text=Where%3F&beam_size=1")
    expect(page.get_by_text("Layers of the encoder")).to_be_visible()
    cells = page.get_by_role("group", name="Most probable token after each layer").get_by_role("button")
    cells.nth(1).hover()  # the mouse is down on one cell while the server answers a click on another one
    page.mouse.down()
    cells.nth(2).dispatch_event("click")
    expect(cells.nth(2)).to_have_attribute("aria-pressed", "true")
    page.mouse.up()
    expect(cells.nth(1)).to_have_attribute("aria-pressed", "true")
    expect(page).to_have_url(re.compile(r"cell=1\.1"))
    wait_until_idle(page)
    cells.nth(1).focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"cell=1\.2"))
    expect(page.get_by_text("last layer equals the model").first).to_be_visible()
