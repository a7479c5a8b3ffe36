"""The export row in a browser: a slide, and the same in Python."""

import re
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.e2e.accessibility import violations_when_drawn
from tests.e2e.idle import open_page, wait_until_idle


def test_a_slide_and_python_are_shown_in_dialogs(page: Page, app: str) -> None:
    """The slide has an address, which opens and closes it."""
    open_page(page, f"{app}/heads?text=A+dog+runs.&beam_size=1&heads_cross=L2+H1")
    row = page.locator("[class*='st-key-export_cross-layer1-head0']")
    row.get_by_role("button", name="Slide").click()
    slide = page.get_by_role("dialog", name="Slide")
    picture = slide.get_by_role("img")
    expect(picture).to_have_attribute("alt", re.compile("Cross attention, L2 H1: .*A dog runs.*tiny.safetensors"))
    for width, height in ((1280, 900), (390, 800), (1600, 500)):
        page.set_viewport_size({"width": width, "height": height})
        wait_until_idle(page)
        box = picture.bounding_box()
        assert box is not None
        assert box["width"] > 0.8 * width
        assert 0 <= box["x"] < box["x"] + box["width"] <= width
    page.set_viewport_size({"width": 1280, "height": 900})
    assert violations_when_drawn(page, ".st-key-files_cross-layer1-head0") == []
    wait_until_idle(page)
    with page.expect_download() as download:
        slide.get_by_role("button", name="PDF").click()
    assert download.value.suggested_filename == "cross-layer1-head0-slide.pdf"
    assert Path(download.value.path()).read_bytes().startswith(b"%PDF")
    page.route("**/pdf", lambda route: route.fulfill(status=400, body="the SVG is too large"))
    slide.get_by_role("button", name="PDF").click()
    expect(slide.get_by_role("alert")).to_have_text("No file: the SVG is too large")
    slide.get_by_role("button", name="Close").click()
    expect(slide).to_have_count(0)
    wait_until_idle(page)

    dialog = page.get_by_role("dialog")
    row.get_by_role("button", name="Python").click()
    expect(dialog).to_contain_text("Translator.from_checkpoint(")
    expect(dialog).to_contain_text("save_csv(table, 'cross-layer1-head0.csv')")
    dialog.get_by_role("button", name="Close").click()
    expect(dialog).to_have_count(0)

    wait_until_idle(page)  # the menu has Python for the whole explanation
    page.get_by_role("button", name="Share / download").click()
    page.get_by_role("button", name="The same in Python").click()
    expect(page.get_by_role("dialog", name="The same in Python")).to_contain_text(
        "save_explanation('a-dog-runs.json', record)"
    )
    wait_until_idle(page)
    dialog.get_by_role("button", name="Close").click()
    expect(dialog).to_have_count(0)

    wait_until_idle(page)
    row.get_by_role("button", name="Slide").click()
    expect(picture).to_be_visible()
    expect(page).to_have_url(re.compile("slide=cross-layer1-head0"))
    wait_until_idle(page)
    page.reload()
    expect(picture).to_be_visible()
    wait_until_idle(page)
    page.keyboard.press("Escape")
    expect(slide).to_have_count(0)
    expect(page).not_to_have_url(re.compile("slide="))
    wait_until_idle(page)
    page.go_back()
    expect(picture).to_be_visible()
    wait_until_idle(page)
    page.go_forward()
    expect(slide).to_have_count(0)
    expect(page).not_to_have_url(re.compile("slide="))
