"""Snapshots in 8 bits: rounded as promised, exact in bfloat16, and refused if they are damaged."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file
from torch import Tensor

from core.checkpoint import load_checkpoint
from core.history.eight_bits import EXPONENTS, from_eight_bits, to_eight_bits
from core.untrusted_parameters import CheckpointError

NAME = "matrix"


def there_and_back(tensors: dict[str, Tensor], folder: Path) -> dict[str, Tensor]:
    """Round tensors to 8 bits, and read them again."""
    save_file(tensors, folder / "exact")
    (folder / "rounded").write_bytes(to_eight_bits(folder / "exact"))
    from_eight_bits(folder / "rounded", folder / "found")
    return load_file(folder / "found")


@given(st.integers(0, 10**6), st.floats(-30, 30), st.floats(0, 4))
@settings(max_examples=30)
def test_the_error_is_at_most_half_a_step(
    tmp_path_factory: pytest.TempPathFactory, seed: int, scale: float, tail: float
) -> None:
    matrix = torch.randn(5, 40, generator=torch.Generator().manual_seed(seed)) * 2**scale
    matrix[0, 0] *= 10**tail  # one large weight
    found = there_and_back({NAME: matrix}, tmp_path_factory.mktemp("eight_bits"))[NAME]
    root_mean_square = matrix.double().square().mean(1, keepdim=True).sqrt()
    # An exponent is rounded to the nearest, or up: the largest weight has more than half of 127 steps then.
    step = torch.maximum(root_mean_square / 8 * 2**0.5, matrix.double().abs().amax(1, keepdim=True) / 127 * 2)
    assert found.dtype == torch.bfloat16
    assert ((found.double() - matrix.double()).abs() <= step / 2 * (1 + 1e-6)).all()


def test_multiples_of_the_step_are_kept_exactly(tmp_path: Path) -> None:
    multiples = torch.full((3, 64), 8.0)  # the root mean square is 8 steps
    multiples[:, ::2] *= -1
    matrix = multiples * torch.tensor([[2.0**-20], [1.0], [2.0**20]])
    zeros = torch.zeros(2, 3)
    found = there_and_back({NAME: matrix, "zeros": zeros}, tmp_path)
    assert torch.equal(found[NAME].float(), matrix)
    assert torch.equal(found["zeros"].float(), zeros)


def test_vectors_are_in_bfloat16_and_bytes_stay(tmp_path: Path) -> None:
    vector, text = torch.randn(7), torch.tensor([1, 255, 7], dtype=torch.uint8)
    found = there_and_back({"vector": vector, "text": text}, tmp_path)
    assert torch.equal(found["vector"], vector.bfloat16())
    assert torch.equal(found["text"], text)


def test_a_checkpoint_stays_one(tiny_checkpoint: Path, tmp_path: Path) -> None:
    own = load_checkpoint(tiny_checkpoint)
    (tmp_path / "rounded").write_bytes(to_eight_bits(tiny_checkpoint))
    from_eight_bits(tmp_path / "rounded", tmp_path / "found.safetensors")
    found = load_checkpoint(tmp_path / "found.safetensors")
    assert (found.config, found.training) == (own.config, own.training)
    assert found.tokenizer.to_bytes() == own.tokenizer.to_bytes()
    rounded = dict(found.model.named_parameters())
    for name, parameter in own.model.named_parameters():
        again = rounded[name]
        if parameter.ndim == 2:
            error = (again - parameter).square().mean().sqrt() / parameter.square().mean().sqrt()
            assert error < 2**0.5 / 8 / 12**0.5 * 1.1  # the largest step next to an eighth, uniformly distributed
        else:
            assert torch.equal(again, parameter.bfloat16().float())


@pytest.mark.parametrize(
    "change",
    [
        lambda tensors: tensors.pop(NAME + EXPONENTS),
        lambda tensors: tensors.update({NAME + EXPONENTS: torch.zeros(3, dtype=torch.int8)}),
        lambda tensors: tensors.update({NAME + EXPONENTS: torch.zeros(2)}),
        lambda tensors: tensors.update({NAME: torch.zeros(2, 3, 1, dtype=torch.int8)}),
    ],
)
def test_exponents_must_fit(tmp_path: Path, change: Callable[[dict[str, Tensor]], object]) -> None:
    tensors = {NAME: torch.ones(2, 3, dtype=torch.int8), NAME + EXPONENTS: torch.zeros(2, dtype=torch.int8)}
    change(tensors)
    save_file(tensors, tmp_path / "changed")
    with pytest.raises(
        CheckpointError, match=r"^changed: matrix lacks the exponents of its rows, one for each: copy or"
    ):
        from_eight_bits(tmp_path / "changed", tmp_path / "found")
    assert not (tmp_path / "found").exists()


def test_a_truncated_file_is_refused(tiny_checkpoint: Path, tmp_path: Path) -> None:
    data = to_eight_bits(tiny_checkpoint)
    for length in (0, 7, 100, len(data) - 1):
        (tmp_path / "cut").write_bytes(data[:length])
        with pytest.raises(CheckpointError, match=r"^cut .*(not a safetensors file|truncated|damaged)"):
            from_eight_bits(tmp_path / "cut", tmp_path / "found")
