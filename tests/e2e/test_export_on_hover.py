"""The files of a picture show while it is pointed at or has the focus, and stay reachable without a mouse."""

from playwright.sync_api import Page, expect

from tests.e2e.idle import open_page


def test_the_files_of_a_picture_show_on_hover_and_on_focus(page: Page, app: str) -> None:
    open_page(page, f"{app}/heads?text=A+dog+runs.&beam_size=1&heads_cross=L2+H1")
    row = page.locator("[class*='st-key-export_cross-layer1-head0']")
    files = row.locator(":scope > :not(:first-child)")
    svg = files.first
    page.mouse.move(0, 0)
    expect(svg).to_have_css("opacity", "0")
    page.locator("[class*='st-key-lines_0']").hover()
    expect(svg).to_have_css("opacity", "1")
    page.mouse.move(0, 0)
    expect(svg).to_have_css("opacity", "0")
    row.get_by_role("button", name="Slide").focus()
    for each in files.all():
        expect(each).to_have_css("opacity", "1")
