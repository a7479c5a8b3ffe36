"""Facts of where and when something was computed: the commit, the time, the command."""

import functools
import platform
import re
import shlex
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch

from train.distributed import World


@functools.cache  # the code that a process has imported stays the same
def commit() -> str | None:
    """Return the commit of the running code, with `+` if the tree has changes; None outside a git checkout."""
    root = Path(__file__).resolve().parents[2]
    try:
        head, changed = (_git(root, *command) for command in (("rev-parse", "HEAD"), ("status", "--porcelain")))
    except (OSError, subprocess.CalledProcessError):
        return None
    return head + ("+" if changed else "")


def _git(root: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=True).stdout.strip()


def now() -> str:
    """Return the time in UTC, to the second, in ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def folder_of(facts: dict[str, Any]) -> str:
    """Return the folder of a run, from the `fit` command among its facts."""
    words = _words(facts.get("command", ""))
    return words[words.index("--run") + 1] if "--run" in words[:-1] else ""


def portable(command: str) -> str:
    """Return a command with absolute paths shortened to file names, as such paths mean nothing on other machines."""
    return shlex.join(Path(word).name if Path(word).is_absolute() else word for word in _words(command))


def _words(command: str) -> list[str]:
    """Words of a recorded command; those of earlier versions may be without quotes."""
    try:
        return shlex.split(command)
    except ValueError:
        return command.split()


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
