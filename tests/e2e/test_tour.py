"""The tour in a browser: it opens the pages that it speaks of, points at their parts, and ends on a sentence."""

import re

from playwright.sync_api import Page, expect

from tests.e2e.idle import open_page, wait_until_idle
from viz_app.frame.tour import STEPS


def test_each_step_opens_its_page_and_points_at_its_part_by_the_keyboard(page: Page, app: str) -> None:
    open_page(page, f"{app}/overview?text=A+dog+runs.&beam_size=1")
    tour = page.locator(".st-key-tour")
    for number, step in enumerate(STEPS, 1):
        expect(tour).to_contain_text(f"{number} of {len(STEPS)}")
        expect(page).to_have_url(re.compile(r"/(\?|$)" if step.view == "overview" else f"/{step.view}"))
        part = page.locator(step.part).first
        expect(part).to_have_css("outline-style", "none" if number == 1 else "solid")
        expect(part).to_be_in_viewport()
        wait_until_idle(page)
        other = page.locator(".st-key-figure1" if step is STEPS[-1] else ".st-key-sentence_bar").first
        page.mouse.move(0, 0)
        expect(other).to_have_css("opacity", "1" if number == 1 else "0.28")  # nobody has asked for the first step
        if step is not STEPS[-1]:
            page.get_by_role("button", name="Next").press("Enter")
    box = page.get_by_role("textbox", name="Sentence")
    expect(box).to_be_focused()
    page.keyboard.type("The cat sleeps.")  # in place of the example
    expect(box).to_have_value("The cat sleeps.")
    page.keyboard.press("Enter")
    expect(tour).to_have_count(0)
    expect(page).to_have_url(re.compile("tour=off"))


def test_escape_leaves_the_tour_and_the_visitor_goes_where_she_likes(page: Page, app: str) -> None:
    open_page(page, f"{app}/heads?text=A+dog+runs.&beam_size=1")
    tour = page.locator(".st-key-tour")
    expect(tour).to_contain_text("1 of")
    expect(tour.get_by_role("link", name="Show me")).to_be_visible()
    wait_until_idle(page)
    expect(page).to_have_url(re.compile("/heads"))  # it leads nowhere by itself
    page.keyboard.press("Escape")
    expect(tour).to_have_count(0)
