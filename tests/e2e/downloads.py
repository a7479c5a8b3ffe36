"""Files that the app offers, as a reader gets them."""

from pathlib import Path

from playwright.sync_api import Page, expect


def downloaded(page: Page, button: str, drawing: str = "") -> tuple[str, bytes]:
    """The name and the content of what a button of this name downloads, of the drawing whose files have names that
    begin so.

    A file is made when it is asked for, so while the page is being drawn anew a click on the old button gives nothing.
    """
    page.wait_for_timeout(250)  # what was done just now is on its way to the server
    expect(page.locator(".stApp")).to_have_attribute("data-test-script-state", "notRunning")
    with page.expect_download() as download:
        page.locator(f"[class*='st-key-export_{drawing}']").get_by_role("button", name=button, exact=True).click()
    return download.value.suggested_filename, Path(download.value.path()).read_bytes()
