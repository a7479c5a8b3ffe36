import pytest

from core.analysis.beam_tree import beam_tree
from core.analysis.token_path.token_walk import follow_token
from core.translator import Translator
from viz_app.language import speaking
from viz_app.views.steps.figures.formula import SUPERSCRIPTS, math_number, math_text, math_tree, number_text
from viz_app.views.steps.token_path.figures.step_list import PENALTIES, step_list

FROM_SUPERSCRIPTS = {
    superscript: "\u2212" if chr(digit) == "-" else chr(digit) for digit, superscript in SUPERSCRIPTS.items()
}


def test_scripts_fractions_and_roots() -> None:
    assert math_tree(r"s_j = \frac{q \cdot k}{\sqrt{d_k}}") == [
        "math",
        ["msub", ["mi", "s"], ["mi", "j"]],
        ["mo", "="],
        ["mfrac", ["mrow", ["mi", "q"], ["mo", "\u22c5"], ["mi", "k"]], ["msqrt", ["msub", ["mi", "d"], ["mi", "k"]]]],
    ]
    assert math_tree("x_1^2")[1] == ["msubsup", ["mi", "x"], ["mn", "1"], ["mn", "2"]]
    assert math_tree(r"\sum_i k")[1] == ["munder", ["mo", "\u2211"], ["mi", "i"]]
    assert math_tree(r"\hat m")[1] == ["mover", ["mi", "m"], ["mo", "\u02c6"]]
    assert math_tree(r"\mathrm{head}")[1] == ["mi", "head"]
    assert math_text(math_tree(r"-\infty")) == "\u2212\u221e"


def test_numbers_are_those_of_the_visitors_language() -> None:
    expected = {
        0.9: ("0.9", "0,9"),
        -0.0123456: ("\u22120.01235", "\u22120,01235"),
        2.5e-5: ("2.5 \u00b7 10\u207b\u2075", "2,5 \u00b7 10\u207b\u2075"),
        -3e12: ("\u22123 \u00b7 10\u00b9\u00b2", "\u22123 \u00b7 10\u00b9\u00b2"),
    }
    for value, (english, german) in expected.items():
        for code, text in (("en", english), ("de", german)):
            with speaking(code):
                assert number_text(value) == text
                read = math_text(math_tree(math_number(value)))
                assert read == text.replace(" \u00b7 ", "\u22c5").translate(FROM_SUPERSCRIPTS)
    assert math_number(-2.0, in_product=True) == r"(\mathrm{-2})"
    assert math_number(2.0, in_product=True) == "2"


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


def test_every_formula_is_read_in_the_app_and_in_files(translator: Translator) -> None:
    paths = [follow_token(translator, "A dog.", "Ein Hund.", stack, 1, 1, 0) for stack in ("encoder", "decoder")]
    tree = beam_tree(translator, "A dog.", 2)
    formulas = {view.formula for path in paths for view in step_list(path, str, tree)} | set(PENALTIES.values())
    assert len(formulas) > 15
    for formula in formulas:
        assert math_text(math_tree(formula))
