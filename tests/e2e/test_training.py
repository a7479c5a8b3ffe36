"""The page Training in a real browser: a run is followed while it writes."""

import json
from pathlib import Path
from urllib.parse import urlencode

from playwright.sync_api import Page, expect

from core.files.runlog import LogLine, format_log
from tests.e2e.idle import open_page, wait_until_idle
from tests.e2e.navigation import enter, go_to


def lines(last_step: int) -> list[LogLine]:
    return [{"kind": "train", "step": step, "nll": 5 / step, "rate": 1e-4} for step in range(25, last_step + 1, 25)]


def test_a_run_in_progress_is_followed(page: Page, app: str, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text(format_log(lines(50)), encoding="utf-8")
    (tmp_path / "recipe.json").write_text(json.dumps({"preset": "tiny", "recipe": {"steps": 100}}), encoding="utf-8")
    open_page(page, f"{app}/training?{urlencode({'text': 'Where?', 'beam_size': 1, 'run_folder': tmp_path})}")
    expect(page.get_by_text("This link names a file or folder, and a link opens none")).to_be_visible()
    box = page.get_by_label("Folder of a run", exact=True)
    expect(box).to_have_value("")
    enter(box, str(tmp_path))
    expect(page.get_by_text("This link names")).to_have_count(0)
    expect(page.get_by_text("step 50 of 100, in progress")).to_be_visible()
    expect(page.locator(".chart [role=img] .curve")).to_have_count(1)
    with log.open("a", encoding="utf-8") as file:
        file.write(format_log(lines(75)[-1:]) + '{"kind": "valid", "st')
    expect(page.get_by_text("step 75 of 100, in progress")).to_be_visible()  # nobody touched the page
    with log.open("a", encoding="utf-8") as file:
        file.write('ep": 100, "nll": 0.1, "perplexity": 1.105}\n')
    expect(page.get_by_text("step 100 of 100, not in progress")).to_be_visible()
    expect(page.locator(".chart [role=img] .curve")).to_have_count(2)
    wait_until_idle(page)
    page.get_by_role("radio", name="Learning rate").click()
    expect(page.get_by_text("these settings", exact=True)).to_be_visible()
    slider = page.get_by_role("slider", name="Warm-up")
    slider.focus()
    page.keyboard.press("ArrowLeft")
    wait_until_idle(page)
    assert tmp_path.name not in page.url
    assert "run_folder" not in page.url
    go_to(page, "translate")
    wait_until_idle(page)
    page.go_back()
    wait_until_idle(page)
    assert "/training" in page.url
    expect(box).to_have_value(str(tmp_path))  # of this session
