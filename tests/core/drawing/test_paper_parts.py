"""The parts of Figure 1, and the lines of `core/paper.py` that each of them is."""

import ast
from pathlib import Path
from textwrap import indent

import pytest

from core import paper
from core.drawing.paper_parts import PARTS, paper_code
from tests.core.drawing.test_figure1 import MODELS, layouts

NEXT_TOKENS = {"predicted", "other"}  # of a decoding step, which the layout does not know


def drawn_links() -> set[str]:
    """The parts that the layouts of all models have."""
    drawn = [layouts(config, 3, {"encoder": [0], "decoder": [0]}, 1140) for config in MODELS.values()]
    return {item["part"]["link"] for [layout] in drawn for item in layout["items"] if "part" in item}


def test_every_part_that_is_drawn_has_an_entry_and_every_entry_a_part() -> None:
    assert drawn_links() | NEXT_TOKENS == {part.name for part in PARTS}


def test_the_lines_are_the_function_or_class_and_the_letters_those_of_its_shapes(monkeypatch: pytest.MonkeyPatch):
    text = Path(paper.__file__).read_text("utf-8")
    with monkeypatch.context() as threads:
        threads.setattr(ast, "parse", None)  # two threads at once break it off in Python 3.11
        sources = paper_code()["sources"]
    for code, source in sources.items():
        [definition] = ast.parse(source["lines"]).body
        assert isinstance(definition, ast.FunctionDef | ast.ClassDef)
        assert definition.name == code.rpartition(".")[2]
        assert source["lines"] in text or indent(source["lines"], "    ") in text
    shapes = paper_code()["sources"]["scaled_dot_product_attention"]["shapes"]
    assert shapes == {"B": "batch", "Q": "queries", "K": "keys", "H": "heads", "E": "head width"}
