"""All three kinds of attention in one matrix."""

import re

from playwright.sync_api import Page, expect

from tests.e2e.downloads import downloaded
from tests.e2e.idle import open_page, wait_until_idle


def test_the_joint_view_by_layer_and_head(page: Page, app: str) -> None:
    open_page(page, f"{app}/heads?text=The+dog+is+wet.&beam_size=1&kind=joint&joint_layer=L1")
    matrix = page.get_by_role("img", name="L1 mean, ")
    expect(page.get_by_text("the source does not see the target")).to_be_visible()
    page.get_by_role("button", name="dog, source").first.hover()
    expect(page.get_by_role("status")).to_contain_text("dog is attended to by")
    dog = page.get_by_role("group", name="Source").get_by_role("button", name="dog")
    expect(dog).to_have_class(re.compile("pointed"))
    matrix.click(position={"x": 12, "y": 12})  # the first row
    expect(page.get_by_role("button", name="The", exact=True)).to_have_attribute("aria-pressed", "true")
    wait_until_idle(page)
    box = page.get_by_role("combobox", name="Head")
    box.click()
    page.get_by_role("option", name="Maximum of heads").click()
    file, content = downloaded(page, "SVG")
    assert file == "joint-layer0-maximum.svg"
    assert content.startswith(b"<svg")
