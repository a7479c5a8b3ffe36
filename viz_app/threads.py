"""How many threads the app computes with."""

import os
from pathlib import Path

CGROUP = Path("/sys/fs/cgroup")  # where Linux says how much of the machine a container may use
MOST = 4  # at batch 1 a product of this size is too small for more


def usable_cores(cgroup: Path = CGROUP) -> int:
    """Cores that this process may use: those of the machine, less what affinity and the container's quota withhold; at least 1."""
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
            quota, period = ((cgroup / "cpu" / f"cpu.cfs_{name}_us").read_text().strip() for name in ("quota", "period"))
        except OSError:
            return None
    return int(quota) / int(period) if quota not in ("max", "-1") else None


def chosen_threads(cores: int, asked: str | None) -> int:
    """Threads to compute with.

    Half of the cores, since the browser is on this machine too and draws at the same time: PyTorch's threads wait for one another
    after every product, so one that has lost its core to the browser stops them all. For the same reason never more than there
    are cores, whatever is asked for.

    Args:
        cores: that may be used.
        asked: the value of `OMP_NUM_THREADS`: a number, or one for each level of nesting, of which the first counts; what is
            neither is left to be ignored, as OpenMP does.
    """
    first = (asked or "").split(",")[0].strip()
    if first.isdecimal() and int(first) > 0:
        return min(int(first), cores)
    return max(1, min(cores // 2, MOST))
