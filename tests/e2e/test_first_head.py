"""The first head of a sentence, names of heads, and the note on sentences the model does not know, in a browser."""

import re

from playwright.sync_api import Page, expect

from core.analysis.heads.labels import DEFINITIONS

SENTENCE = "text=A+dog+runs.&beam_size=1"


def test_all_pages_open_with_the_same_head_and_say_what_it_links(page: Page, app: str) -> None:
    page.goto(f"{app}/?{SENTENCE}&tour=off")
    title = page.get_by_text(re.compile(r"Example: head L\d H\d of cross-attention: .*links \d of \d words like the"))
    expect(title).to_be_visible()
    name = re.search(r"L\d H\d", title.inner_text())
    assert name is not None
    page.goto(f"{app}/heads?{SENTENCE}")
    expect(page.get_by_text(re.compile(rf"^{name[0]} .*links \d of \d words like the other heads"))).to_be_visible()
    page.goto(f"{app}/alignment?{SENTENCE}")
    expect(page.get_by_text(re.compile(rf"^{name[0]} .*links \d of \d words like the other heads"))).to_be_visible()


def test_a_head_says_what_it_does_on_hover_and_in_its_score_card(page: Page, app: str) -> None:
    page.goto(f"{app}/heads?{SENTENCE}")
    cell = page.get_by_role("group", name="Heads").get_by_role("button", name="L2 H3", exact=True)
    expect(cell).to_have_attribute("title", re.compile(r"^L2 H3: .+\n(.*\n)?Entropy \d\.\d\d, largest weight "))
    page.get_by_role("button", name="What heads do").click()
    for name in DEFINITIONS:
        expect(page.get_by_test_id("stPopoverBody").get_by_role("button", name=name, exact=True)).to_be_visible()
    page.get_by_test_id("stPopoverBody").get_by_role("button", name="fixed distance", exact=True).click()
    expect(page.get_by_text(re.compile(r"\d of 8 heads: fixed distance"))).to_be_visible()


def test_a_sentence_of_unknown_characters_is_noted_and_an_ordinary_one_is_not(page: Page, app: str) -> None:
    page.goto(f"{app}/?text=\U0001f600\U0001f436\U0001f33b&beam_size=1&tour=off")
    note = page.get_by_text("The model does not know most of these characters")
    expect(note).to_be_visible()
    box = page.get_by_label("Sentence", exact=True)
    box.fill("A dog runs.")
    box.press("Enter")
    expect(note).to_have_count(0)
