"""Snapshots in 8 bits: rounded as promised, exact in bfloat16, and refused if they are damaged."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file
from torch import Tensor

from core.analysis.over_training.history.eight_bits import (
    DIFFERENCE_FROM,
    EXPONENTS,
    STEPS_PER_RMS,
    RoundedSnapshot,
    read_eight_bits,
    to_eight_bits,
)
from core.formats.checkpoint import load_checkpoint
from core.formats.untrusted_parameters import CheckpointError

NAME = "matrix"


def there_and_back(tensors: dict[str, Tensor], folder: Path) -> dict[str, Tensor]:
    """Round tensors to 8 bits, and read them again."""
    save_file(tensors, folder / "exact")
    (folder / "rounded").write_bytes(to_eight_bits(folder / "exact").to_bytes())
    read_eight_bits(folder / "rounded").write_checkpoint(folder / "found")
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
    step = torch.maximum(
        root_mean_square / STEPS_PER_RMS * 2**0.5, matrix.double().abs().amax(1, keepdim=True) / 127 * 2
    )
    assert found.dtype == torch.bfloat16
    assert ((found.double() - matrix.double()).abs() <= step / 2 * (1 + 1e-6)).all()


def test_multiples_of_the_step_are_kept_exactly(tmp_path: Path) -> None:
    multiples = torch.full((3, 64), float(STEPS_PER_RMS))  # the root mean square
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
    to_eight_bits(tiny_checkpoint).write_checkpoint(tmp_path / "found.safetensors")
    found = load_checkpoint(tmp_path / "found.safetensors")
    assert (found.config, found.training) == (own.config, own.training)
    assert found.tokenizer.to_bytes() == own.tokenizer.to_bytes()
    rounded = dict(found.model.named_parameters())
    for name, parameter in own.model.named_parameters():
        again = rounded[name]
        if parameter.ndim == 2:
            error = (again - parameter).square().mean().sqrt() / parameter.square().mean().sqrt()
            assert error < 2**0.5 / STEPS_PER_RMS / 12**0.5 * 1.1  # the largest step, uniformly distributed
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
    with pytest.raises(CheckpointError, match=r"^changed: matrix lacks the exponents of its rows, one for each: copy"):
        read_eight_bits(tmp_path / "changed")


def test_a_truncated_file_is_refused(tiny_checkpoint: Path, tmp_path: Path) -> None:
    data = to_eight_bits(tiny_checkpoint).to_bytes()
    for length in (0, 7, 100, len(data) - 1):
        (tmp_path / "cut").write_bytes(data[:length])
        with pytest.raises(CheckpointError, match=r"^cut .*(not a safetensors file|truncated|damaged)"):
            read_eight_bits(tmp_path / "cut")


def random_snapshot(seed: int, scale: float) -> RoundedSnapshot:
    """Any integers, any exponents next to a scale, and a text."""
    generator = torch.Generator().manual_seed(seed)
    integers = torch.randint(-127, 128, (6, 40), generator=generator, dtype=torch.int8)
    exponents = (scale + torch.randint(-12, 13, (6,), generator=generator)).clamp(-126, 127).to(torch.int8)
    text = torch.randint(0, 256, (9,), generator=generator, dtype=torch.uint8)
    tensors = {NAME: integers, NAME + EXPONENTS: exponents, "vector": torch.randn(3).bfloat16(), "text": text}
    return RoundedSnapshot(tensors, {"seed": str(seed)})


@given(st.integers(0, 10**6), st.integers(-126, 127), st.integers(-126, 127))
@settings(max_examples=30)
def test_a_difference_leads_back_to_the_same_bits(
    tmp_path_factory: pytest.TempPathFactory, seed: int, scale: int, before_scale: int
) -> None:
    """Whatever the snapshot before it is, and however far their steps are apart."""
    own, before = random_snapshot(seed, scale), random_snapshot(seed + 1, before_scale)
    path = tmp_path_factory.mktemp("difference") / "file"
    path.write_bytes(own.difference(before, "before"))
    found = read_eight_bits(path, before, "before")
    assert found.metadata == own.metadata
    assert found.tensors.keys() == own.tensors.keys()
    for name, tensor in own.tensors.items():
        assert found.tensors[name].dtype == tensor.dtype
        assert torch.equal(found.tensors[name], tensor)


def test_a_snapshot_near_the_one_before_is_a_difference_near_zero(tmp_path: Path) -> None:
    """Though the steps of its rows are others."""
    matrix = torch.randn(8, 200)
    save_file({NAME: matrix}, tmp_path / "before")
    before = to_eight_bits(tmp_path / "before")
    for factor in (1.0, 1.5, 3.0, 0.4):  # some change the exponents of all rows
        save_file({NAME: matrix * factor}, tmp_path / "own")
        own = to_eight_bits(tmp_path / "own")
        (tmp_path / "difference").write_bytes(own.difference(before, "before"))
        difference = load_file(tmp_path / "difference")[NAME].float()
        # What was rounded before is off by half a step then, and by half a step now.
        step_before, step = ((2.0 ** each.tensors[NAME + EXPONENTS].float())[:, None] for each in (before, own))
        bound = ((factor - 1) * matrix).abs() / step + step_before / step / 2 + 1
        assert (difference.abs() <= bound).all()


@pytest.mark.parametrize(
    ("before", "name", "message"),
    [
        (None, "", r"^own is the difference from step 1, but comes after no other snapshot: an archive must have all"),
        (random_snapshot(1, 0), "step 2", r"is the difference from step 1, but comes after step 2: an archive must"),
        (
            RoundedSnapshot(random_snapshot(1, 0).tensors | {"vector": torch.ones(2)}, {}),
            "step 1",
            r"^own is the difference from step 1, but its parameters have other shapes$",
        ),
        (RoundedSnapshot({}, {}), "step 1", r"but its parameters have other shapes$"),
    ],
)
def test_a_difference_needs_the_snapshot_before_it(
    tmp_path: Path, before: RoundedSnapshot | None, name: str, message: str
) -> None:
    (tmp_path / "own").write_bytes(random_snapshot(0, 0).difference(random_snapshot(1, 0), "step 1"))
    with pytest.raises(CheckpointError, match=message):
        read_eight_bits(tmp_path / "own", before, name)


def test_a_whole_snapshot_needs_none_before_it(tmp_path: Path) -> None:
    own = random_snapshot(0, 0)
    (tmp_path / "own").write_bytes(own.to_bytes())
    found = read_eight_bits(tmp_path / "own", random_snapshot(1, 0), "step 1")
    assert torch.equal(found.tensors[NAME], own.tensors[NAME])
    assert DIFFERENCE_FROM not in found.metadata
