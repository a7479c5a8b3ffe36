"""The four walks of docs/architecture.md pass the files that they name, and the app's walks stay short."""

import gc
import re
import sys
import threading
import tomllib
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from tests.core.formats.marian_models import Pairs, write_model
from tests.viz_app.pages import Start, added, healthy, opened
from train.__main__ import main as train
from viz_app.components import sentence_bar

ROOT = Path(__file__).parents[2]
PACKAGES = ("core/", "train/", "viz_app/")
SCRIPTS = ("viz_app/shell.py", "/view.py")  # which Streamlit runs as modules, again and again
SECTIONS = dict(
    re.findall(r"^### (.+)\n((?:(?!^##).*\n)*)", (ROOT / "docs" / "architecture.md").read_text("utf-8"), re.MULTILINE)
)
SENTENCE, CLICK, UPLOAD, RUN = (
    "A sentence to the map of a head",
    "A click to the page",
    "An upload to the page",
    "A run to the page Training",
)


class Moves:
    """The files whose functions run in a block, and the number of moves from one file to another, in this thread and in
    new ones. Imports are left out.
    """

    def __enter__(self) -> "Moves":
        gc.collect()  # a generator that an earlier test has left runs to its end when it is collected
        self.files: set[str] = set()
        self.count = 0
        self._thread = threading.local()
        self._before = sys.getprofile()
        threading.setprofile(self._see)
        sys.setprofile(self._see)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(self._before)
        threading.setprofile(None)

    def _see(self, frame: FrameType, event: str, _: Any) -> None:
        if event not in ("call", "return") or not frame.f_code.co_filename.startswith(f"{ROOT}/"):
            return
        file, thread = frame.f_code.co_filename.removeprefix(f"{ROOT}/"), self._thread
        if frame.f_code.co_name == "<module>" and not file.endswith(SCRIPTS):
            thread.imports = getattr(thread, "imports", 0) + (1 if event == "call" else -1)
        elif event == "call" and file.startswith(PACKAGES) and not getattr(thread, "imports", 0):
            self.files.add(file)
            self.count += getattr(thread, "file", file) != file
            thread.file = file


def steps(section: str) -> list[str]:
    """The files with which the numbered steps of a walk begin."""
    return re.findall(r"^\d+\. `([\w/]+\.\w+)`", SECTIONS[section], re.MULTILINE)


def left_out(passed: set[str], section: str) -> list[str]:
    """The Python files of steps that were not passed."""
    return [file for file in steps(section) if file.endswith(".py") and file not in passed]


@pytest.fixture
def on_heads(start: Start) -> AppTest:
    """The page Heads with maps, which has run once."""
    return opened(start(text="A dog.", beam_size="2", view="map"), "heads")


def test_every_layer_is_in_the_picture() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    picture = set(re.findall(r"\w+", re.findall(r"```mermaid\n(.*?)```", text, re.DOTALL)[0]))
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    layers = [layer for contract in contracts if "containers" in contract for layer in contract["layers"]]
    assert {name for layer in layers for name in re.findall(r"\w+", layer)} - picture == set()


@pytest.mark.parametrize("section", [SENTENCE, CLICK, UPLOAD, RUN])
def test_a_walk_has_ten_steps_that_are_there(section: str) -> None:
    assert len(steps(section)) == 10
    assert [file for file in steps(section) if not (ROOT / file).is_file()] == []


def test_a_sentence_to_the_map_of_a_head(on_heads: AppTest) -> None:
    with Moves() as moves:
        on_heads.query_params["view"] = "map"
        healthy(on_heads.text_input(key="text").set_value("A wet dog.").run())
    assert left_out(moves.files, SENTENCE) == []


def test_a_click_to_the_page(on_heads: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the browser had sent a word: the bar's own callback is called."""
    draw, read, waiting = sentence_bar._component, sentence_bar.selected_words, ["source 0"]

    def drawn(**arguments: Any) -> Any:
        if waiting:
            arguments["on_words_change"]()
        return draw(**arguments)

    monkeypatch.setattr(sentence_bar, "_component", drawn)
    monkeypatch.setattr(sentence_bar, "selected_words", lambda _, explanation: read([waiting.pop()], explanation))
    with Moves() as moves:
        healthy(on_heads.run())  # sends it
        healthy(on_heads.run())
    assert on_heads.query_params["word"] == "source.1"
    assert left_out(moves.files, CLICK) == []


def test_an_upload_to_the_page(start: Start, small_checkpoint: Path, parallel_text: Pairs, tmp_path: Path) -> None:
    write_model(tmp_path / "marian", parallel_text)
    app = opened(start(text="A dog.", beam_size="2"), "checkpoint")
    with Moves() as moves:
        added(app, ("small.safetensors", small_checkpoint.read_bytes()))
        added(app, *((path.name, path.read_bytes()) for path in (tmp_path / "marian").iterdir()))
    assert "Marian" in " ".join(element.proto.body for element in app.html)
    assert left_out(moves.files, UPLOAD) == []


def test_a_run_to_the_page_training(
    start: Start, tmp_path: Path, parallel_text: Pairs, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = opened(start(text="A dog.", beam_size="2"), "checkpoint")
    data, run, averaged = (str(tmp_path / name) for name in ("data", "run", "averaged.safetensors"))
    for side, sentences in zip(("source", "target"), zip(*parallel_text, strict=True), strict=True):
        (tmp_path / side).write_text("\n".join(sentences) + "\n", "utf-8")
    sides = [f"--{part}{side}" for part in ("", "valid-") for side in ("source", "target")]
    files = [text for side in sides for text in (side, str(tmp_path / side[-6:]))]
    assert train(["prepare", data, *files, "--vocab-size", "400"]) == 0
    with Moves() as moves:
        fit = ["fit", "tiny", "--data", data, "--run", run, "--steps", "2", "--snapshot-every", "1"]
        assert train([*fit, "--batch-tokens", "1024"]) == 0
        assert train(["average", run, "-o", averaged]) == 0
        assert train(["card", averaged, "--log", f"{run}/log.jsonl"]) == 0
        opened(app, "training")
    assert left_out(moves.files, RUN) == []


def test_a_new_sentence_and_a_run_without_a_change_stay_short(start: Start) -> None:
    """Before labels, names and words were kept, they took 16,300 and 13,900 moves between files on Heads.

    Where a limit is passed, look for what is computed again and again, for lists made an item at a time, and for what
    the frame, which all views run, does though an Enter does not need it.
    """
    ran: list[set[str]] = []
    for view, sentence, most_moves in (
        ("heads", "Two dogs play in the snow.", 2800),
        ("contributions", "Two boys swim in the lake.", 2350),
        ("lens", "A man reads a book.", 2450),
    ):
        app = opened(start(text="A little girl laughs."), view)
        with Moves() as enter:
            healthy(app.text_input(key="text").set_value(sentence).run())
        with Moves() as again:
            healthy(app.run())
        assert enter.count < most_moves
        assert again.count < 850
        assert len(enter.files) < 112
        assert len(again.files) < 70
        ran.append({file for file in enter.files if file.startswith("viz_app/")})
    frame = set.intersection(*ran)
    assert len(frame) < 31
    assert sum(len((ROOT / file).read_text("utf-8").splitlines()) for file in frame) < 4200
