"""The views of steps: their order, and that they show the numbers of the path."""

import math

import numpy as np
import pytest
import torch

from core.analysis.beam_tree import beam_tree
from core.analysis.token_path.steps import OutputSteps, Stack, TokenPath
from core.analysis.token_path.token_walk import follow_token
from core.drawing.paper_parts import PARTS
from core.trace import KINDS
from core.translator import Translator
from viz_app.views.paper.sections.paper_sections import SECTIONS
from viz_app.views.steps.figures.step_views import Block, StepView, VectorRow, step_named
from viz_app.views.steps.token_path.figures.step_list import group_of, step_list

TEXT, TARGET = "A dog runs.", "Ein Hund."


@pytest.fixture(scope="module")
def paths(translator: Translator) -> dict[Stack, TokenPath]:
    stacks: tuple[Stack, ...] = ("encoder", "decoder")
    return {stack: follow_token(translator, TEXT, TARGET, stack, 2, 1, 1) for stack in stacks}


@pytest.fixture(scope="module")
def views(translator: Translator, paths: dict[Stack, TokenPath]) -> dict[Stack, list[StepView]]:
    piece = translator.tokenizer.target.piece
    return {stack: step_list(path, piece) for stack, path in paths.items()}


def test_every_part_has_its_steps_in_order(paths: dict[Stack, TokenPath], views: dict[Stack, list[StepView]]) -> None:
    for stack, path in paths.items():
        parts = list(dict.fromkeys(view.part for view in views[stack]))
        assert parts == list(path.parts)
        names = [view.name for view in views[stack]]
        assert len(set(names)) == len(names)
        groups = [view.group for view in views[stack]]
        assert [group for i, group in enumerate(groups) if group not in groups[:i]] == list(dict.fromkeys(groups))
        assert all(groups[i] in (groups[i - 1], *set(groups) - set(groups[:i])) for i in range(1, len(groups)))


def test_the_parts_of_figure_1_have_their_steps_and_sections(
    translator: Translator, paths: dict[Stack, TokenPath]
) -> None:
    tree, piece = beam_tree(translator, TEXT), translator.tokenizer.target.piece
    names = {view.name for path in paths.values() for view in step_list(path, piece, tree)}
    kinds = {"residual": (*KINDS, "feed_forward"), "norm": (*KINDS, "feed_forward"), "attention": ("encoder_self",)}
    for part in PARTS:
        steps = part.step, *part.then
        assert {step.format(kind=kind) for kind in kinds.get(part.name, KINDS) for step in steps} <= names
        assert part.section in {section.number for section in SECTIONS}


def test_every_quantity_of_a_view_is_in_the_table(
    paths: dict[Stack, TokenPath], views: dict[Stack, list[StepView]]
) -> None:
    for stack, path in paths.items():
        for view in views[stack]:
            table = path.table(view.part, view.quantities)
            assert set(table["quantity"]) == set(view.quantities)
            assert list(table) == ["part", "quantity", "row", "index", "value"]
            assert {type(row) for row in table["row"]} <= {int, type(None)}


def test_scores_and_their_products(paths: dict[Stack, TokenPath], views: dict[Stack, list[StepView]]) -> None:
    for kind in ("decoder_self", "cross"):
        steps = paths["decoder"].attention(kind)  # type: ignore[arg-type]
        view = step_named(views["decoder"], f"{kind}-scores")
        assert [row.numbers[0] for row in view.blocks[0].rows] == steps.scores.tolist()
        assert len(view.details) == len(steps.keys)
        assert view.picked == int(steps.weights.argmax())
        for key, detail in enumerate(view.details):
            query, keys, products = (row.values for row in detail.rows)
            assert np.allclose(products, query * keys)
            assert products.sum() / math.sqrt(len(query)) == pytest.approx(float(steps.scores[key]))
            assert f"{steps.scores[key]:.3f}".replace("-", "\u2212") in detail.title


def test_what_the_mask_hides_has_no_number(views: dict[Stack, list[StepView]]) -> None:
    mask, softmax = (step_named(views["decoder"], f"decoder_self-{name}") for name in ("mask", "softmax"))
    seen = np.array([np.isfinite(row.values) for row in mask.blocks[0].rows])
    assert np.array_equal(seen, np.tril(np.ones_like(seen)))
    assert [row.is_marked for row in mask.blocks[0].rows].index(True) == 2
    hidden = [row.numbers == (None, None, None) for row in softmax.blocks[0].rows]
    assert hidden == [key > 2 for key in range(len(hidden))]
    assert sum(row.numbers[2] or 0 for row in softmax.blocks[0].rows) == pytest.approx(1)
    assert "hidden" in mask.text
    assert "Nothing is hidden" in step_named(views["encoder"], "encoder_self-mask").text


