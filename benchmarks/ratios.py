"""A file of the ratios measured by a benchmark, so that runs can be compared."""

import argparse
import json
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path

from core.files.console import CommandHelp

DATA_HELP = "output folder of `python -m train prepare`, instead of synthetic text"
FLAGS = ("amx_tile", "avx512_bf16", "avx512_vnni", "avx512f", "avx_vnni", "avx2")  # that affect speed most


def processor() -> str:
    """Describe this machine's processor: `Intel(R) Xeon(R), 2 cores: amx_tile, avx512_bf16, avx512_vnni, avx2`."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return f"{platform.processor() or platform.machine()} ({platform.system()})"
    # of the last core
    facts = {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    cores = sum(line.startswith("processor") for line in lines)
    flags = [flag for flag in FLAGS if flag in facts.get("flags", "").split()]
    generation = f"family {facts.get('cpu family', '?')}, model {facts.get('model', '?')}"
    return f"{facts.get('model name', platform.machine())} ({generation}), {cores} cores: {', '.join(flags)}"


class _Help(CommandHelp, argparse.RawDescriptionHelpFormatter): ...


def parser(description: str | None, quick: str = "", **numbers: int) -> argparse.ArgumentParser:
    """Options of a benchmark: numbers with their defaults; and of one that has a quick run, of which the text says what
    it does, `--quick` and `--json`.
    """
    parser = argparse.ArgumentParser(description=description, formatter_class=_Help)
    for name, default in numbers.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    if quick:
        parser.add_argument("--quick", action="store_true", help=quick)
        parser.add_argument("--json", type=Path, help="also write the ratios of every turn to this file")
    return parser


def save(path: Path | None, ratios: Mapping[str, Sequence[float]]) -> None:
    """Write the value of each ratio in every turn; do nothing without a path."""
    if path:
        path.write_text(json.dumps(ratios, indent=1) + "\n", encoding="utf-8")
