"""A model of another project in a browser: opened by its files and by its path, reported, switched and closed."""

import re
from pathlib import Path

import numpy as np
from playwright.sync_api import Page, expect

from core.export.attention_arrays import save_arrays
from tests.core.formats.marian_models import Pairs, write_model
from tests.e2e.idle import open_page, wait_until_idle
from tests.e2e.navigation import enter, go_to


def test_a_model_is_opened_by_its_files_and_by_its_path(
    page: Page, app: str, tmp_path: Path, parallel_text: Pairs, requests: list[str]
) -> None:
    folder = tmp_path / "opus-mt-en-mul"
    write_model(folder, parallel_text, codes=[">>deu<<", ">>bar<<"])
    open_page(page, f"{app}/checkpoint?beam_size=1&text=The+old+house.")
    sidebar, table = page.get_by_test_id("stSidebar"), page.locator(".facts-table thead th")
    expect(table).to_have_text(["tiny.safetensors", "Paper, base model", "Section"])
    sidebar.locator("input[type=file]").set_input_files(list(folder.iterdir()))
    files = f"en-de ({len(list(folder.iterdir()))} files)"
    expect(table).to_have_text([files, "tiny.safetensors", "Paper, base model", "Section"])
    expect(sidebar).to_contain_text("Marian (OPUS-MT) in Hugging Face's layout")
    expect(sidebar.get_by_text("config.json")).to_have_count(0)  # the uploader is empty again
    expect(page).to_have_url(re.compile("text=%3E%3Edeu%3C%3C"))

    wait_until_idle(page)
    by_path, path = sidebar.get_by_role("button", name="By path"), page.get_by_placeholder("~/models/opus-mt-en-de")
    by_path.click()
    enter(path, f"{folder}-2")
    expect(sidebar.get_by_role("alert")).to_contain_text("There is no file or folder")
    expect(sidebar.get_by_role("alert")).to_be_in_viewport(ratio=1)
    expect(path).to_have_value(f"{folder}-2")
    wait_until_idle(page)
    enter(path, str(folder))
    expect(sidebar.get_by_role("alert")).to_have_count(0)
    wait_until_idle(page)
    by_path.click()
    expect(path).to_have_value("")
    page.keyboard.press("Escape")
    expect(table).to_have_count(4)  # it is the same model

    wait_until_idle(page)
    page.get_by_role("button", name="Close").click()
    expect(table).to_have_text(["tiny.safetensors", "Paper, base model", "Section"])
    expect(page).to_have_url(re.compile("text=The"))
    assert set(requests) == {app.removeprefix("http://")}


def test_attention_without_a_model_is_drawn_and_closed(page: Page, app: str, tmp_path: Path) -> None:
    rows = np.random.default_rng(0).dirichlet(np.ones(3), size=(2, 4, 2))
    arrays = {"source_tokens": ["\u2581A", "\u2581<i>dog", "</s>"], "target_tokens": ["<s>", "\u2581Hund", "</s>"]}
    save_arrays(
        tmp_path / "dog.npz", {"cross_attentions": rows} | {name: np.array(each) for name, each in arrays.items()}
    )
    open_page(page, f"{app}/heads?beam_size=1&text=The+old+house.")
    sidebar, box = page.get_by_test_id("stSidebar"), page.get_by_role("textbox", name="Sentence")
    sidebar.locator("input[type=file]").set_input_files(tmp_path / "dog.npz")
    expect(sidebar).to_contain_text("cross 2 of 4 heads")
    expect(page.get_by_role("button", name="<i>dog").first).to_be_visible()
    expect(page.get_by_text("Encoder", exact=True)).to_have_count(0)
    expect(box).to_be_hidden()
    wait_until_idle(page)
    go_to(page, "switches")
    expect(page.get_by_test_id("stAlert")).to_contain_text("dog.npz is attention without a model.")
    wait_until_idle(page)
    page.get_by_role("button", name="Close").click()
    expect(page.get_by_test_id("stAlert")).to_have_count(0)
    expect(box).to_have_value("The old house.")
