"""The page Head to head in a real browser: an edge shows its flow, a node selects its head."""

import re

from playwright.sync_api import Page, expect

from tests.e2e.idle import open_page, wait_until_idle


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
