"""What the notebooks say is so, and they are committed without outputs; test_built_site.py has them run."""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from core import Translator
from core.analysis.alignment.first_head import first_head
from core.analysis.alignment.sentence_alignment import align_words
from core.files.shipped_files import shipped_checkpoint
from docs.generate.notebooks import NOTEBOOKS, run_notebook

ROOT = Path(__file__).parents[2]
PATHS = sorted(NOTEBOOKS.glob("*.ipynb"))


@pytest.fixture(scope="module", autouse=True)
def one_shipped_model() -> Iterator[None]:
    """Most notebooks read the same model, which is read and packed once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Translator, "from_checkpoint", cache(Translator.from_checkpoint))
        yield


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_it_is_committed_without_outputs(path: Path) -> None:
    """They would be stale after a change of the model, and hide the change of a cell among theirs."""
    cells = json.loads(path.read_text("utf-8"))["cells"]
    assert [cell for cell in cells if cell.get("outputs") or cell.get("execution_count")] == []


def test_the_code_of_the_front_page_prints_what_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    (cell,) = run_notebook(ROOT / "docs" / "index.md")
    translator = Translator.from_checkpoint(shipped_checkpoint("en-de"))
    best = translator.translate("A dog runs.").text
    weights = translator.explain("A dog runs.", best).maps["cross"][4].weights
    assert cell.printed == f"{best} {weights.shape}\n"


def test_without_its_translation_the_negation_gets_about_as_much_attention() -> None:
    """What the notebook on alignment says of the sentence that it prints."""
    translator = Translator.from_checkpoint(shipped_checkpoint("en-de"))
    found = translator.translate("The animal didn't cross the street because it was too tired.")
    assert " nicht" in found.text
    head, covered = first_head(translator.explain(found.source, found.text).maps["cross"]), list[float]()
    for text in (found.text, found.text.replace(" nicht", "")):
        words = align_words(translator.explain(found.source, text).maps["cross"], (head.layer, head.head))
        assert words.left_out() == []
        covered.append(float(words.coverage[words.source.index("didn't")]))
    assert covered[1] == pytest.approx(covered[0], rel=0.2)


def test_an_error_names_its_cell(tmp_path: Path) -> None:
    path = tmp_path / "wrong.ipynb"
    path.write_text(json.dumps({"cells": [{"cell_type": "code", "source": ["1 +\n"]}]}))
    with pytest.raises(SyntaxError, match=r"wrong\.ipynb, cell 1"):
        list(run_notebook(path))
