"""Snapshots with 8 bits for a weight.

Each row of a matrix is rounded to multiples of a step: the power of two nearest to an eighth of the row's root mean
square, or a larger one where the row's largest weight would take more than 8 bits. The error is nearly uniform: its
standard deviation is 1 / sqrt(12) of the step, some 3.6 % of the root mean square. The entropy of normally distributed
weights is some 5 bits then, and deflate comes close to it. Products of a power of two and an integer of 8 bits are
exact in bfloat16. Vectors are stored in bfloat16.
"""

from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save, save_file
from torch import Tensor

from core.checkpoint import check_header
from core.file_writing import NotWrittenError
from core.untrusted_parameters import ADVICE, CheckpointError

STEPS_PER_RMS = 8
LARGEST = 127  # multiple of a step
EXPONENTS = ".exponents"  # after the name of a matrix: of the steps of its rows


def to_eight_bits(path: Path) -> bytes:
    """Return a checkpoint as a safetensors file with 8 bits a weight.

    Args:
        path: of the checkpoint, whose parameters are finite.
    """
    tensors, metadata = _read(path)
    stored: dict[str, Tensor] = {}
    for name, tensor in tensors.items():
        if tensor.ndim == 2 and tensor.is_floating_point():
            exponents = _exponents(tensor.float())
            stored[name] = (tensor.float() / exponents.exp2()).round().to(torch.int8)
            stored[name + EXPONENTS] = exponents[:, 0].to(torch.int8)
        else:
            stored[name] = tensor.bfloat16() if tensor.is_floating_point() else tensor
    return save(stored, metadata)


def from_eight_bits(path: Path, output: Path) -> None:
    """Write the checkpoint that `to_eight_bits` has rounded, in bfloat16.

    Args:
        path: untrusted; the output has at most twice as many bytes.
        output: not checked further: `load_checkpoint` does.

    Raises:
        CheckpointError: the file is damaged, or a matrix lacks the exponents of its rows.
        NotWrittenError: the output cannot be written.
    """
    check_header(path)
    try:
        stored, metadata = _read(path)
    except SafetensorError as error:
        raise CheckpointError(
            f"{path.name} is cut off, damaged or not a safetensors file: {ADVICE} ({error})"
        ) from error
    for name in [name for name, tensor in stored.items() if tensor.dtype == torch.int8]:
        if name.endswith(EXPONENTS):
            continue
        matrix, exponents = stored[name], stored.pop(name + EXPONENTS, None)
        if (
            matrix.ndim != 2
            or exponents is None
            or (exponents.dtype, exponents.shape) != (torch.int8, matrix.shape[:1])
        ):
            raise CheckpointError(f"{path.name}: {name:.60} lacks the exponents of its rows, one for each: {ADVICE}")
        stored[name] = (matrix.float() * exponents.float().exp2()[:, None]).bfloat16()
    try:
        save_file(stored, output, metadata)
    except SafetensorError as error:
        raise NotWrittenError(output, OSError(str(error))) from error


def _exponents(matrix: Tensor) -> Tensor:
    """Exponents of the steps of the rows. [R, C] -> [R, 1]"""
    nearest = (matrix.square().mean(1, keepdim=True).sqrt() / STEPS_PER_RMS).log2().round()
    smallest = (matrix.abs().amax(1, keepdim=True) / LARGEST).log2().ceil()
    return nearest.maximum(smallest).clamp(-126, 127)  # -inf for a row of zeros


def _read(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    with safe_open(path, framework="pt") as file:
        return {name: file.get_tensor(name) for name in file.keys()}, file.metadata() or {}  # noqa: SIM118
