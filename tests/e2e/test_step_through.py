"""The page "Step by step" in a real browser, and the way there from a cell of a map."""

import re

from playwright.sync_api import Page, expect

from tests.e2e.idle import open_page, wait_until_idle


def test_the_steps_are_walked_with_the_keyboard(page: Page, app: str) -> None:
    open_page(page, f"{app}/step_through?text=Where%3F&beam_size=1&at=cross-scores")
    walk = page.get_by_role("group", name="Steps of one token")
    expect(walk.get_by_role("heading", name="Scores")).to_be_visible()
    expect(walk.get_by_role("math")).to_be_visible()
    rows = walk.locator("button.row")
    rows.nth(1).click()
    expect(rows.nth(1)).to_have_attribute("aria-pressed", "true")
    expect(page).to_have_url(re.compile(r"at=cross-scores.*picked=2|picked=2.*at=cross-scores"))
    wait_until_idle(page)
    page.keyboard.press("ArrowRight")
    expect(walk.get_by_role("heading", name="Mask")).to_be_visible()
    walk.get_by_role("button", name="Next step").click()
    expect(walk.get_by_role("heading", name="Softmax")).to_be_visible()
    expect(page).to_have_url(re.compile("at=cross-softmax"))
    page.keyboard.press("Home")
    expect(walk.get_by_role("heading", name="Embedding")).to_be_visible()
    # It fits, so it is no stop of Tab. The height of its letters is more than that of a line.
    expect(walk.get_by_role("math")).not_to_have_attribute("tabindex", "0")
    page.keyboard.press("End")
    expect(walk.get_by_role("heading", name="Beam search")).to_be_visible()
    walk.get_by_role("button", name="The numbers of this step").click()
    expect(walk.get_by_role("table").first).to_be_visible()
    expect(page.get_by_text("numbers equal the model's").first).to_be_visible()


def test_a_cell_of_a_map_leads_to_the_products_behind_it(page: Page, app: str) -> None:
    address = "text=Where%3F&beam_size=1&view=map&heads_cross=L2+H3&hide_special=false&words=false"
    open_page(page, f"{app}/heads?{address}")
    expect(page.get_by_text("Click a cell to see the products")).to_be_visible()
    page.locator(".cells").last.click(position={"x": 5, "y": 5})
    expect(page.get_by_text("products sum to the score").first).to_be_visible()
    expect(page).to_have_url(re.compile(r"products=map_0\.cross\.2\.3\.1\.1"))
    wait_until_idle(page)
    page.get_by_text("All steps").click()
    walk = page.get_by_role("group", name="Steps of one token")
    expect(walk.get_by_role("heading", name="Scores")).to_be_visible()
    expect(walk.locator("button.row").first).to_have_attribute("aria-pressed", "true")
    expect(page).to_have_url(re.compile("picked=1"))
    expect(page).to_have_url(re.compile("step_layer=L2"))


def test_a_step_of_training_is_walked_with_its_numbers_below_the_formulas(page: Page, app: str) -> None:
    open_page(page, f"{app}/training_step?text=Where%3F&beam_size=1&at=moments")
    walk = page.get_by_role("group", name="Steps of a training")
    expect(walk.get_by_role("heading", name="Moments")).to_be_visible()
    expect(walk.get_by_role("math")).to_have_count(3)
    expect(walk.get_by_role("math").nth(1)).to_contain_text("0.9\u22c50+0.1\u22c5")
    page.keyboard.press("ArrowRight")
    expect(walk.get_by_role("heading", name="Bias correction")).to_be_visible()
    expect(page).to_have_url(re.compile("at=correction"))
    wait_until_idle(page)
    page.get_by_role("textbox", name="Reference").fill("Wo?")
    page.get_by_role("textbox", name="Reference").press("Enter")
    expect(page).to_have_url(re.compile(r"reference=Wo%3F"))
    wait_until_idle(page)
    expect(page.get_by_text("the gradient is right").first).to_be_visible()
    expect(walk.get_by_role("heading", name="Bias correction")).to_be_visible()
