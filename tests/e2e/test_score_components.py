"""From a cell of a map to why the head looks there, and on to the heads behind it, in a real browser."""

import re

from playwright.sync_api import Page, expect

from tests.e2e.idle import open_page, wait_until_idle


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
