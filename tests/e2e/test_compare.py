"""The page Compare in a real browser: two sentences side by side, and two models over a test set."""

from playwright.sync_api import Page, expect

from core.files.shipped_files import shipped_checkpoint
from tests.e2e.idle import open_page, wait_until_idle


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


TEXT = "A dog runs.\tEin Hund rennt.\nThe sea.\tDas Meer"


def test_a_sentence_of_the_list_opens_with_both_models(page: Page, app: str) -> None:
    open_page(page, f"{app}/test_set")
    sidebar = page.get_by_test_id("stSidebar")
    sidebar.locator("input[type=file]").set_input_files(shipped_checkpoint("multi30k"))
    main = page.get_by_test_id("stMain")
    expect(main.get_by_role("textbox", name="Or paste lines")).to_be_visible()
    wait_until_idle(page)
    main.get_by_role("textbox", name="Or paste lines").fill(TEXT)
    main.get_by_role("button", name="Compare the models").click()
    expect(page.get_by_text("2 sentences")).to_be_visible()
    wait_until_idle(page)
    page.locator(".st-key-test_set_lines").get_by_test_id("stDataFrame").click(position={"x": 18, "y": 52})
    expect(page.get_by_text("Second:")).to_contain_text("tiny.safetensors")
    expect(page.locator("canvas.picture")).not_to_have_count(0)
