"""From the first screen to an answer, in a few clicks: what is typed does not count."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from playwright.sync_api import Locator, Page, expect

from core import Translator
from core.analysis.corpus.index_file import SUFFIX, load_index
from core.files.shipped_files import shipped_checkpoint
from tests.e2e.idle import open_page, wait_until_idle
from tests.e2e.navigation import enter
from viz_app.server.launch import running_app
from viz_app.views.translate.translation.penalty_note import penalty_changes

COREFERENCE = "The animal didn't cross the street because it was too tired."
LOST = "Tom is thinking of moving to a cabin out in the middle of nowhere."  # often without its cabin


class Clicks:
    """Clicks on a page, each after the app has answered the one before."""

    def __init__(self, page: Page) -> None:
        self.page, self.count = page, 0

    def on(self, target: Locator, *, also: bool = False) -> None:
        """Click, with Ctrl to add a word to the selected ones."""
        target.click(modifiers=["Control"] if also else [])
        self.count += 1
        wait_until_idle(self.page)


def type_sentence(page: Page, text: str) -> None:
    enter(page.get_by_label("Sentence", exact=True), text)
    source = page.get_by_role("group", name="Source", exact=True)
    expect(source.get_by_role("button", name=text.split()[1], exact=True)).to_be_visible()
    wait_until_idle(page)


def test_the_slide_of_the_head_that_links_it_to_animal_in_four(page: Page, app: str) -> None:
    open_page(page, f"{app}/?beam_size=1")
    type_sentence(page, COREFERENCE)
    clicks, source = Clicks(page), page.get_by_role("group", name="Source", exact=True)
    clicks.on(source.get_by_role("button", name="it", exact=True))
    clicks.on(source.get_by_role("button", name="animal", exact=True), also=True)
    clicks.on(page.get_by_role("button", name="Which head links \u201cit\u201d and \u201canimal\u201d?"))
    answer = page.get_by_text(re.compile(r"^it \u2192 animal: L\d H\d has the most weight")).first
    expect(answer).to_be_visible()
    first = re.findall(r"L\d H\d", answer.inner_text())[0]
    expect(page).to_have_url(re.compile(f"kind=encoder_self&heads_encoder_self={first.replace(' ', '.')}"))
    grid = page.get_by_role("group", name="Heads", exact=True)
    expect(grid.get_by_role("button").first).to_have_attribute("aria-label", first)
    expect(grid.get_by_role("button").first).to_have_attribute("aria-pressed", "true")
    clicks.on(page.get_by_role("button", name="Slide").last)
    slide = page.get_by_role("dialog", name="Slide")
    expect(slide.get_by_role("img").first).to_be_visible()
    expect(slide).to_contain_text(f"Encoder attention, {first}")
    with page.expect_download() as download:
        slide.get_by_role("button", name="SVG").click()
    bold = re.findall(r'font-weight="600"[^>]*>([^<]*)<', download.value.path().read_text(encoding="utf-8"))
    assert {"it", "animal"} <= set(bold)  # both ends of the line
    assert clicks.count == 4


def test_from_a_wrong_word_to_the_head_that_wrote_it_in_three(page: Page, app: str) -> None:
    open_page(page, f"{app}/translate?beam_size=1&text=Where+is+the+station%3F")
    clicks = Clicks(page)
    word = page.get_by_role("group", name="Translation", exact=True).get_by_role("button").nth(1)
    text = word.get_attribute("aria-label")
    clicks.on(word)
    clicks.on(page.get_by_role("button", name=f"Why \u201c{text}\u201d?"))
    expect(page.get_by_role("combobox", name="Predicted token")).to_be_visible()
    clicks.on(page.get_by_test_id("stMain").get_by_role("link", name="What heads write"))
    expect(page.get_by_text(re.compile(r"^(Cross|Decoder) L\d H\d contributes")).first).to_be_visible()
    expect(word).to_have_attribute("aria-pressed", "true")
    assert clicks.count == 3


@pytest.fixture(scope="module")
def shipped_app() -> Iterator[str]:
    """The address of the app on the shipped model: an untrained one loses no words."""
    with running_app() as address:
        yield address


def test_a_deep_link_is_answered_by_its_page_before_any_visitor_has_run_the_app(page: Page, shipped_app: str) -> None:
    """Streamlit has no list of the pages yet, except of a folder `pages` beside the app, which there must not be."""
    open_page(page, f"{shipped_app}/contributions?text=Where%3F&beam_size=1")
    expect(page.get_by_text("terms sum to the logit").first).to_be_visible()
    expect(page).to_have_url(re.compile(rf"^{re.escape(shipped_app)}/contributions\?"))
    expect(page.get_by_text("Page not found")).to_have_count(0)


class LostWords(NamedTuple):
    """A sentence whose translation lacks words that the search finds at a larger length penalty."""

    sentence: str
    words: str
    penalty: str


@pytest.fixture
def lost() -> LostWords:
    """The first such sentence of the shipped corpus, whatever the weights of the shipped model are."""
    translator = Translator.from_checkpoint(shipped_checkpoint())
    index = load_index(shipped_checkpoint().with_suffix(SUFFIX))
    for text in [LOST, *(each.source for each in index.sentences[:1000])]:
        second = text.split()[1]
        if not second.isalpha() or text.split().count(second) > 1:  # `type_sentence` waits for this word
            continue
        first = translator.translate(text)
        for change in penalty_changes(first.hypotheses, 0.6):
            if change.penalty > 0.6 and len(change.returning) == 1 and change.returning[0] not in first.text:
                again = translator.translate(text, length_penalty=change.penalty).text
                if change.returning[0] in again:
                    return LostWords(text, change.returning[0], f"{change.penalty:.1f}")
    raise AssertionError("of a thousand sentences, no translation has lost words that return")


@pytest.mark.new_tab
def test_from_a_lost_word_to_the_setting_that_brings_it_back_in_four(
    page: Page, shipped_app: str, lost: LostWords
) -> None:
    open_page(page, f"{shipped_app}/")
    type_sentence(page, lost.sentence)
    clicks, target = Clicks(page), page.get_by_role("group", name="Translation", exact=True)
    expect(target).not_to_contain_text(lost.words)
    clicks.on(page.get_by_role("navigation", name="Pages").get_by_role("link", name="Translate"))
    note = page.get_by_text(f"at a length penalty of {lost.penalty} it returns")
    expect(note).to_contain_text(f"You lost {lost.words}")
    clicks.on(page.get_by_role("button", name=f"Set {lost.penalty}"))
    expect(page).to_have_url(re.compile(rf"length_penalty={float(lost.penalty):g}(&|$)"))
    expect(page.locator(".hypotheses .chosen")).to_contain_text(lost.words)
    assert clicks.count <= 4


def test_from_ones_own_checkpoint_to_its_grid_in_three(page: Page, app: str, other_checkpoint: Path) -> None:
    open_page(page, f"{app}/?beam_size=1")
    clicks, sidebar = Clicks(page), page.get_by_test_id("stSidebar")
    expect(sidebar.get_by_role("button", name=re.compile("Upload$"))).to_be_in_viewport(ratio=1)
    with page.expect_file_chooser() as chooser:
        clicks.on(sidebar.get_by_role("button", name=re.compile("Upload$")))
    chooser.value.set_files({"name": "mine.safetensors", "mimeType": "", "buffer": other_checkpoint.read_bytes()})
    clicks.count += 1
    expect(sidebar).to_contain_text("1 + 1 layers, 2 heads")
    wait_until_idle(page)
    clicks.on(page.get_by_role("navigation", name="Pages").get_by_role("link", name="Heads", exact=True))
    grid = page.get_by_role("group", name="Heads", exact=True)
    expect(grid.get_by_role("button", name=re.compile(r"^L\d H\d$"))).to_have_count(2)
    expect(grid).to_be_in_viewport()
    assert clicks.count == 3


def test_from_an_alternative_to_its_comparison_in_one(page: Page, app: str) -> None:
    open_page(page, f"{app}/translate?beam_size=1&pieces=1&text=Where+is+the+station%3F")
    clicks = Clicks(page)
    why = page.get_by_role("group", name=re.compile("and not another word")).get_by_role("button")
    option = why.nth(2).get_attribute("aria-label") or ""
    why.first.focus()
    page.keyboard.press("ArrowDown")  # the first one forbids the token
    page.keyboard.press("ArrowDown")
    expect(why.nth(2)).to_be_focused()
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".option").first).not_to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(why.nth(2)).to_be_focused()
    clicks.on(why.nth(2))
    expect(page).to_have_url(re.compile(r"/contrast\?.*rather_than="))
    chosen = page.get_by_test_id("stMain").get_by_role("radio", checked=True)
    expect(chosen.first).to_have_text(option.removeprefix("Why not ").removesuffix("?").strip())
    assert clicks.count == 1
