"""The menu "Share / download": its files have the announced contents, and are made on demand."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from streamlit.testing.v1 import AppTest

from core.export import load_explanation
from tests.viz_app.pages import healthy, reading
from viz_app.drawing import head_names
from viz_app.frame.share_menu import MENU, file_content, file_name, python
from viz_app.session import python_code
from viz_app.session.attributions import MethodChoice
from viz_app.session.chosen_heads import ShownHeads


def test_every_file_is_about_what_is_read(app: AppTest) -> None:
    app.session_state[MENU.key] = True  # opened
    healthy(app.run())
    labels = [button.label for button in app.get("download_button")]
    assert {"HTML, for a browser", "JSON, for programs", "NPZ, for NumPy"} <= set(labels)
    about = reading(app)
    found = json.loads(file_content(about, ".json", ShownHeads()))
    assert found["source"] == "Where?"
    assert found["settings"] == {"target": "search", "beam_size": 2, "length_penalty": 0.6, "hypothesis": 0}
    assert (found["model"]["name"], found["model"]["sha256"]) == (about.model.name, about.model.digest)
    assert file_content(about, ".npz", ShownHeads()).startswith(b"PK")
    chosen = ShownHeads()
    chosen.remember(about, "encoder_self", MethodChoice("norms"), [(head_names.ALL, 0), (1, 2)], "Map")
    opened = file_content(about, ".html", chosen)
    assert opened.startswith(b"<!doctype html>")
    assert b'"first":["encoder_self",1,2],"view":"Map"' in opened  # what is chosen on the page Heads
    assert b'"first":["cross",' in file_content(about, ".html", replace(chosen, digest="of another model"))


def test_the_python_of_the_menu_writes_its_file(app: AppTest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(python_code, "is_on_this_machine", lambda: True)
    about = reading(healthy(app.run()))
    exec(compile(python(about), "menu", "exec"), {})
    (tmp_path / "menu.json").write_bytes(file_content(about, ".json", ShownHeads()))
    found, expected = load_explanation("where.json"), load_explanation("menu.json")
    assert (found.model, found.settings, found.versions) == (expected.model, expected.settings, expected.versions)
    assert found.explanation.predicted_tokens == expected.explanation.predicted_tokens
    assert found.explanation.log_probs == pytest.approx(expected.explanation.log_probs)
    for kind, layers in expected.explanation.maps.items():
        for mine, other in zip(found.explanation.maps[kind], layers, strict=True):
            torch.testing.assert_close(mine.weights, other.weights)


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("A dog runs.", "a-dog-runs"),
        ("../../etc/<b>*", "etc-b"),
        ("?!", "explanation"),
        ("\u72ac\u304c\u8d70\u308b", "\u72ac\u304c\u8d70\u308b"),
        ("x" * 300, "explanation"),
    ],
)
def test_a_file_is_named_by_its_first_words(source: str, name: str) -> None:
    assert file_name(source) == name
