"""The page Models in a real browser: snapshots, pictures and trees."""

import csv
import io
import re
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, expect

from core.images.rendering import Style, render
from tests.e2e.downloads import downloaded
from tests.e2e.idle import open_page, wait_until_idle
from tests.e2e.navigation import enter


def test_arrow_keys_move_through_the_training(page: Page, app: str, history_file: Path) -> None:
    open_page(page, f"{app}/over_training?text=&beam_size=1")  # without a sentence the shipped one is not measured
    for label, text in (("Training", str(history_file)), ("Sentence", "Where?")):
        box = page.get_by_label(label, exact=True)
        enter(box, text)
        wait_until_idle(page)
    assert "history" not in page.url
    expect(page.get_by_text("last snapshot equals its search").first).to_be_visible()  # others are being measured
    slider = page.get_by_role("slider", name="Training steps")
    slider.focus()
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_text("Step 100: ")).to_be_visible()
    expect(page).to_have_url(re.compile("trained_steps=100"))
    wait_until_idle(page)
    cells = page.get_by_role("group", name="Roles of heads by step").get_by_role("button")
    cells.first.click()
    expect(page.get_by_text("Step 0: ")).to_be_visible()
    expect(page).to_have_url(re.compile(r"trained_head=1\.1"))
    page.keyboard.press("p")  # Play
    expect(page.get_by_text("Step 300: ")).to_be_visible()
    expect(page.get_by_role("button", name="Play")).to_be_visible()  # it has stopped at the end


def test_a_link_draws_a_text_and_an_uploaded_picture_replaces_it(page: Page, app: str) -> None:
    open_page(page, f"{app}/picture?picture_text=house&picture_head=L2+H1")
    drawing = page.get_by_role("img", name="The picture for each character, tinted by the attention of L2 H1")
    expect(drawing).to_be_visible()
    expect(page.get_by_text("It reads \u201chouse\u201d")).to_be_visible()
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
    expect(page.get_by_text("It reads \u201cgarden\u201d")).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(0)


def test_brackets_and_words_show_their_attention(page: Page, app: str, tree_checkpoint: Path) -> None:
    open_page(page, f"{app}/parsing?text=It+rains.&beam_size=1&hypotheses=1")
    sidebar = page.get_by_test_id("stSidebar")
    sidebar.locator("input[type=file]").set_input_files(tree_checkpoint)
    expect(sidebar.get_by_role("button", name="Close")).to_be_visible()  # until then the tree is the shipped parser's
    wait_until_idle(page)  # until then the shipped parser's tree may stand beside it
    tree = page.get_by_role("group", name="Tree", exact=True)
    root = tree.locator("[data-node='0']")
    root.click()
    expect(root).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_text("was written, at position 1 of")).to_be_visible()
    wait_until_idle(page)
    page.get_by_text("Closed", exact=True).click()
    expect(
        page.get_by_text(re.compile(r"was written, at position [2-9]\d* of|was written, at position 1\d+ of"))
    ).to_be_visible()
    wait_until_idle(page)
    word = tree.get_by_role("button", name=re.compile("^rains, attention 0\\."))
    word.focus()
    page.keyboard.press("Enter")
    expect(word).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_text("the word rains")).to_be_visible()
    wait_until_idle(page)
    page.keyboard.press("ArrowUp")
    expect(tree.locator(".bracket:focus")).to_have_count(1)
