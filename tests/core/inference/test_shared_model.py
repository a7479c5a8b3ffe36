"""The memory of passes is reserved before they take it."""

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from core import Translator
from core.analysis.training_step.training_step import training_step
from core.capture import capture_attention
from core.files.budget import MIB
from core.files.process_memory import PROCESS, NoRoomError
from core.model.pass_size import numbers_per_token

SOURCE, LONG = "A dog runs.", "A dog runs. " * 15


@pytest.fixture
def translator(tiny_checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Translator]:
    gc.collect()
    monkeypatch.setattr(PROCESS, "limit", 10**12)
    yield Translator.from_checkpoint(tiny_checkpoint)
    assert PROCESS._reserved == 0


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """What passes reserve."""
    sizes: list[int] = []
    make_room = PROCESS.make_room

    def noted(size: int = 0, *texts: str) -> None:
        sizes.append(size)
        make_room(size, *texts)

    monkeypatch.setattr(PROCESS, "make_room", noted)
    return sizes


def test_a_pass_reserves_at_least_what_it_keeps(translator: Translator, asked: list[int]) -> None:
    with translator.inspect() as model, capture_attention(model) as captured, torch.inference_mode():
        model(translator.batch([[5] * 30 + [3]]), translator.batch([[2] * 20]))
        kept = sum(weights.nbytes for weights in captured.values())
        assert PROCESS._reserved == asked[-1]
        assert kept < asked[-1] < kept + 4 * numbers_per_token(translator.config) * 31 + 1
        model(translator.batch([[5, 3]]), translator.batch([[2, 5]]))
        assert PROCESS._reserved == asked[-1], "the memory of the largest pass, up to the end"
        with translator.inspect():
            translator.explain(SOURCE, SOURCE)  # of the same thread, counted once
        assert PROCESS._reserved == asked[-1]


def test_the_copy_of_a_training_step_leaves_nothing_reserved(translator: Translator, asked: list[int]) -> None:
    training_step(translator, SOURCE, "Ein Hund.")
    assert PROCESS._reserved == 0
    assert max(asked) > 0  # the pass of the model itself


@pytest.mark.parametrize("grad", [False, True])
def test_a_batch_reserves_more(translator: Translator, asked: list[int], grad: bool) -> None:
    """All rows where gradients need them; without, the layers share the memory of all rows but the first."""
    sizes: list[int] = []
    for rows in (1, 9):
        with torch.set_grad_enabled(grad), translator.inspect() as model:
            model(translator.batch([[5] * 30] * rows), translator.batch([[2] * 20] * rows))
        sizes.append(asked[-1])
    (one, nine), config = sizes, translator.config
    layers = config.num_encoder_layers + config.num_decoder_layers
    assert nine == pytest.approx(9 * one if grad else one * (1 + 8 / layers), rel=1e-3)


def test_a_sentence_that_never_fits_is_refused_and_a_shorter_one_is_not(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    translator.explain(LONG, LONG)
    gc.collect()
    monkeypatch.setattr(PROCESS, "limit", PROCESS.held + 2 * MIB)
    with pytest.raises(NoRoomError, match=r"^this pass of the model would take \d+ MB.*: shorten the sentence, close"):
        translator.explain(LONG, LONG)
    assert translator.explain(SOURCE, SOURCE).maps["cross"]