def test_the_softmax_without_the_division(paths: dict[Stack, TokenPath], views: dict[Stack, list[StepView]]) -> None:
    """By PyTorch's own softmax and entropy, where the mask hides nothing and where it does."""
    for kind in ("decoder_self", "cross"):
        steps, view = paths["decoder"].attention(kind), step_named(views["decoder"], f"{kind}-scaling")  # type: ignore[arg-type]
        products = steps.products.sum(-1)[steps.allowed]
        shown = np.array([row.numbers for row in view.blocks[0].rows if row.numbers[0] is not None])
        entropies = list[str]()
        for (score, weight, gradient), logits in zip(
            np.split(shown.T, 2), (products / math.sqrt(len(steps.query)), products), strict=True
        ):
            weights = logits.softmax(-1)
            entropies.append(f"{torch.distributions.Categorical(weights).entropy():.3f}")
            jacobian = torch.autograd.functional.jacobian(lambda each: each.softmax(-1), logits)
            assert np.allclose(score, logits)
            assert np.allclose(weight, weights)
            assert np.allclose(gradient, jacobian.diagonal())  # type: ignore[union-attr]
        assert [value for _, value in view.facts[:2]] == entropies
        assert (view.figure, view.section) == ("Figure 2, left", "3.2.1")
    assert step_named(views["decoder"], "cross-concatenation").figure == "Figure 2, right"


def test_the_zeros_of_the_network_are_counted(
    paths: dict[Stack, TokenPath], views: dict[Stack, list[StepView]]
) -> None:
    hidden = paths["encoder"].parts["feed_forward"].hidden  # type: ignore[union-attr]
    zeros = sum(value == 0 for value in hidden.tolist())
    assert 0 < zeros < len(hidden)
    assert f"{zeros} of {len(hidden)}" in step_named(views["encoder"], "feed_forward-hidden").text


def test_the_output_names_the_predicted_token(
    translator: Translator, paths: dict[Stack, TokenPath], views: dict[Stack, list[StepView]]
) -> None:
    steps = paths["decoder"].parts["output"]
    assert isinstance(steps, OutputSteps)
    view = step_named(views["decoder"], "output-softmax")
    marked = [row.label for row in view.blocks[0].rows if row.is_marked]
    assert marked == [paths["decoder"].explanation.predicted_tokens[2]]
    logits = step_named(views["decoder"], "output-logits")
    for index, detail in enumerate(logits.details):
        assert detail.rows[2].values.sum() == pytest.approx(float(steps.logits[index]))
    assert views["encoder"][-1].name == "memory"


def test_the_beam_marks_the_candidate_of_the_translation(translator: Translator) -> None:
    found = translator.translate(TEXT, 3)
    target, tree = found.hypotheses[0].token_ids, beam_tree(translator, TEXT, 3)
    path = follow_token(translator, TEXT, target, "decoder", 1, 0, 0)
    view = step_list(path, translator.tokenizer.target.piece, tree, target)[-1]
    own = tree.node(target[:2])
    assert own is not None
    assert view.name == "output-beam"
    (marked,) = [row for row in view.blocks[0].rows if row.is_marked]
    assert marked.numbers == (own.token_log_prob, own.log_prob, own.score)
    assert [row.note for row in view.blocks[0].rows] == [node.fate for node in tree.steps[1]]
    foreign = step_list(path, translator.tokenizer.target.piece, tree, (5, 5, 5))[-1]
    assert "did not come to" in foreign.text
    assert not any(row.is_marked for row in foreign.blocks[0].rows)


def test_a_step_is_found_by_name_or_in_another_sublayer(views: dict[Stack, list[StepView]]) -> None:
    assert step_named(views["encoder"], "cross-scores").name == "encoder_self-scores"
    assert step_named(views["encoder"], "nothing").name == "embedding"
    assert step_named(views["decoder"], "cross-scores").name == "cross-scores"
    assert [group_of(part) for part in ("embedding", "layers_above", "output_norm")] == ["Input", "Output", "Output"]


def test_the_scale_of_a_block_is_its_largest_value() -> None:
    rows = [
        VectorRow(label="a", values=np.array([1.0, -3.0, np.nan])),
        VectorRow(label="b", values=np.array([9.0]), limit=9.0),
        VectorRow(label="c", values=np.empty(0)),
    ]
    assert Block("", rows).limit == 3
    assert Block("", rows).has_legend
    assert Block("", rows[1:]).limit == 1
    assert not Block("", rows[1:]).has_legend
