"""The page Experiments in a real browser: heads that are switched, patched outputs, paths between heads."""

import re

from playwright.sync_api import Locator, Page, expect

from tests.e2e.idle import open_page, wait_until_idle


def switch(page: Page, layer: int, head: int) -> Locator:
    return page.get_by_role("button", name=re.compile(rf"^L{layer}, Cross, H{head}: "))


def test_heads_are_switched_off_and_back_on(page: Page, app: str) -> None:
    open_page(page, f"{app}/switches?text=Where%3F&beam_size=1")
    expect(page.get_by_text("the relative probability of the translation")).to_be_visible()
    expect(page.locator("div.legend").first).to_contain_text("the scale is logarithmic")
    expect(switch(page, 2, 1)).to_have_attribute(
        "aria-label", re.compile(r": on, off alone: [+\u2212]?\d\.\d{3} nats$")
    )
    switch(page, 2, 1).click()
    expect(switch(page, 2, 1)).to_have_text("off")
    expect(page.get_by_text("With these heads changed, ")).to_be_visible()
    wait_until_idle(page)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(switch(page, 2, 2)).to_have_attribute("aria-pressed", "true")
    expect(switch(page, 2, 2)).to_be_focused()
    expect(page.get_by_text("Cross: 2 changed")).to_be_visible()
    wait_until_idle(page)
    page.get_by_role("button", name="L1, Encoder: All heads of this layer").click()
    expect(page.get_by_text("Encoder: 4 changed")).to_be_visible()
    wait_until_idle(page)
    page.get_by_role("button", name="All back on").click()
    expect(page.locator(".cell.marked")).to_have_count(0)


ADDRESS = "text=The%20old%20house%20is%20cold.&corrupted=The%20old%20train%20is%20cold.&beam_size=1&target=345.28.346.2"


def test_a_click_on_a_cell_shows_its_heads(page: Page, app: str) -> None:
    open_page(page, f"{app}/patching?{ADDRESS}&patched_token=1")
    expect(page.get_by_text("all patched equals the other run").first).to_be_visible()
    cell = page.get_by_role("button", name=re.compile(r"^<s>, Cross-attention, L2: "))
    cell.click()
    expect(cell).to_have_attribute("aria-pressed", "true")
    expect(page).to_have_url(re.compile(r"patch=cross\.2\.1"))
    expect(page.get_by_text(re.compile(r"^Cross-attention L2 at <s>: .*, and each of its heads alone"))).to_be_visible()
    wait_until_idle(page)
    page.get_by_text("Paths between heads").click()
    sender = page.get_by_role("group", name="Effects of heads through").get_by_role("button").first
    expect(sender).to_be_visible()
    wait_until_idle(page)
    sender.click()
    expect(page.get_by_text("by the position of its output")).to_be_visible()
    expect(page).to_have_url(re.compile(r"sender=encoder_self\.1\.1"))


def test_edges_and_nodes_answer_clicks(page: Page, app: str) -> None:
    address = "text=The%20old%20house.&beam_size=1&target=345.28.346.2&token=3&paths_drawn=10"
    open_page(page, f"{app}/head_paths?{address}")
    expect(page.get_by_text("an edge repeated with hooks").first).to_be_visible()
    graph = page.get_by_role("group", name="Strongest paths")
    edge = graph.get_by_role("button", name=re.compile(" → .*: ")).last
    edge.focus()
    page.keyboard.press("Enter")
    expect(edge).to_have_attribute("aria-pressed", "true")
    expect(page).to_have_url(re.compile("path=[a-z_.0-9]+-[a-z_.0-9]+-[a-z]+"))
    wait_until_idle(page)
    expect(page.get_by_text("Effect by the position")).to_be_visible()
    node = graph.get_by_role("button", name="Cross L2 H1", exact=True)
    node.click()
    expect(node).to_have_attribute("aria-pressed", "true")
    wait_until_idle(page)
    page.get_by_role("link", name="Cross L2 H1 on Heads").click()
    expect(page).to_have_url(re.compile("/heads.*L2"))
