"""The page Read a picture in a browser, with the shipped model that reads pictures."""

import csv
import io
import re

from PIL import Image
from playwright.sync_api import Page, expect

from core.images.rendering import Style, render
from tests.e2e.downloads import downloaded
from tests.e2e.idle import open_page, wait_until_idle


def test_a_link_draws_a_text_and_an_uploaded_picture_replaces_it(page: Page, app: str) -> None:
    open_page(page, f"{app}/picture?picture_text=house&picture_head=L2+H1")
    drawing = page.get_by_role("img", name="The picture for each character, tinted by the attention of L2 H1")
    expect(drawing).to_be_visible()
    expect(page.get_by_test_id("stCode")).to_have_text("house")
    _, content = downloaded(page, "CSV")
    rows = list(csv.DictReader(io.StringIO(content.decode())))
    assert {row["character"] for row in rows} == {*"house", "</s>"}
    page.get_by_text("Upload a picture").click()
    expect(drawing).to_have_count(0)
    expect(page).to_have_url(re.compile("picture_source=uploaded"))
    wait_until_idle(page)
    file = io.BytesIO()
    Image.fromarray(render("garden", Style())).save(file, "PNG")
    upload = page.get_by_test_id("stMain").locator("input[type=file]")
    upload.set_input_files({"name": "up.png", "mimeType": "image/png", "buffer": file.getvalue()})
    expect(page.get_by_test_id("stCode")).to_have_text("garden")
    expect(page.get_by_role("alert")).to_have_count(0)
