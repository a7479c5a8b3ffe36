"""Ways to a view of the app by its links, and to what its frame shows."""

from playwright.sync_api import Locator, Page

from tests.e2e.idle import wait_until_idle
from viz_app.page_list import PAGES


def links_to(page: Page, name: str) -> Locator:
    """The link to a view's page in the sidebar and, if the page is shown and has several views, that in its row."""
    found = next(each for each in PAGES if name in [view.name for view in each.views])
    title = next(view.title for view in found.views if view.name == name)
    in_menu = page.get_by_role("navigation", name="Pages", exact=True).get_by_role("link", name=found.title, exact=True)
    if len(found.views) == 1:
        return in_menu
    row = page.get_by_role("navigation", name=f"Views of the page {found.title}", exact=True)
    return in_menu.or_(row.get_by_role("link", name=title, exact=True))


def go_to(page: Page, name: str) -> None:
    """Go to a view, by its address: by the sidebar to its page and then, if that has several, by the row of views."""
    if links_to(page, name).count() == 1:
        links_to(page, name).click()
        wait_until_idle(page)
    if links_to(page, name).count() == 2 and links_to(page, name).last.get_attribute("aria-current") != "page":
        links_to(page, name).last.click()
        wait_until_idle(page)


def enter(box: Locator, text: str) -> None:
    """Type a text in place of what a box has, and press Enter."""
    box.fill(text)
    box.press("Enter")


def shown_translation(page: Page) -> Locator:
    """The label of the translation that is shown, in the list behind the arrow of the sentence bar."""
    return page.get_by_role("option", selected=True, include_hidden=True)
