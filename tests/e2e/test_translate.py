"""The page Translate in a real browser: alternatives, samples, the search, iterations, and a file that is scored."""

import csv
import io
import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from core.cli.commands import main
from tests.e2e.downloads import downloaded
from tests.e2e.idle import open_page, wait_until_idle
from tests.e2e.navigation import go_to, shown_translation

ADDRESS = "{}/translate?text=Where+is+the+station%3F&beam_size=2&pieces=1"


def tokens(page: Page) -> Locator:
    return page.get_by_role("group", name="Translation, token by token").get_by_role("button")


def options(page: Page) -> Locator:
    """The alternatives at the open position."""
    return page.get_by_role("group", name=re.compile("^In place of")).get_by_role("button")


def test_a_token_is_forbidden_and_an_alternative_becomes_the_current_translation(page: Page, app: str) -> None:
    open_page(page, ADDRESS.format(app))
    tokens(page).nth(1).click()
    written = page.locator(".option.written .text")
    name = written.inner_text()
    page.get_by_role("button", name=re.compile("^Forbid .* here$")).click()
    expect(page).to_have_url(re.compile(r"prefix=\d+&.*forbidden=2\.\d+(&|$)"))
    expect(written).not_to_have_text(name)
    expect(page.locator(".option.forbidden .text")).to_have_text(name)
    expect(page.get_by_role("button", name=re.compile("^Forbid .* here$"))).to_be_focused()
    wait_until_idle(page)
    second = written.inner_text()
    page.keyboard.press("Enter")  # the second one, too
    expect(page).to_have_url(re.compile(r"forbidden=2\.\d+\.2\.\d+(&|$)"))
    expect(written).not_to_have_text(second)
    expect(page.locator(".option.forbidden .text")).to_have_text([name, second])
    expect(page.get_by_text("replay equals page").first).to_be_visible()
    wait_until_idle(page)
    page.get_by_role("button", name="Back to the model's own").click()
    expect(written).to_have_text(name)
    expect(page).not_to_have_url(re.compile("forbidden="))
    wait_until_idle(page)

    tokens(page).first.click()
    chosen = options(page).filter(has_not_text="/").last  # not a byte, such as 1/2, which is decoded differently
    name = chosen.locator(".text").inner_text()
    chosen.click()
    expect(page).to_have_url(re.compile(r"prefix=\d+(&|$)"))
    expect(page.locator(".option.written")).to_contain_text(name)
    expect(page.locator(".option.written")).to_be_focused()
    expect(tokens(page).first).to_have_text(name)
    expect(tokens(page).first).to_have_class(re.compile(r"\bforced\b"))
    expect(shown_translation(page)).to_have_text(re.compile("^Forced: "))
    expect(page.get_by_text("replay equals page").first).to_be_visible()
    wait_until_idle(page)

    tokens(page).first.click()  # by keyboard: an own word instead of the second token
    for key in ("ArrowRight", "ArrowDown", "End", "ArrowDown"):
        page.keyboard.press(key)
    own = page.get_by_role("textbox", name=re.compile("^Own word"))
    expect(own).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("The text is blank: type a word")
    own.fill(" Bahnhof")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"prefix=\d+\.\d+"))
    expect(
        page.get_by_role("group", name="Translation", exact=True).get_by_role("button", name="Bahnhof")
    ).to_be_visible()

    wait_until_idle(page)
    go_to(page, "heads")
    expect(page.get_by_role("group", name="Heads", exact=True)).to_be_visible()
    expect(shown_translation(page)).to_have_text(re.compile("^Forced: .*Bahnhof"))
    expect(page).to_have_url(re.compile(r"/heads\?.*prefix=\d+\.\d+"))
    wait_until_idle(page)
    go_to(page, "translate")
    wait_until_idle(page)
    page.get_by_role("button", name="Back to the model's own").click()
    expect(shown_translation(page)).to_have_text(re.compile("^1: "))
    expect(page).not_to_have_url(re.compile("prefix="))


def test_a_sample_is_explained_on_all_pages(page: Page, app: str) -> None:
    open_page(page, f"{ADDRESS.format(app)}&samples=true&num_samples=4")
    rows = page.get_by_role("group", name="Hypotheses and samples").get_by_role("button")
    expect(rows.first).to_have_attribute("aria-pressed", "true")
    expect(rows.last).to_have_attribute("aria-label", re.compile("1 sample$"))
    rows.first.focus()
    page.keyboard.press("End")
    expect(rows.last).to_be_focused()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"target=\d+"))
    expect(rows.last).to_have_attribute("aria-pressed", "true")
    expect(shown_translation(page)).to_have_text(re.compile("^Forced: "))


