"""The page Score a file in a browser, and the links of the command."""

import csv
import io
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from core.cli.commands import main
from tests.e2e.downloads import downloaded
from tests.e2e.idle import open_page, wait_until_idle
from tests.e2e.navigation import shown_translation

TEXT = "A dog runs.\tEin Hund.\nThe sea.\tDas Meer"


def test_a_file_is_scored_and_a_word_opens_in_its_translation(page: Page, app: str) -> None:
    open_page(page, f"{app}/score")
    file = page.get_by_test_id("stMain").locator("input[type=file]")
    file.set_input_files({"name": "bad.tsv", "mimeType": "text/plain", "buffer": b"\xff\xfe"})
    expect(page.get_by_text("bad.tsv")).to_be_visible()
    wait_until_idle(page)
    page.get_by_role("button", name="Score the words").click()
    expect(page.get_by_role("alert")).to_contain_text("bad.tsv is not UTF-8 text")
    file.set_input_files({"name": "pairs.tsv", "mimeType": "text/plain", "buffer": TEXT.encode()})
    expect(page.get_by_text("pairs.tsv")).to_be_visible()
    wait_until_idle(page)
    page.get_by_role("button", name="Score the words").click()
    expect(page.get_by_text("2 sentences, by tiny.safetensors")).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(0)
    _, content = downloaded(page, "CSV")
    worst, *_ = csv.DictReader(io.StringIO(content.decode()))
    wait_until_idle(page)
    table = page.locator(".st-key-scored_words").get_by_test_id("stDataFrame")
    table.hover()
    expect(table.get_by_role("button", name="Search")).to_be_visible()
    streamlits = table.get_by_label("Download as CSV")  # in which cells may be formulas
    expect(streamlits).to_have_count(1)
    expect(streamlits).to_be_hidden()
    table.click(position={"x": 400, "y": 52})  # anywhere in the first row
    expect(page.get_by_role("group", name="Translation, token by token")).to_be_visible()
    expect(page.get_by_role("textbox", name="Sentence")).to_have_value(worst["source"])
    pressed = page.get_by_role("group", name="Translation", exact=True).locator("[aria-pressed=true]")
    expect(pressed).to_have_count(1)
    expect(page).to_have_url(re.compile(rf"word=target.{worst['number']}(&|$)"))


def test_a_link_of_the_command_opens_the_word(
    page: Page, app: str, tiny_checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "pairs.tsv").write_text(TEXT, encoding="utf-8")
    command = ["score", "--checkpoint", str(tiny_checkpoint), "--input", str(tmp_path / "pairs.tsv"), "--app", app]
    assert main(command) == 0
    worst, *_ = csv.DictReader(io.StringIO(capsys.readouterr().out), delimiter="\t")
    open_page(page, f"{worst['link']}")
    expect(shown_translation(page)).to_have_text(re.compile(f"^Forced: {re.escape(worst['translation'])}"))
    expect(page.get_by_role("textbox", name="Sentence")).to_have_value(worst["source"])
    expect(page).to_have_url(re.compile(rf"word=target.{worst['number']}(&|$)"))
    expect(page.get_by_role("alert")).to_have_count(0)
