"""The first head of a sentence, names of heads, and the note on sentences the model does not know, in a browser."""

import re

from playwright.sync_api import Page, expect

from core.analysis.heads.labels import DEFINITIONS
from tests.e2e.idle import open_page, wait_until_idle
from tests.e2e.navigation import enter, go_to

LINKS = r"links \d of \d words like the"


def test_pages_open_with_the_same_head_and_say_what_it_does(page: Page, app: str) -> None:
    """And a sentence of characters that the model does not know is noted, an ordinary one is not."""
    open_page(page, f"{app}/translate?text=\U0001f600\U0001f436\U0001f33b&beam_size=1")
    note = page.get_by_text("The model does not know most of these characters")
    expect(note).to_be_visible()
    enter(page.get_by_label("Sentence", exact=True), "A dog runs.")
    expect(note).to_have_count(0)
    title = page.get_by_text(re.compile(rf"Example: head L\d H\d of cross-attention: .*{LINKS}"))
    expect(title).to_be_visible()
    name = re.search(r"L\d H\d", title.inner_text())
    assert name is not None
    wait_until_idle(page)
    caption = page.get_by_text(re.compile(rf"^{name[0]} .*{LINKS} other heads"))
    go_to(page, "alignment")
    expect(caption).to_be_visible()
    wait_until_idle(page)
    go_to(page, "heads")
    expect(caption).to_be_visible()

    wait_until_idle(page)
    cell = page.get_by_role("group", name="Heads").get_by_role("button", name="L2 H3", exact=True)
    expect(cell).to_have_attribute("title", re.compile(r"^L2 H3: .+\n(.*\n)?Entropy \d\.\d\d, largest weight "))
    page.get_by_role("button", name="More").click()
    roles = page.get_by_test_id("stPopoverBody")
    for role in DEFINITIONS:
        expect(roles.get_by_role("button", name=role, exact=True)).to_be_visible()
    wait_until_idle(page)
    roles.get_by_role("button", name="fixed distance", exact=True).click()
    expect(page.get_by_text(re.compile(r"\d of 8 heads: fixed distance"))).to_be_visible()
