"""Names of heads, and what recording and editing refuse; hooks are removed in every case, and nobody else has any."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from core.model import Transformer
from core.trace import KINDS, Head, attention_place, edit, parse_head, places, record
from tests.core.test_trace import BASE, SOURCE, TARGET, hooks, made


@pytest.mark.parametrize("block", [lambda model: record(model, places(model)), lambda model: edit(model, {}), None])
def test_hooks_go_when_the_block_raises(block: Callable[[Transformer], Any] | None) -> None:
    model = made(BASE)
    everything = dict.fromkeys(places(model), Tensor.clone)
    with pytest.raises(KeyError, match="mine"), block(model) if block else edit(model, everything):
        raise KeyError("mine")
    assert hooks(model) == 0


def test_hooks_go_when_a_function_raises() -> None:
    model = made(BASE)

    def fails(_: Tensor) -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"), edit(model, {"encoder.0.self_attention.output": fails}):
        model(SOURCE, TARGET)
    assert hooks(model) == 0


@pytest.mark.parametrize(
    ("place", "nearest"),
    [
        ("decoder.2.cross_attention.weights", "decoder.1.cross_attention.weights"),
        ("decoder.1.cross_attention.4.output", "decoder.1.cross_attention.output"),
        ("decoder.1.cross_attention.03.output", "decoder.1.cross_attention.output"),
        ("decoder.layers.1.cross_attention", "decoder.1.cross_attention"),
        ("decoder.0.feed_forward.1.output", "decoder.0.feed_forward.output"),
    ],
)
def test_a_place_that_does_not_exist(place: str, nearest: str) -> None:
    model = made(BASE)
    names = rf".*{re.escape(nearest)}.*"
    message = rf"^this model has no place '{re.escape(place)}': the nearest names are {names}, and `places` lists all$"
    with pytest.raises(ValueError, match=message), record(model, ["logits", place]):
        pass
    with pytest.raises(ValueError, match=message), edit(model, {"logits": Tensor.clone, place: Tensor.clone}):
        pass
    assert hooks(model) == 0


def test_places_that_were_not_computed() -> None:
    model = made(BASE)
    message = (
        r"^nothing was recorded at 1 of 2 places \(decoder\.0\.cross_attention\.weights\): run the parts of the model "
        r"that compute them inside the block, and not through torch\.compile$"
    )
    with (
        pytest.raises(RuntimeError, match=message),
        record(model, ["encoder.output", *places(model, "*.0.cross_attention.weights")]),
    ):
        model.encode(SOURCE)
    with (
        pytest.raises(RuntimeError, match=r"nothing was recorded at \d+ of \d+ places \(.*, \.\.\.\)"),
        record(model, places(model)),
    ):
        pass
    assert hooks(model) == 0


def test_a_compiled_model_is_refused() -> None:
    model = made(BASE)
    model(SOURCE, TARGET)  # works out the positions
    compiled: Any = torch.compile(model, backend="eager")
    compiled(SOURCE, TARGET)
    with (
        pytest.raises(RuntimeError, match=r"recorded at 1 of 1 places .* not through torch\.compile"),
        record(model, ["decoder.1.feed_forward.hidden"]),
    ):
        compiled(SOURCE, TARGET)


def test_a_result_of_another_shape_is_refused() -> None:
    model = made(BASE)
    message = r"^the function of encoder\.0\.self_attention\.3\.output returned \[2, 6, 4\], expected \[2, 6, 5\]$"
    with (
        pytest.raises(ValueError, match=message),
        edit(model, {"encoder.0.self_attention.3.output": lambda x: x[..., 1:]}),
    ):
        model(SOURCE, TARGET)


@pytest.mark.parametrize("kind", KINDS)
def test_the_name_of_a_head(kind: Any) -> None:
    head = Head(kind, 4, 2)
    assert parse_head(str(head)) == head
    assert parse_head(head.place("weights").removesuffix(".weights")) == head
    assert head.place("weights") == attention_place(kind, 4, "2.weights")


def test_the_two_spellings_of_a_head() -> None:
    assert str(Head("cross", 5, 3)) == "cross L6 H4"
    assert Head("cross", 5, 3).place("output") == "decoder.5.cross_attention.3.output"
    assert parse_head("decoder.5.cross_attention.3") == Head("cross", 5, 3)


@pytest.mark.parametrize("text", ["L6 H4", "L6H4", "cross L6 H4", "decoder.5.cross_attention.3"])
def test_a_kind_completes_a_name_that_has_none(text: str) -> None:
    assert parse_head(text, "cross") == Head("cross", 5, 3)
    assert parse_head(text, "encoder_self").kind == ("encoder_self" if text.startswith("L") else "cross")


@pytest.mark.parametrize(
    "text",
    ["", "cross L0 H1", "cross L1", "L1 H1", "encoder.0.cross_attention.1", "decoder.1.cross_attention", "x L1 H1"],
)
def test_what_is_not_a_head(text: str) -> None:
    with pytest.raises(
        ValueError, match=rf"^{re.escape(repr(text))} is not a head: expected a kind, a layer and a head"
    ):
        parse_head(text)


def test_nothing_else_registers_hooks() -> None:
    """One seam: analyses, app, training and benchmarks see and change a model through `core.trace`.

    `shared_model` sees lengths alone.
    """
    root = Path(__file__).parents[2]
    found = [
        str(path.relative_to(root))
        for package in ("core", "train", "viz_app", "benchmarks")
        for path in sorted((root / package).rglob("*.py"))
        if re.search(r"\bregister_\w*hook\b", path.read_text(encoding="utf-8"))
    ]
    assert found == ["core/inference/shared_model.py", "core/trace.py"]
