"""What pictures give in a real browser: files, a slide, Python, and an HTML file that opens from the disk."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from core.export import record_of, save_explanation
from core.translator import Translator
from tests.e2e.accessibility import violations, violations_when_drawn
from tests.e2e.idle import open_page, wait_until_idle

HOSTILE = "</script><img src=x onerror=b=1><!--"  # short: its table has a cell for each two tokens


@pytest.mark.new_tab
def test_the_file_answers_without_a_network(page: Page, translator: Translator, tmp_path: Path) -> None:
    explanation = translator.explain(HOSTILE, "Ein <b>Hund</b>.")
    save_explanation(tmp_path / "out.html", record_of(explanation, translator, {"target": "given"}))
    asked: list[str] = []
    failures: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: failures.append(str(error)))
    page.on("console", lambda message: failures.append(message.text) if message.type == "error" else None)
    page.goto(f"{(tmp_path / 'out.html').as_uri()}#cross,1,2,Lines,memory")
    expect(page.locator(".play .sentence")).to_be_in_viewport()
    expect(page.get_by_role("button", name="L2 H3", exact=True)).to_have_attribute("aria-pressed", "true")
    expect(page.locator("h1")).to_contain_text(HOSTILE)
    page.mouse.wheel(0, -10)  # until the reader acts, the page scrolls to the stop
    page.locator("[data-axis=query]").first.hover()
    heaviest = max(
        range(len(explanation.source_tokens)), key=lambda key: explanation.maps["cross"][1].weights[2, 0, key].item()
    )
    weight = explanation.maps["cross"][1].weights[2, 0, heaviest].item()
    assert heaviest < len(explanation.source_tokens)
    expect(page.locator(".values .value", has_text=f"{weight:.3f}").first).to_be_visible()
    page.get_by_role("button", name="L2 H3", exact=True).focus()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Cross attention, L1 H3")).to_be_visible()
    page.get_by_role("button", name="Encoder", exact=True).click()
    page.get_by_role("button", name="Map", exact=True).click()
    page.get_by_role("img", name="L1 H3").focus()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("status")).to_contain_text(
        f"{explanation.maps['encoder_self'][0].weights[2, 0, 0].item():.3f}"
    )
    assert violations(page) == []
    page.get_by_role("button", name="Table", exact=True).click()
    expect(page.locator(".matrix td")).to_have_count(len(explanation.source_tokens) ** 2)
    assert violations(page) == []
    assert page.locator("img, b img").count() == 0
    assert page.evaluate("typeof b") == "undefined"
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    assert len(asked) == 1
    assert failures == []


def test_files_show_on_hover_and_on_focus_and_a_slide_and_python_in_dialogs(page: Page, app: str) -> None:
    """The slide has an address, which opens and closes it."""
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
