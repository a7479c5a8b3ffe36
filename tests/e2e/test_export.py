"""The exported HTML file in a real browser, opened from the disk: it draws, answers, and asks for nothing."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from core.export import record_of, save_explanation
from core.translator import Translator
from tests.e2e.accessibility import violations

HOSTILE = "</script><img src=x onerror=b=1><!--"  # short: its table has a cell for each two tokens


@pytest.mark.new_tab
def test_the_file_answers_without_a_network(page: Page, translator: Translator, tmp_path: Path) -> None:
    explanation = translator.explain(HOSTILE, "Ein <b>Hund</b>.")
    save_explanation(tmp_path / "out.html", record_of(explanation, translator, {"target": "given"}))
    asked: list[str] = []
    failures: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: failures.append(str(error)))
    page.on("console", lambda message: failures.append(message.text) if message.type == "error" else None)
    page.goto(f"{(tmp_path / 'out.html').as_uri()}#cross,1,2,Lines,memory")
    expect(page.locator(".play .sentence")).to_be_in_viewport()
    expect(page.get_by_role("button", name="L2 H3", exact=True)).to_have_attribute("aria-pressed", "true")
    expect(page.locator("h1")).to_contain_text(HOSTILE)
    page.locator("[data-axis=query]").first.hover()
    heaviest = max(
        range(len(explanation.source_tokens)), key=lambda key: explanation.maps["cross"][1].weights[2, 0, key].item()
    )
    weight = explanation.maps["cross"][1].weights[2, 0, heaviest].item()
    assert heaviest < len(explanation.source_tokens)
    expect(page.locator(".values .value", has_text=f"{weight:.3f}").first).to_be_visible()
    page.get_by_role("button", name="L2 H3", exact=True).focus()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Cross attention, L1 H3")).to_be_visible()
    page.get_by_role("button", name="Encoder", exact=True).click()
    page.get_by_role("button", name="Map", exact=True).click()
    page.get_by_role("img", name="L1 H3").focus()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("status")).to_contain_text(
        f"{explanation.maps['encoder_self'][0].weights[2, 0, 0].item():.3f}"
    )
    assert violations(page) == []
    page.get_by_role("button", name="Table", exact=True).click()
    expect(page.locator(".matrix td")).to_have_count(len(explanation.source_tokens) ** 2)
    assert violations(page) == []
    assert page.locator("img, b img").count() == 0
    assert page.evaluate("typeof b") == "undefined"
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    assert len(asked) == 1
    assert failures == []
