"""The page Compare in a browser: two sentences, their difference, and one selection in all three maps."""

from playwright.sync_api import Page, expect

from tests.e2e.idle import open_page


def test_two_sentences_side_by_side(page: Page, app: str, requests: list[str]) -> None:
    address = "text=A+dog+runs.&second_text=A+wet+dog+runs.&beam_size=1&against=sentence&kind=encoder_self"
    open_page(page, f"{app}/compare?{address}")
    expect(page.get_by_text("Difference", exact=False).first).to_be_visible()
    expect(page.locator("canvas.picture")).to_have_count(3)
    expect(page.get_by_text("(second)", exact=False)).to_be_visible()
    # its second word in the first sentence, its third in the second
    page.get_by_role("button", name="dog", exact=True).first.hover()
    expect(page.locator("button.word.on[data-axis=key]")).to_have_text(["dog", "dog", "dog"])
    page.locator("button.word[data-axis=key]", has_text="runs").nth(1).hover()  # in the second map
    expect(page.locator("button.word.on[data-axis=key]")).to_have_text(["runs", "runs", "runs"])
    assert set(requests) == {app.removeprefix("http://")}
