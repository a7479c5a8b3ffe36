"""Figure 1 plays in the app: by pointer, keyboard and address, by itself or, without motion, step by step."""

import re

from playwright.sync_api import Page, expect

from tests.e2e.accessibility import violations
from tests.e2e.idle import open_page

ADDRESS = "overview?text=Where+is+it%3F&beam_size=1&target=345.28.346.2"


def test_it_is_played_paused_and_stepped_and_leaves_text_fields_their_keys(page: Page, app: str) -> None:
    page.emulate_media(reduced_motion="no-preference")
    open_page(page, f"{app}/{ADDRESS}&tour=off&play=nowhere")  # as addresses were of a tour, and of an unknown stop
    count, lit, code = page.locator(".play .count"), page.locator(".figure1 a.lit"), page.locator(".code pre")
    expect(count).to_be_hidden()
    page.get_by_role("button", name="Play").click()
    page.get_by_role("button", name="Speed").click()
    expect(count).to_have_text("2 of 14")  # by itself
    page.locator(".play").get_by_role("button", name="Pause").click()
    page.keyboard.press("ArrowRight")
    expect(count).to_have_text("3 of 14")
    expect(lit).to_have_attribute("aria-label", re.compile("self-attention of the encoder"))
    page.get_by_role("button", name="Edit the sentence").click()
    for key in ("ArrowLeft", "Escape"):
        page.get_by_role("textbox", name="Sentence").press(key)
    expect(count).to_have_text("3 of 14")
    page.get_by_role("button", name="Previous step").click()
    page.locator(".code summary").click()
    expect(code).to_contain_text("def positional_encoding")
    page.keyboard.press("ArrowLeft")
    expect(code).to_contain_text("class Embedding")
    page.keyboard.press("Escape")
    expect(count).to_be_hidden()
    expect(page).not_to_have_url(re.compile("play="))


def test_a_link_opens_it_at_its_stop_and_without_motion_each_press_is_a_step(page: Page, app: str) -> None:
    open_page(page, f"{app}/{ADDRESS}&play=decoder_self-mask&step=2")
    play, count = page.get_by_role("button", name="Play").first, page.locator(".play .count")
    for number in (11, 12, 13):
        play.press("Enter")
        expect(count).to_have_text(f"{number} of 14")
        expect(play).to_have_text(re.compile("Play"))
    expect(page.locator(".figure1 .spot").first).to_have_css("transition-duration", "0s")
    place = page.locator(".figure1 .place")
    expect(place).to_be_in_viewport(ratio=1)
    [line, sheet] = [each.bounding_box() or {} for each in (place, page.locator(".sheet"))]
    assert line["y"] + line["height"] <= sheet["y"]  # the text covers nothing of what it explains
    rules = ["aria-allowed-attr", "button-name", "link-name", "scrollable-region-focusable", "target-size"]
    assert violations(page, ".st-key-figure1", rules=rules) == []
    page.locator(".play").get_by_role("link", name="Step by step").click()
    expect(page).to_have_url(re.compile(r"/step_through.*at=output-logits"))
    open_page(page, f"{app}/{ADDRESS}&play=output-beam&step=2")
    page.locator(".play").get_by_role("link", name="Why ").click()
    expect(page).to_have_url(re.compile(r"/contrast.*token=2"))
