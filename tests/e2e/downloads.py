"""Files downloaded from the app."""

from pathlib import Path

from playwright.sync_api import Page

from tests.e2e.idle import wait_until_idle


def downloaded(page: Page, button: str, drawing: str = "") -> tuple[str, bytes]:
    """Click a download button of a `drawing`, the beginning of its files' names; return a file's name and content.

    A click on a button that is about to be replaced downloads nothing.
    """
    wait_until_idle(page)
    with page.expect_download() as download:
        page.locator(f"[class*='st-key-export_{drawing}']").get_by_role("button", name=button, exact=True).click()
    return download.value.suggested_filename, Path(download.value.path()).read_bytes()
