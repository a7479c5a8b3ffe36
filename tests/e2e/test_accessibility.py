"""All pages by the rules of axe-core (WCAG 2.2, A and AA, and its best practices), light and dark, wide and narrow."""

from pathlib import Path
from urllib.parse import urlencode

from playwright.sync_api import Page, expect

from tests.e2e.accessibility import violations
from viz_app.pages import GROUPS, PAGES

DARK = tuple(group[0].name for group in GROUPS.values())  # one page of each group is checked in dark, too
SAME = ("[data-testid=stSidebar]",)  # on every page


def settle(page: Page) -> None:
    """Wait until a page has run."""
    expect(page.locator(".stApp")).to_have_attribute("data-test-script-state", "notRunning")
    expect(page.locator(".stApp [data-stale=true]")).to_have_count(0)


def test_no_page_violates_a_rule(page: Page, app: str, history_file: Path) -> None:
    first, *others = sorted(PAGES, key=lambda each: each.name != "over_training")  # on a tiny training
    address = urlencode({"tour": "off", "text": "A dog runs.", "beam_size": 2, "history": history_file})
    page.goto(f"{app}/{first.name}?{address}")
    found: dict[str, list[str]] = {}
    for each in (first, *others):
        link = page.get_by_test_id("stSidebarNav").get_by_role("link", name=each.title, exact=True)
        if each is not first:
            link.click()
        expect(link).to_have_attribute("aria-current", "page")  # the server has begun to run it
        settle(page)
        found[each.name] = violations(page, without=SAME if found else ())
        if each.name in DARK:
            page.emulate_media(color_scheme="dark")
            settle(page)
            found[f"{each.name}, dark"] = violations(page, rules=["color-contrast"])
            page.emulate_media(color_scheme="light")
    assert {name: each for name, each in found.items() if each} == {}
