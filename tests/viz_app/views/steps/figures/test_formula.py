import pytest
from matplotlib.mathtext import MathTextParser

from core.analysis.beam_tree import beam_tree
from core.analysis.token_path.token_walk import follow_token
from core.translator import Translator
from viz_app.views.steps.figures.formula import math_text, math_tree
from viz_app.views.steps.figures.output_step_views import PENALTIES
from viz_app.views.steps.figures.step_list import step_list


def test_scripts_fractions_and_roots() -> None:
    assert math_tree(r"s_j = \frac{q \cdot k}{\sqrt{d_k}}") == [
        "math",
        ["msub", ["mi", "s"], ["mi", "j"]],
        ["mo", "="],
        [
            "mfrac",
            ["mrow", ["mi", "q"], ["mo", "\u22c5"], ["mi", "k"]],
            ["msqrt", ["msub", ["mi", "d"], ["mi", "k"]]],
        ],
    ]
    assert math_tree("x_1^2")[1] == ["msubsup", ["mi", "x"], ["mn", "1"], ["mn", "2"]]
    assert math_tree(r"\sum_i k")[1] == ["munder", ["mo", "\u2211"], ["mi", "i"]]
    assert math_tree(r"\mathrm{head}")[1] == ["mi", "head"]
    assert math_text(math_tree(r"-\infty")) == "\u2212\u221e"


@pytest.mark.parametrize(
    ("latex", "message"),
    [
        (r"\frac{1}", "it ends too early"),
        (r"{x", "a closing brace is missing"),
        ("x}", "a closing brace too many"),
        (r"\int", r"\\int is not known"),
    ],
)
def test_what_cannot_be_read_is_named(latex: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        math_tree(latex)


def test_every_formula_is_read_in_the_app_and_in_files(stepped: Translator) -> None:
    paths = [follow_token(stepped, "A dog.", "Ein Hund.", stack, 1, 1, 0) for stack in ("encoder", "decoder")]
    tree = beam_tree(stepped, "A dog.", 2)
    formulas = {view.formula for path in paths for view in step_list(path, str, tree)} | set(PENALTIES.values())
    assert len(formulas) > 15
    parser = MathTextParser("path")
    for formula in formulas:
        assert math_text(math_tree(formula))
        parser.parse(f"${formula}$")
