"""Choice of device (CUDA, Apple's MPS or the CPU), and number of CPU cores."""

import os
from pathlib import Path
from typing import Literal

import torch

Precision = Literal["exact", "fast"]  # of a search: float32, or reduced where that is faster
DEVICE_VARIABLE = "HEADLIGHT_DEVICE"  # environment variable with the device for all commands and the app
DEVICE_HELP = f"cuda, cuda:N, mps or cpu (default: ${DEVICE_VARIABLE}, else the first available of cuda, mps and cpu)"
CGROUP = Path("/sys/fs/cgroup")  # resource limits of the container


def best_device(chosen: str | torch.device | None = None) -> torch.device:
    """The device chosen by argument or `HEADLIGHT_DEVICE`, or the best available.

    On CUDA, it turns cuDNN's attention off: cuDNN makes a plan for each new shape, which takes 252 ms for forward and
    backward (NVIDIA H200, PyTorch 2.11), and sentences have many shapes. Other kernels take 0.7 ms from the first call.

    Raises:
        ValueError: the chosen device is unknown or not available.
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
    if device.type == "cuda":
        torch.backends.cuda.enable_cudnn_sdp(False)
    return device


def supports_bfloat16(device: torch.device) -> bool:
    """Whether `torch.autocast` supports bfloat16 on the device, fast or not."""
    return device.type != "mps" or torch.backends.mps.is_macos_or_newer(14, 0)


def usable_cores(cgroup: Path = CGROUP) -> int:
    """Number of CPU cores this process may use, at least 1, by CPU affinity and the container's CPU quota."""
    affinity = getattr(os, "sched_getaffinity", None)  # Linux only
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    quota = _quota(cgroup)
    return cores if quota is None else max(1, min(cores, int(quota)))


def _quota(cgroup: Path) -> float | None:
    """CPU quota of the container in cores, by cgroups v1 or v2; None without one."""
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
    """Number of devices of each kind, in order of preference."""
    cuda = torch.cuda.device_count() if torch.cuda.is_available() else 0
    return {"cuda": cuda, "mps": int(torch.backends.mps.is_available()), "cpu": 1}
