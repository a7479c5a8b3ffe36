"""The page Figures in a browser."""

from playwright.sync_api import Page, expect

from tests.e2e.downloads import downloaded


def test_a_figure_of_another_sentence_is_downloaded(page: Page, app: str) -> None:
    page.goto(f"{app}/paper_figures?text=The+dog+is+wet.&beam_size=1")
    expect(page.locator(".stImage img")).to_have_attribute("alt", "Figure 3: lines between words", timeout=60_000)
    page.get_by_role("radio", name="Figure 4").click()
    picture = page.locator(".stImage img")
    expect(picture).to_have_attribute("alt", "Figure 4: lines between words")
    box = page.get_by_label("Sentence of the figure")
    expect(box).to_have_count(1)  # and none for figure 3
    box.fill("My dog loves its bone.")
    box.press("Enter")
    expect(page.get_by_text("so its layer 2 is drawn")).to_be_visible()
    for name, start in (("SVG", b"<?xml"), ("PDF", b"%PDF")):
        file, content = downloaded(page, name)
        assert content.startswith(start)
        assert name != "SVG" or b">bone<" in content
        assert file == f"figure4-layer1.{name.lower()}"
