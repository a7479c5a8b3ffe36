"""Snapshots with 8 bits for a weight.

Each row of a matrix is rounded to multiples of a step: the power of two nearest to 1/32 of the row's root mean square,
or a larger one where the row's largest weight would take more than 8 bits. The error is nearly uniform: its standard
deviation is 1 / sqrt(12) of the step, some 0.9 % of the root mean square. Products of a power of two and an integer of
8 bits are exact in bfloat16. Vectors are stored in bfloat16.

The entropy of normal weights is then some 7 bits, and deflate comes close; differences of snapshots take less.
"""

from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save, save_file
from torch import Tensor

from core.files.file_writing import NotWrittenError
from core.formats.checkpoint import check_header
from core.formats.untrusted_parameters import ADVICE, CheckpointError

STEPS_PER_RMS = 32
LARGEST = 127  # multiple of a step
EXPONENTS = ".exponents"  # after the name of a matrix: of the steps of its rows
DIFFERENCE_FROM = "difference_from"  # in the metadata of a file of differences: the snapshot before it
# Powers of two by which an integer of 8 bits becomes 0 or exceeds 8 bits, and those between: exact on every processor.
FURTHEST = 9
POWERS = torch.tensor([2.0**exponent for exponent in range(-FURTHEST, FURTHEST + 1)])


@dataclass(frozen=True, eq=False)
class RoundedSnapshot:
    """A checkpoint with 8 bits a weight."""

    # matrices as multiples of the steps of their rows (int8), the exponents of these steps, and all else
    tensors: dict[str, Tensor]
    metadata: dict[str, str]  # of the checkpoint's safetensors file

    @property
    def matrices(self) -> set[str]:
        """The names of the matrices."""
        integers = {name for name, tensor in self.tensors.items() if tensor.dtype == torch.int8}
        return {name for name in integers if not name.endswith(EXPONENTS)}

    def to_bytes(self) -> bytes:
        """Return the snapshot as a safetensors file."""
        return save(self.tensors, self.metadata)

    def difference(self, before: "RoundedSnapshot", name: str) -> bytes:
        """Return a safetensors file of the differences from another snapshot of this model, of a name for `plus`."""
        changed = {each: self.tensors[each] - predicted for each, predicted in self._predicted(before).items()}
        return save(self.tensors | changed, {**self.metadata, DIFFERENCE_FROM: name})

    def plus(self, before: "RoundedSnapshot") -> "RoundedSnapshot":
        """Return the snapshot of which this is the `difference`."""
        whole = {each: self.tensors[each] + predicted for each, predicted in self._predicted(before).items()}
        metadata = {name: text for name, text in self.metadata.items() if name != DIFFERENCE_FROM}
        return RoundedSnapshot(self.tensors | whole, metadata)

    def _predicted(self, before: "RoundedSnapshot") -> dict[str, Tensor]:
        """The integers of the snapshot before, for matrices in the steps of this one.

        Sums and differences of 8 bits wrap around, so that none overflows.
        """
        predicted = {name: tensor for name, tensor in before.tensors.items() if tensor.dtype == torch.uint8}
        for name in self.matrices:
            steps, own = (each.tensors[name + EXPONENTS].long() for each in (before, self))
            scale = POWERS[(steps - own).clamp(-FURTHEST, FURTHEST) + FURTHEST]
            multiples = (before.tensors[name] * scale[:, None]).round_().clamp_(-LARGEST, LARGEST)
            predicted[name] = multiples.to(torch.int8)
        return predicted

    def write_checkpoint(self, output: Path) -> None:
        """Write the snapshot as a checkpoint in bfloat16, which `load_checkpoint` checks.

        Raises:
            NotWrittenError: it cannot be written.
        """
        tensors = dict(self.tensors)
        for name in self.matrices:
            steps = tensors.pop(name + EXPONENTS).float().exp2()
            tensors[name] = tensors[name].bfloat16().mul_(steps.bfloat16()[:, None])  # exact, without a copy in float32
        try:
            save_file(tensors, output, self.metadata)
        except SafetensorError as error:
            raise NotWrittenError(output, OSError(str(error))) from error


def to_eight_bits(path: Path) -> RoundedSnapshot:
    """Round a checkpoint, whose parameters are finite."""
    tensors, metadata = _read(path)
    stored: dict[str, Tensor] = {}
    for name, tensor in tensors.items():
        if tensor.ndim == 2 and tensor.is_floating_point():
            exponents = _exponents(tensor.float())
            stored[name] = (tensor.float() / exponents.exp2()).round().to(torch.int8)
            stored[name + EXPONENTS] = exponents[:, 0].to(torch.int8)
        else:
            stored[name] = tensor.bfloat16() if tensor.is_floating_point() else tensor
    return RoundedSnapshot(stored, metadata)


def read_eight_bits(path: Path, before: RoundedSnapshot | None = None, before_name: str = "") -> RoundedSnapshot:
    """Read an untrusted file of `RoundedSnapshot.to_bytes`, or of its `difference` from the snapshot `before`.

    Raises:
        CheckpointError: the file is damaged, a matrix lacks the exponents of its rows, or it is a difference.
    """
    check_header(path)
    try:
        snapshot = RoundedSnapshot(*_read(path))
    except SafetensorError as error:
        raise CheckpointError(
            f"{path.name} is cut off, damaged or not a safetensors file: {ADVICE} ({error})"
        ) from error
    for name in snapshot.matrices:
        matrix, exponents = snapshot.tensors[name], snapshot.tensors.get(name + EXPONENTS)
        if (
            matrix.ndim != 2
            or exponents is None
            or (exponents.dtype, exponents.shape) != (torch.int8, matrix.shape[:1])
        ):
            raise CheckpointError(f"{path.name}: {name:.60} lacks the exponents of its rows, one for each: {ADVICE}")
    if (wanted := snapshot.metadata.get(DIFFERENCE_FROM)) is None:
        return snapshot
    if before is None or wanted != before_name:
        raise CheckpointError(
            f"{path.name} is the difference from {wanted:.60}, but comes after {before_name or 'no other snapshot'}: "
            f"an archive must have all snapshots that `python -m train history` wrote"
        )
    shapes, others = (
        {name: (each.dtype, each.shape) for name, each in of.tensors.items()} for of in (snapshot, before)
    )
    if shapes != others:
        raise CheckpointError(f"{path.name} is the difference from {wanted}, but its parameters have other shapes")
    return snapshot.plus(before)


def _exponents(matrix: Tensor) -> Tensor:
    """Exponents of the steps of the rows. [R, C] -> [R, 1]"""
    nearest = (matrix.square().mean(1, keepdim=True).sqrt() / STEPS_PER_RMS).log2().round()
    smallest = (matrix.abs().amax(1, keepdim=True) / LARGEST).log2().ceil()
    return nearest.maximum(smallest).clamp(-126, 127)  # -inf for a row of zeros


def _read(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    with safe_open(path, framework="pt") as file:
        return {name: file.get_tensor(name) for name in file.keys()}, file.metadata() or {}  # noqa: SIM118
