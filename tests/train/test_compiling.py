from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from core.model import Transformer
from core.preset_configs import PRESETS
from train.__main__ import main
from train.compiling import RECOMPILATIONS, compile_layers
from train.data.token_shards import Batch, make_batch
from train.loss import TranslationLoss


@pytest.fixture
def model() -> Iterator[Transformer]:
    """Without dropout, as a compiler may draw random numbers in another order."""
    torch.manual_seed(1)
    yield Transformer(replace(PRESETS["tiny"], dropout=0.0)).train()
    torch.compiler.reset()


def batches() -> list[Batch]:
    """Four batches of different shapes."""
    random = torch.Generator().manual_seed(1)

    def ids(length: int) -> list[int]:
        return torch.randint(3, 64, (length,), generator=random).tolist()

    return [
        make_batch([(ids(source), ids(target)), (ids(3), ids(2))])
        for source, target in ((4, 5), (9, 7), (6, 12), (8, 8))
    ]


def step(model: Transformer, batch: Batch) -> tuple[float, list[torch.Tensor]]:
    """The loss and its gradients."""
    model.zero_grad()
    loss = TranslationLoss(model, 0.1)(batch).smoothed
    loss.backward()
    return loss.item(), [parameter.grad.clone() for parameter in model.parameters() if parameter.grad is not None]


def test_a_compiled_step_is_the_same_step_and_few_shapes_are_compiled(model: Transformer) -> None:
    from torch._dynamo.testing import CompileCounter  # takes seconds, which every worker would need

    plain = [step(model, batch) for batch in batches()]
    names = list(model.state_dict())
    counter = CompileCounter()
    assert "compiled" in compile_layers(model, torch.device("cpu"), counter)
    for (loss, gradients), batch in zip(plain, batches(), strict=True):
        compiled_loss, compiled_gradients = step(model, batch)
        assert compiled_loss == pytest.approx(loss, rel=1e-5)
        for gradient, compiled in zip(gradients, compiled_gradients, strict=True):
            torch.testing.assert_close(compiled, gradient, rtol=1e-4, atol=1e-5)
    # one for the encoder's layers, one for the decoder's
    assert 2 <= counter.frame_count <= 2 * RECOMPILATIONS
    seen = counter.frame_count
    for batch in batches():
        step(model, batch)
    assert counter.frame_count == seen
    assert list(model.state_dict()) == names


def test_on_a_cpu_nothing_is_compiled(model: Transformer) -> None:
    assert compile_layers(model, torch.device("cpu")) == "--compile needs a GPU: on cpu the layers are not compiled"
    assert all(layer._compiled_call_impl is None for layer in model.encoder.layers)


def test_fit_on_a_cpu_ignores_compile(prepared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = ["--steps", "1", "--max-length", "60", "--batch-tokens", "200", "--device", "cpu", "--compile"]
    assert main(["fit", "tiny", "--data", str(prepared), "--run", str(tmp_path), *settings]) == 0
    assert "--compile needs a GPU: on cpu the layers are not compiled" in capsys.readouterr().err
