"""The page Overview in a real browser: Figure 1 by pointer and keyboard, and the pages that its parts open."""

import io
import re

from playwright.sync_api import Page, expect
from pypdf import PdfReader

from tests.e2e.idle import open_page, wait_until_idle

ADDRESS = "overview?text=Where+is+the+dog%3F&beam_size=1"


def test_the_figure_is_printed_and_steps_words_and_layers_are_chosen_in_place(page: Page, app: str) -> None:
    """A step without the server; on paper, the sentence and the figure are on one page."""
    open_page(page, f"{app}/{ADDRESS}")
    (paper,) = PdfReader(io.BytesIO(page.pdf(prefer_css_page_size=True))).pages
    assert paper.mediabox.width > paper.mediabox.height
    text = paper.extract_text()
    assert "Softmax" in text
    assert "Upload" not in text

    slider = page.get_by_role("slider", name="Decoding step")
    rows = page.locator(".map .ticks")
    slider.focus()
    page.keyboard.press("Home")
    before, sent = rows.last.get_attribute("d"), page.evaluate("window.messages")
    expect(page.locator(".figure1 .predicted.on")).to_have_count(1)
    probabilities = page.locator(".figure1 .option").all_text_contents()
    page.keyboard.press("ArrowRight")
    expect(rows.last).not_to_have_attribute("d", before or "")
    expect(page).to_have_url(re.compile("step=2"))
    assert page.locator(".figure1 .option").all_text_contents() != probabilities
    assert page.evaluate("window.messages") == sent

    word = page.locator(".figure1 .source").first
    word.click()
    expect(page.locator(".figure1 .source.on")).to_have_count(1)
    expect(page).to_have_url(re.compile(r"word=source\.1"))
    wait_until_idle(page)
    page.keyboard.press("Enter")
    expect(page.locator(".figure1 .source.on")).to_have_count(0)
    wait_until_idle(page)
    expect(word).to_be_focused()

    page.get_by_role("button", name="All sub-layers", exact=True).click()
    expect(page.locator(".figure1 .box.feed")).to_have_count(4)
    page.get_by_role("button", name="Layer 1: all sub-layers").first.click()
    expect(page.locator(".figure1 .box.feed")).to_have_count(3)
    expect(page.get_by_role("button", name="Layer 1: all sub-layers").first).to_be_focused()


def test_arrow_keys_lead_from_part_to_part_and_a_part_opens_in_place(page: Page, app: str) -> None:
    open_page(page, f"{app}/{ADDRESS}")
    page.evaluate("window.isSame = true")
    page.get_by_role("link", name="L2 H3, cross-attention").click()
    expect(page).to_have_url(re.compile(r"/heads\?.*heads_cross=L2\+H3"))
    wait_until_idle(page)
    assert page.evaluate("window.isSame"), "the page was loaded again"
    page.get_by_role("link", name="Figure 1, with the place of this page").click()
    expect(page.locator(".figure1 svg")).to_be_visible()
    wait_until_idle(page)
    page.go_back()
    expect(page).to_have_url(re.compile("/heads"))
    wait_until_idle(page)
    page.go_forward()
    wait_until_idle(page)
    page.get_by_role("link", name="L1 H1, self-attention of the encoder").focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("link", name="L1 H2, self-attention of the encoder")).to_be_focused()
    page.get_by_role("link", name="Input embedding").focus()
    page.keyboard.press("ArrowUp")
    expect(page.get_by_role("link", name="Positional encoding").first).to_be_focused()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/positions"))
    expect(page.get_by_role("main")).to_be_focused()


def test_a_part_shows_its_lines_whose_names_lead_to_other_parts_and_its_section(page: Page, app: str) -> None:
    open_page(page, f"{app}/{ADDRESS}&part=embedding")
    lines, selected = page.locator(".code pre"), page.locator(".figure1 .explained")
    expect(lines).to_contain_text("class Embedding(nn.Module)")
    expect(selected).to_have_attribute("aria-label", re.compile("Input embedding"))
    expect(selected).to_be_in_viewport()
    page.locator(".code").get_by_role("link", name="Section 3.4").click()
    expect(page).to_have_url(re.compile("/sections.*section=3.4"))
    expect(page.locator(".st-key-section_3_4")).to_be_in_viewport(ratio=1)
    wait_until_idle(page)
    page.go_back()
    wait_until_idle(page)
    page.locator(".figure1 .box.attention").last.click()
    expect(lines).to_contain_text("class MultiHeadAttention(nn.Module)")
    lines.get_by_role("button", name="scaled_dot_product_attention").click()
    expect(selected).to_have_attribute("aria-label", re.compile("H1, cross-attention"))
    expect(page).to_have_url(re.compile("part=head"))
    page.locator(".code").get_by_role("link", name="Step by step").click()
    expect(page).to_have_url(re.compile("/step_through.*at=cross-scores"))


def test_a_telephone_has_the_encoder_above_the_decoder(page: Page, app: str) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    open_page(page, f"{app}/{ADDRESS}")
    frames = [each.bounding_box() for each in page.locator(".figure1 .frame").all()]
    [encoder, decoder] = [frame for frame in frames if frame]
    assert encoder["y"] + encoder["height"] < decoder["y"]
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
