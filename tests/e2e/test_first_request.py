"""The first request to a server that has just started, before any visitor has run the app."""

import re
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.e2e.idle import open_page
from viz_app.server.launch import running_app


def test_a_deep_link_is_answered_by_its_page(page: Page, tiny_checkpoint: Path) -> None:
    """Streamlit has no list of the pages yet, except of a folder `pages` beside the app, which there must not be."""
    with running_app(tiny_checkpoint) as address:
        open_page(page, f"{address}/contributions?text=Where%3F&beam_size=1")
        expect(page.get_by_text("terms sum to the logit").first).to_be_visible()
        expect(page).to_have_url(re.compile(rf"^{re.escape(address)}/contributions\?"))
        expect(page.get_by_text("Page not found")).to_have_count(0)
