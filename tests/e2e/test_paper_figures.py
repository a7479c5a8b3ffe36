"""The page Figures in a browser."""

import re

from playwright.sync_api import Page, expect

from tests.e2e.downloads import downloaded
from tests.e2e.idle import open_page, wait_until_idle
from tests.e2e.navigation import enter


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
