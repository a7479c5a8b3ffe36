"""Names of the processors that train."""

import platform
import re
from pathlib import Path

import torch

from train.distributed import World

CPU_INFO = Path("/proc/cpuinfo")


def hardware(world: World) -> str:
    """Describe the processors of a run: `Intel(R) Xeon(R) Processor, 2 threads` or `8 x NVIDIA H200`."""
    if world.device.type == "cuda":
        name = torch.cuda.get_device_name(world.device)
    else:
        threads = torch.get_num_threads()
        name = f"{cpu_name()}, {threads} thread{'s' if threads > 1 else ''}"
    return f"{world.size} x {name}" if world.size > 1 else name


def cpu_name() -> str:
    """Return the CPU's model name as the system reports it, else `CPU`."""
    try:
        model_name = re.search(r"^model name\s*:\s*(.+)$", CPU_INFO.read_text(encoding="utf-8"), re.MULTILINE)
    except OSError:
        model_name = None
    return model_name[1].strip() if model_name else platform.processor() or "CPU"