BEAM = "{}/beam?text=Where+is+the+station%3F&beam_size=2&hypotheses=1&beam_view=tree"


def node(page: Page, position: int, rank: int) -> Locator:
    return page.locator(f'[data-position="{position}"][data-rank="{rank}"]')


def test_the_search_is_walked_with_the_keyboard_and_its_candidates_become_the_translation(page: Page, app: str) -> None:
    """An inner one with the best translation through it, cut off or not; a pruned one, which ends there."""
    open_page(page, BEAM.format(app))
    slider = page.get_by_role("slider", name="Step")
    slider.focus()
    for key in ("Home", "ArrowRight"):
        page.keyboard.press(key)
    expect(page.locator("output")).to_have_text(re.compile("^2 of"))
    expect(node(page, 2, 0)).to_be_visible()
    expect(node(page, 3, 0)).to_be_hidden()
    node(page, 1, 0).focus()
    for key in ("ArrowRight", "ArrowLeft", "ArrowDown"):
        page.keyboard.press(key)
    expect(page.locator("[data-position='2']:focus")).to_have_count(1)
    page.keyboard.press("ArrowUp")
    expect(node(page, 1, 0)).to_be_focused()
    wait_until_idle(page)
    page.get_by_role("link", name="See its attention").click()
    expect(page.get_by_role("group", name="Heads", exact=True)).to_be_visible()
    page.mouse.move(0, 0)  # off what explains itself where the link was
    go_to(page, "beam")
    expect(page.locator("output")).to_have_text(re.compile("^2 of"))  # the step is kept
    slider.press("End")

    whole = page.locator("[data-side=target] .piece")
    inner = page.locator(".node.best").nth(2)
    expect(inner).to_be_visible()
    complete = page.locator(".node.best").count()
    inner.click()
    expect(inner).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".node.way")).to_have_count(complete)  # marked to its end
    expect(shown_translation(page)).to_have_text(re.compile("^1: "))
    wait_until_idle(page)
    page.get_by_role("button", name="Cut off here").click()
    expect(whole).to_have_count(4)  # three tokens and </s>
    expect(page.locator(".node.way")).to_have_count(3)
    expect(inner).to_have_attribute("aria-pressed", "true")
    wait_until_idle(page)
    page.get_by_role("button", name="Show it completed").click()
    expect(page.locator(".node.way")).to_have_count(complete)
    expect(shown_translation(page)).to_have_text(re.compile("^1: "))
    wait_until_idle(page)

    pruned = page.get_by_role("button", name=re.compile("position 1, .* pruned at once")).first
    pruned.click()
    expect(pruned).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".description")).to_contain_text("as many as the beam is wide (2), rank above it.")
    expect(shown_translation(page)).to_have_text(re.compile("^Forced: "))
    expect(whole).to_have_count(2)  # the token and </s>
    wait_until_idle(page)
    page.get_by_role("link", name="See its attention").click()
    expect(page.get_by_role("group", name="Heads", exact=True)).to_be_visible()
    expect(shown_translation(page)).to_have_text(re.compile("^Forced: "))


def test_the_keyboard_moves_to_another_iteration(page: Page, app: str) -> None:
    open_page(page, f"{app}/generation?text=Where+is+the+nearest+station%3F&beam_size=1&iterations=3")
    rows = page.locator(".token-rows").last.get_by_role("row")
    expect(rows).to_have_count(3)
    expect(page.get_by_text(re.compile("iteration 3: each target token attends to all"))).to_be_visible()
    page.get_by_role("slider", name="Iteration shown").press("ArrowLeft")
    expect(page.get_by_text(re.compile("iteration 2: each target token attends to all"))).to_be_visible()
    expect(page).to_have_url(re.compile("generation_step=2"))
    wait_until_idle(page)
    expect(page.locator(".token-rows .selected")).to_have_text(re.compile("^Iteration 2"))


TEXT = "A dog runs.\tEin Hund.\nThe sea.\tDas Meer"


def test_a_file_is_scored_and_a_word_opens_in_its_translation(page: Page, app: str) -> None:
    open_page(page, f"{app}/score")
    file = page.get_by_test_id("stMain").locator("input[type=file]")
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
    open_page(page, worst["link"])
    expect(shown_translation(page)).to_have_text(re.compile(f"^Forced: {re.escape(worst['translation'])}"))
    expect(page.get_by_role("textbox", name="Sentence")).to_have_value(worst["source"])
    expect(page).to_have_url(re.compile(rf"word=target.{worst['number']}(&|$)"))
    expect(page.get_by_role("alert")).to_have_count(0)
