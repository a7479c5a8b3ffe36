"""Where a model computes: the one place that chooses between CUDA, Apple's MPS and the CPU."""

import os

import torch

DEVICE_VARIABLE = "HEADLIGHT_DEVICE"  # names a device for every command and for the app
DEVICE_HELP = f"cuda, cuda:N, mps or cpu (default: ${DEVICE_VARIABLE}, else the first of cuda, mps and cpu that there is)"


def best_device(chosen: str | torch.device | None = None) -> torch.device:
    """The device that was chosen, by argument or by `HEADLIGHT_DEVICE`; otherwise CUDA, else MPS, else the CPU.

    Raises:
        ValueError: the chosen device is none of these, or this machine does not have it.
    """
    available = [kind for kind, count in _devices().items() if count]
    chosen = chosen or os.environ.get(DEVICE_VARIABLE) or available[0]
    try:
        device = torch.device(chosen)
    except RuntimeError as error:
        raise ValueError(f"device ({chosen}) must be cuda, cuda:N, mps or cpu") from error
    if (device.index or 0) >= _devices().get(device.type, 0):
        raise ValueError(f"this machine has no device {chosen}, or PyTorch cannot use it: choose from {', '.join(available)}")
    return device


def supports_bfloat16(device: torch.device) -> bool:
    """Whether `torch.autocast` can compute in bfloat16 there; whether it is fast is another question."""
    return device.type != "mps" or torch.backends.mps.is_macos_or_newer(14, 0)


def usable_cores() -> int:
    """The cores that this process may run on, which `taskset` or a container may have made fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):  # not on macOS
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _devices() -> dict[str, int]:
    """How many devices of each kind there are, the kind to prefer first."""
    cuda = torch.cuda.device_count() if torch.cuda.is_available() else 0
    return {"cuda": cuda, "mps": int(torch.backends.mps.is_available()), "cpu": 1}
