"""Where a model computes: the one place that chooses between CUDA, Apple's MPS and the CPU."""

import os
from pathlib import Path

import torch

DEVICE_VARIABLE = "HEADLIGHT_DEVICE"  # names a device for every command and for the app
DEVICE_HELP = (
    f"cuda, cuda:N, mps or cpu (default: ${DEVICE_VARIABLE}, else the first of cuda, mps and cpu that there is)"
)
CGROUP = Path("/sys/fs/cgroup")  # where Linux says how much of the machine a container may use


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
        raise ValueError(
            f"this machine has no device {chosen}, or PyTorch cannot use it: choose from {', '.join(available)}"
        )
    return device


def supports_bfloat16(device: torch.device) -> bool:
    """Whether `torch.autocast` can compute in bfloat16 there; whether it is fast is another question."""
    return device.type != "mps" or torch.backends.mps.is_macos_or_newer(14, 0)


def usable_cores(cgroup: Path = CGROUP) -> int:
    """Cores that this process may use: those of the machine, less what affinity and the container's quota withhold;
    at least 1.
    """
    affinity = getattr(os, "sched_getaffinity", None)  # Linux alone has it
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    quota = _quota(cgroup)
    return cores if quota is None else max(1, min(cores, int(quota)))


def _quota(cgroup: Path) -> float | None:
    """Cores by the container's quota of time, of either version of cgroups; None without one."""
    try:
        quota, period = (cgroup / "cpu.max").read_text().split()
    except (OSError, ValueError):
        try:
            quota, period = (
                (cgroup / "cpu" / f"cpu.cfs_{name}_us").read_text().strip() for name in ("quota", "period")
            )
        except OSError:
            return None
    return int(quota) / int(period) if quota not in ("max", "-1") else None


def _devices() -> dict[str, int]:
    """How many devices of each kind there are, the kind to prefer first."""
    cuda = torch.cuda.device_count() if torch.cuda.is_available() else 0
    return {"cuda": cuda, "mps": int(torch.backends.mps.is_available()), "cpu": 1}
