"""Every drawing takes any sentence.

`SENTENCES=100000 pytest -n 0 -s tests/viz_app/drawing/test_strange_sentences.py` takes an hour.
Each sentence is drawn by one of the drawings, in turn. With `FIRST_SENTENCE=50000`, they are those from that number on.
"""

import ast
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from streamlit import logger

import viz_app
from core import Translator
from core.files.shipped_files import shipped_checkpoint
from core.formats.checkpoint import load_checkpoint
from core.images.line_reader import LineReader
from core.model import Transformer
from core.model.preset_configs import PRESETS
from core.parsing.parser import Parser
from tests.fixtures import fit_end
from tests.strange_sentences import reason, sentence_numbers, strange_sentence, with_progress
from tests.viz_app import analysis_drawings, attention_drawings, drawing_checks
from tests.viz_app.drawing_checks import draw
from tests.viz_app.drawn_sentence import Models, Subject

DRAWINGS = (*attention_drawings.DRAWINGS, *analysis_drawings.DRAWINGS)
NUMBERS = sentence_numbers(len(DRAWINGS))
MOST = 30  # tokens to which sentences are cut, but for one in a thousand: drawings take the square of the length
MOST_FAILURES = 20
# modules that draw no token: they have numbers, texts of the interface, or serve the others
WITHOUT_TOKENS = {
    *(f"viz_app.drawing.{name}" for name in ("bertviz_scripts", "display_text", "head_names", "plotly_chart", "theme")),
    *(
        f"viz_app.views.{name}"
        for name in (
            *("corpus.figures.corpus", "paper.positions.figures.positions", "paper.table3.figures"),
            *("steps.figures.formula", "steps.figures.step_views", "steps.training_step.figures.weight_views"),
            *(f"steps.token_path.figures.{part}_step_views" for part in ("attention", "layer")),
        )
    ),  # those of steps through `step_list` and `training_views`
}


@pytest.fixture(scope="module")
def models(
    tiny_checkpoint: Path, mask_predict_checkpoint: Path, tree_checkpoint: Path, line_reader: LineReader
) -> Models:
    return Models(
        Translator.from_checkpoint(tiny_checkpoint),
        Translator.from_checkpoint(mask_predict_checkpoint),
        Parser(Translator.from_checkpoint(tree_checkpoint)),
        line_reader,
    )


@pytest.fixture(scope="module")
def shipped_pieces(models: Models) -> Models:
    """These models; that of translations has the tokenizer of the shipped one, whose many pieces take longer."""
    tokenizer = load_checkpoint(shipped_checkpoint()).tokenizer
    with torch.random.fork_rng():
        torch.manual_seed(1)
        model = Transformer(replace(PRESETS["tiny"], vocab_size=tokenizer.vocab_size)).eval().requires_grad_(False)
        fit_end(model)
    return replace(models, translator=Translator(model, tokenizer))


@pytest.fixture
def quiet() -> Iterator[None]:
    """Streamlit does not warn that there is no visitor, who would have a language."""
    level = logger.get_logger("root").level
    logger.set_log_level("ERROR")
    yield
    logger.set_log_level(level)


def subject(models: Models, number: int, choice: random.Random) -> Subject:
    """The sentence of a number, cut to `MOST` tokens, with its translation or one in two with another sentence as such.

    Raises:
        ValueError: it cannot be translated, or not so.
    """
    text = strange_sentence("drawings", number)
    target = strange_sentence("translation", number) if choice.random() < 0.5 else None
    if choice.random() < 0.999:
        text, target = cut(models, text), target and cut(models, target)
    return Subject(models, text, target, choice)


def cut(models: Models, text: str) -> str:
    """The beginning of a text, of at most `MOST` tokens."""
    while models.translator.codec.num_tokens(text) > MOST:
        text = text[: len(text) // 2]
    return text


@pytest.mark.usefixtures("quiet")
def test_every_drawing_takes_any_sentence(models: Models, shipped_pieces: Models) -> None:
    drawn, refused, failures = Counter[str](), 0, list[str]()
    for number in with_progress(NUMBERS):
        choice, drawing = random.Random(number), DRAWINGS[number % len(DRAWINGS)]
        try:
            of = subject(shipped_pieces if choice.random() < 0.2 else models, number, choice)
        except ValueError as error:
            reason(error)
            refused += 1
            continue
        try:
            draw(of, drawing)
        except Exception as error:
            failures.append(f"{number}: {drawing.__name__} of {of.text!r} and {of.target!r}: {error!r}")
            print(failures[-1])
            if len(failures) == MOST_FAILURES:
                break
        drawn[drawing.__name__] += 1
    print(f"{drawn.total()} sentences drawn, {refused} refused; {dict(drawn)}")
    assert not failures
    assert refused <= max(drawn.total() / 5, 1)


def test_every_figure_with_tokens_is_among_the_drawings() -> None:
    paths = [Path(module.__file__) for module in (attention_drawings, analysis_drawings, drawing_checks)]
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in paths]
    imports = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    names = {f"{node.module}.{alias.name}" for node in imports for alias in node.names}
    names |= {str(node.module) for node in imports}
    folder = Path(viz_app.__file__).parent
    paths = [path.relative_to(folder.parent).with_suffix("") for path in folder.rglob("*.py")]
    modules = {
        ".".join(path.parts)
        for path in paths
        if path.name != "__init__" and (path.parts[1] == "drawing" or "figures" in path.parts)
    }
    assert modules - names <= WITHOUT_TOKENS <= modules
