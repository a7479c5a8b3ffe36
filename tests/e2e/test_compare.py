"""The page Compare in a real browser: two sentences, and what differs."""

from playwright.sync_api import Page, expect


def test_two_sentences_side_by_side(page: Page, app: str, requests: list[str]) -> None:
    page.goto(f"{app}/compare?text=A+dog+runs.&second_text=A+dog+runs+fast.&beam_size=1&against=Sentence&kind=Encoder")
    expect(page.get_by_text("Difference", exact=False).first).to_be_visible()
    expect(page.locator("canvas.picture")).to_have_count(3)
    expect(page.get_by_text("fast (second)")).to_be_visible()
    assert set(requests) == {app.removeprefix("http://")}
