"""All pages by the rules of axe-core (WCAG 2.2, A and AA, and its best practices), light and dark, wide and narrow.

On the same way through all pages, which is most of the time that this takes, each first picture is held to a limit.
"""

import re
from pathlib import Path
from urllib.parse import urlencode

from playwright.sync_api import Page, expect

from tests.e2e.accessibility import violations_when_drawn
from tests.e2e.first_picture import LIMIT, MOST_CONTROLS, WIDTH, controls, first_picture
from tests.e2e.idle import open_page, wait_until_idle
from tests.e2e.navigation import enter, go_to, links_to
from tests.viz_app.language.texts import own_texts
from viz_app.page_list import PAGES, VIEWS

PAGE_OF_PAPER = next(page for page in PAGES if page.title == "Paper")
DARK = tuple(page.views[0].name for page in PAGES)  # one view of each page is checked in dark, too
GERMAN = own_texts("de")
RATE = "Learning rate"  # a view of the page Training; of a tiny model there are no curves
# The same on every page: the sidebar, the box of the sentence, its words and the menu beside them.
SAME = ("[data-testid=stSidebar]", ".st-key-top-bar")


def test_charts_say_what_they_show(page: Page, app: str) -> None:
    address = urlencode({"text": "Where?", "beam_size": 1, "language": "de"})
    open_page(page, f"{app}/positions?{address}")
    expect(
        page.get_by_role("figure", name=GERMAN["a row for each position, a column for each dimension."])
    ).to_be_visible()
    words = page.locator(".stElementContainer:has(.stPlotlyChart) + .stElementContainer .spoken")
    expect(words).to_contain_text(f"{GERMAN['All values']}: ")
    box = words.locator("xpath=ancestor::*[contains(@class, 'stElementContainer')][1]").bounding_box()
    assert box is not None
    assert box["height"] == 1  # for screen readers alone
    open_page(page, f"{app}/training?{address}&{urlencode({'training_view': GERMAN[RATE]})}")
    curves = page.get_by_role("img", name=f"{GERMAN['learning rate']}; {GERMAN['step']}.")
    expect(curves).to_have_accessible_name(re.compile(f"{GERMAN['these settings']}: "))


def test_no_page_violates_a_rule_or_has_its_first_picture_low(
    page: Page, app: str, history_file: Path, blocked: list[str]
) -> None:
    page.set_viewport_size({"width": WIDTH, "height": 900})
    first, *others = sorted(VIEWS, key=lambda each: each.name != "over_training")  # on a tiny training
    address = urlencode({"text": "", "beam_size": 2})
    open_page(page, f"{app}/{first.name}?{address}")
    for label, text in (("Training", str(history_file)), ("Sentence", "A dog runs.")):
        box = page.get_by_label(label, exact=True)
        enter(box, text)
        wait_until_idle(page)
    found: dict[str, list[str]] = {}
    tops: dict[str, float] = {}
    counts: dict[str, int] = {}  # of controls
    checked: dict[str, set[str]] = {"light": set(), "dark": set()}  # what is the same, once it has been checked

    def check(scheme: str, rules: list[str] | None = None) -> list[str]:
        violated = violations_when_drawn(page, without=sorted(checked[scheme]), rules=rules)
        checked[scheme].update(selector for selector in SAME if page.locator(selector).is_visible())
        return violated

    for each in (first, *others):
        if each is not first:
            go_to(page, each.name)
        expect(links_to(page, each.name).last).to_have_attribute("aria-current", "page")  # the server has run it
        found[each.name] = check("light")
        tops[each.name] = first_picture(page) or 0
        counts[each.name] = controls(page)
        if each.name in DARK:
            page.emulate_media(color_scheme="dark")
            found[f"{each.name}, dark"] = check("dark", ["color-contrast"])
            page.emulate_media(color_scheme="light")
    assert {name: each for name, each in found.items() if each} == {}
    assert checked == {"light": set(SAME), "dark": set(SAME)}
    assert {name: top for name, top in tops.items() if top > LIMIT} == {}
    of_paper = {each.name for each in PAGE_OF_PAPER.views}  # formulas and experiments to set up
    assert {name: count for name, count in counts.items() if count > MOST_CONTROLS and name not in of_paper} == {}
    assert sum(top > 0 for top in tops.values()) > len(VIEWS) / 2
    assert blocked == []
