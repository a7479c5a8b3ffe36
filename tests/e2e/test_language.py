"""Another language: the selection stays, and links open with it."""

import json
import re

from playwright.sync_api import Browser, Page, TimeoutError, expect

from tests.e2e.conftest import WINDOW
from tests.e2e.idle import NOTE_REQUESTS, TIMEOUT, open_page, wait_until_idle
from tests.viz_app.language.texts import own_texts

GERMAN = own_texts("de")
SELECTED = "beam_size=2&text=Where%3F&kind=decoder_self&view=map&weights=norms&heads_decoder_self=L1+H2"


def expect_selected(page: Page, names: dict[str, str]) -> None:
    """The options of the address `SELECTED` are selected, in the language with these names."""
    for name in ("Decoder", "Map"):
        expect(page.get_by_role("radio", name=names.get(name, name), exact=True)).to_be_checked()
    expect(page.get_by_text(names.get("Norm-weighted", "Norm-weighted"), exact=True).first).to_be_visible()
    expect(page.locator(".st-key-heads_decoder_self").get_by_text("L1 H2", exact=True)).to_be_visible()


def select_language(page: Page, name: str) -> None:
    """Select a language by keyboard: scrolling the sidebar closes the list again, so open it until it stays."""
    box = page.locator(".st-key-language").get_by_role("combobox")
    box.scroll_into_view_if_needed()
    for _ in range(60):
        box.press("ArrowDown")
        try:
            page.get_by_role("option", name=name).click(timeout=500)
        except TimeoutError:
            continue
        break
    wait_until_idle(page)


def expect_german_uploader(page: Page) -> None:
    """The empty uploader of the page Score is in German, and while a file is dragged over it."""
    uploader = page.locator(".st-key-score_file")
    expect(uploader.get_by_role("button", name=GERMAN["Upload"], exact=True)).to_be_visible()
    limit, drop = GERMAN["{most} MB per file"].format(most=5), GERMAN["Drag and drop a file here"]
    at_rest = f"- region:\n  - button {json.dumps(GERMAN['Upload'])}\n  - text: {limit}"
    expect(uploader).to_match_aria_snapshot(at_rest)
    dropzone = uploader.get_by_test_id("stFileUploaderDropzone")
    for place in ("stMarkdownContainer", "stFileUploaderDropzoneInstructions"):
        assert dropzone.get_by_test_id(place).evaluate("element => element.scrollWidth <= element.clientWidth"), place
    files = page.evaluate_handle("() => new DataTransfer()")
    files.evaluate("files => files.items.add(new File(['a'], 'a.txt'))")
    dropzone.dispatch_event("dragenter", {"dataTransfer": files})
    expect(uploader).to_match_aria_snapshot(f"- region:\n  - text: {drop}")
    expect(uploader.get_by_text("Drag and drop")).to_be_hidden()
    dropzone.dispatch_event("dragleave", {"dataTransfer": files})
    expect(uploader).to_match_aria_snapshot(at_rest)


def test_selected_options_stay_selected_in_another_language(page: Page, app: str) -> None:
    open_page(page, f"{app}/heads?{SELECTED}")
    expect_selected(page, {})
    select_language(page, "Deutsch")
    expect_selected(page, GERMAN)
    expect(page).to_have_url(re.compile("view=map.*language=de"))
    open_page(page, page.url)  # as a copied link
    expect_selected(page, GERMAN)
    page.get_by_role("radio", name=GERMAN.get("Cross", "Cross"), exact=True).click()
    wait_until_idle(page)
    select_language(page, "English")
    expect(page.get_by_role("radio", name="Cross", exact=True)).to_be_checked()
    expect(page.get_by_role("radio", name="Map", exact=True)).to_be_checked()
    expect(page).not_to_have_url(re.compile("language="))


