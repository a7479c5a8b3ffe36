"""The page Paper in a real browser: figures, positions, Table 1, and links of the sections."""

import re

from playwright.sync_api import Page, expect

from tests.e2e.downloads import downloaded
from tests.e2e.idle import open_page, wait_until_idle
from tests.e2e.navigation import enter
from viz_app.views.paper.sections.paper_sections import SECTIONS


def test_a_figure_of_another_sentence_is_downloaded(page: Page, app: str) -> None:
    open_page(page, f"{app}/paper_figures?text=The+dog+is+wet.&beam_size=1")
    expect(page.get_by_role("group", name="Figure 3: lines between words")).to_be_visible()
    page.get_by_role("radio", name="Figure 4").click()
    expect(page.get_by_role("group", name="Figure 4: lines between words")).to_be_visible()
    wait_until_idle(page)
    box = page.get_by_label("Sentence of the figure")
    expect(box).to_have_count(1)  # and none for figure 3
    enter(box, "My dog loves its bone.")
    expect(page.get_by_text("has the most weight of all layers")).to_be_visible()
    file, content = downloaded(page, "SVG")
    assert re.fullmatch(r"figure4-layer[01]\.svg", file)
    assert content.startswith(b"<svg")
    assert b">bone<" in content


def test_the_encoding_is_drawn_and_its_rotation_checked(page: Page, app: str) -> None:
    open_page(page, f"{app}/positions?text=Where%3F&beam_size=1")
    expect(page.get_by_text("Encoding: a row for each position")).to_be_visible()
    expect(page.locator(".js-plotly-plot .heatmaplayer image")).to_be_visible()
    assert downloaded(page, "SVG")[0] == "positions-encoding.svg"
    page.get_by_role("radio", name="First layer").click()
    cells = page.get_by_role("img", name=re.compile("^Content to position, L1 H1, "))
    cells.press("ArrowDown")
    cells.press("ArrowRight")
    cells.press("Enter")
    expect(page.get_by_text(re.compile("whose sum is the score"))).to_be_visible()
    expect(page.get_by_text("products sum to the score").first).to_be_visible()
    expect(page).to_have_url(re.compile(r"products=scores\.encoder_self\.1\.1\.1\.2"))
    wait_until_idle(page)
    page.get_by_role("radio", name="Rotation").click()
    expect(page.get_by_text("rotated by k = 5 differs")).to_be_visible()
    wait_until_idle(page)
    page.get_by_test_id("stSlider").filter(has_text="k").get_by_role("slider").last.focus()
    page.keyboard.press("ArrowRight")
    checked = page.get_by_text(re.compile(r"rotated by k = 6 differs from PE\(pos \+ 6\) by at most [0-9]e\u2212"))
    expect(checked).to_be_visible()
    expect(page).to_have_url(re.compile("offset=6"))


def test_every_section_is_there_with_its_link(page: Page, app: str) -> None:
    open_page(page, f"{app}/sections")
    expect(page.get_by_test_id("stLinkButton")).to_have_count(len(SECTIONS))
    links = page.get_by_test_id("stLinkButton").get_by_role("link").all()
    assert [link.get_attribute("href") for link in links] == [section.address for section in SECTIONS]
    with page.context.expect_page() as opened:
        links[3].click()
    expect(opened.value).to_have_url(re.compile("/heads\\?.*kind=joint"))
    opened.value.close()


def test_table_1_is_drawn_moved_and_measured(page: Page, app: str) -> None:
    open_page(page, f"{app}/why?text=Where%3F&beam_size=1")
    expect(page.locator(".table-1 tbody tr")).to_have_count(5)
    expect(page.locator(".chart svg[role=img] .curve").first).to_be_visible()
    expect(page.get_by_text("At n = 64 < d = 512")).to_be_visible()
    page.get_by_role("slider", name="n, positions").focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    expect(page.get_by_text("At n = d = 512")).to_be_visible()
    expect(page).to_have_url(re.compile("why_n=512"))
    assert downloaded(page, "SVG")[0] == "layers-time.svg"
    page.get_by_role("button", name="Measure on this machine").click()
    page.get_by_test_id("stMainBlockContainer").get_by_role("button", name="Stop").click()
    expect(page.get_by_text(re.compile(r"^\d+ of \d+ layers$"))).to_be_visible()
    expect(page.get_by_role("button", name="Continue")).to_be_visible()


def test_a_sentence_that_a_part_of_a_page_offers_is_translated(page: Page, app: str) -> None:
    open_page(page, f"{app}/exercises?text=Where%3F&beam_size=1&exercise=negation")
    page.get_by_role("button", name="I don't know where he lives.").click()
    expect(page).to_have_url(re.compile("text=I\\+don%27t\\+know"))