def test_numbers_are_written_as_in_the_visitors_language(page: Page, app: str) -> None:
    """Also by Streamlit, whose tables and sliders take the languages of the browser, though that is English."""
    number = page.locator(".number").first
    open_page(page, f"{app}/translate?language=de&beam_size=2&length_penalty=0.6&text=Where%3F")
    expect(number).to_have_text(re.compile(r"^\d,\d\d$"))
    page.get_by_role("button", name=GERMAN["Settings"]).first.click()
    value = page.get_by_test_id("stSlider").filter(has_text="Length Penalty").get_by_test_id("stSliderThumbValue")
    expect(value).to_have_text("0,6")
    page.keyboard.press("Escape")
    assert page.evaluate("navigator.languages") == ["de"]
    select_language(page, "English")
    expect(number).to_have_text(re.compile(r"^\d\.\d\d$"))
    assert page.evaluate("navigator.languages") == ["en"]


def test_the_page_is_in_the_visitors_language_before_the_app_runs(browser: Browser, app: str) -> None:
    """So is its `lang`, for screen readers, fonts and hyphenation; it follows the switch."""
    with browser.new_context(locale="de-AT", reduced_motion="reduce") as context:
        context.add_init_script(NOTE_REQUESTS)
        page = context.new_page()
        page.set_default_timeout(TIMEOUT)
        page.route("**/*.js", lambda route: route.abort())
        page.goto(f"{app}/heads")
        expect(page.locator("html")).to_have_attribute("lang", "de")
        expect(page.locator("#frame aside")).to_contain_text(GERMAN["Step by step"])
        expect(page.locator("#frame main")).to_have_text(GERMAN["Sentence"])
        page.unroute("**/*.js")
        open_page(page, f"{app}/heads")
        expect(page.locator(".st-key-pages")).to_contain_text(GERMAN["Step by step"])
        expect(page.locator("html")).to_have_attribute("lang", "de")
        select_language(page, "\ud55c\uad6d\uc5b4")
        expect(page.locator("html")).to_have_attribute("lang", "ko")
        select_language(page, "Deutsch")
        expect(page.locator("html")).to_have_attribute("lang", "de")


def test_an_uploader_speaks_the_visitors_language(page: Page, app: str) -> None:
    """Its button for screen readers, too; the English texts are neither shown nor read out.

    So do the names of its files, and why one is refused: in English again once the visitor's language is English.
    """
    page.emulate_media(color_scheme="light")
    open_page(page, f"{app}/score?language=de&beam_size=1&text=Where%3F")
    expect_german_uploader(page)
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size({"width": 390, "height": 900})
    wait_until_idle(page)
    expect_german_uploader(page)

    page.set_viewport_size(WINDOW)
    uploader = page.locator(".st-key-score_file")
    buttons, alert = uploader.get_by_test_id("stFileChips").get_by_role("button"), uploader.get_by_role("alert")
    name = "Remove a.txt"  # a name that looks like the English text
    given = uploader.locator("input[type=file]")
    given.set_input_files({"name": name, "mimeType": "text/plain", "buffer": b"A dog runs."})
    expect(buttons.first).to_have_accessible_name(GERMAN["Remove {name}"].format(name=name))
    expect(buttons.last).to_have_accessible_name(GERMAN["Add files"])
    # Streamlit may take an element out and put it back: its name, which looks English, is not translated again.
    buttons.first.evaluate(
        """async button => {
          const parent = button.parentNode, next = button.nextSibling;
          const drawn = () => new Promise(requestAnimationFrame);
          button.remove();
          await drawn();
          parent.insertBefore(button, next);
          await drawn();
        }"""
    )
    expect(buttons.first).to_have_accessible_name(GERMAN["Remove {name}"].format(name=name))
    expect(page.locator(".st-key-frame_script")).to_be_hidden()  # nothing moves down
    given.set_input_files({"name": "b.txt", "mimeType": "text/plain", "buffer": b"A dog runs.\n" * 500_000})
    reason = GERMAN["The file must have at most {most}."].format(most="5.0MB")
    expect(alert).to_have_text(GERMAN["Error: "] + reason)
    uploader.get_by_text("b.txt").hover()
    expect(page.get_by_test_id("stTooltipErrorContent")).to_have_text(reason)
    expect(buttons).to_have_count(3)
    buttons.first.click()
    expect(buttons).to_have_count(2)
    wait_until_idle(page)
    select_language(page, "English")
    expect(alert).to_have_text("Error: File must be 5.0MB or smaller.")
    expect(buttons.first).to_have_accessible_name("Remove b.txt")
    expect(buttons.last).to_have_accessible_name("Add files")
