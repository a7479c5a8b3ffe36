"""Train the variants of `core.lab` over several seeds, and print what became of each as a table.

    python -m benchmarks.lab [--seeds 10] [--only ROW ...] [--output core/lab/measured.json]

Not speed: the share of 200 unseen sequences that each answers exactly. Results are kept as they come, and a second call
goes on. A row takes one core some 15 seconds a seed, those of another size up to 90.
"""

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch

from benchmarks import ratios
from core.files.file_writing import write_text
from core.lab.maps import attention_maps
from core.lab.measured import FILE, STEPS, Measured, Spread, recorded, row_name
from core.lab.tasks import TASKS
from core.lab.training import Training
from core.lab.variants import VARIANTS, Settings

Row = tuple[str, tuple[str, ...], Mapping[str, int]]  # task, variants, sizes
DEEP, WIDE_HEAD = {"num_layers": 6}, {"d_model": 256, "num_heads": 1}
SLOW = {**DEEP, "warmup": 400}
ROWS: list[Row] = [
    ("reverse", (), {}),
    *(("reverse", (name,), {}) for name in VARIANTS),
    ("reverse", ("norm_before", "no_warmup"), {}),
    *(("sort", variants, {}) for variants in ((), ("no_positions",))),
    ("dates", (), {}),
    *(("reverse", variants, WIDE_HEAD) for variants in ((), ("no_scale",))),
    *(("reverse", variants, size) for size in (DEEP, SLOW) for variants in ((), ("no_norm",), ("norm_before",))),
]


def trained(row: Row, seed: int) -> list[Any]:
    """Train one row with one seed; return its exact shares, loss and entropy, see `Measured`."""
    task, variants, sizes = row
    training = Training(TASKS[task](), Settings(**sizes, seed=seed), [VARIANTS[name] for name in variants])
    weights = attention_maps(training, *training.task.unseen[0])["encoder_self"][0].weights
    entropy = torch.special.entr(weights).sum(dim=-1).mean() / torch.tensor(weights.size(-1)).log()
    exact, loss = list[float](), math.nan
    for step in STEPS:
        *_, (_, loss, _) = training.steps(step)
        exact.append(training.exact())
    return [exact, round(loss, 3), round(entropy.item(), 3)]


def table(found: Mapping[str, Measured]) -> Iterator[str]:
    """Yield the lines of the table, in Markdown, in the order of `ROWS`."""
    steps = " | ".join(f"{step} steps" for step in STEPS)
    yield f"| task | variant | size | {steps} | last loss | first entropy | seeds |"
    yield "|---" * (6 + len(STEPS)) + "|"
    for task, variants, sizes in ROWS:
        if row := found.get(row_name(task, variants, Settings(**sizes))):
            titles = ", ".join(VARIANTS[name].title for name in variants).lower() or "the paper"
            size = ", ".join(f"{name} {number}" for name, number in sizes.items())
            shares = [written(shares, "{:.0%}") for shares in row.exact]
            cells = [task, titles, size, *shares, written(row.loss, "{:.2f}"), written(row.entropy, "{:.0%}")]
            yield f"| {' | '.join(cells)} | {row.seeds} |"


def written(spread: Spread, form: str) -> str:
    """Write a median with its range, if it has one."""
    middle, least, greatest = map(form.format, spread)
    return middle if least == greatest else f"{middle} ({least} to {greatest})"


def main() -> None:
    """Measure what is not yet in the file, and print all of it."""
    rows = {row_name(task, parts, Settings(**sizes)): (task, parts, sizes) for task, parts, sizes in ROWS}
    parser = ratios.parser(__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--only", nargs="+", metavar="ROW", choices=rows, default=[*rows], help="default: all")
    parser.add_argument("--output", type=Path, default=FILE, help="the file of results")
    options = parser.parse_args()
    torch.set_num_threads(1)
    results: dict[str, list[Any]] = json.loads(options.output.read_text()) if options.output.exists() else {}
    for seed in range(1, options.seeds + 1):
        for name in options.only:
            if len(results.setdefault(name, [])) < seed:
                results[name].append(trained(rows[name], seed))
                lines = (f"{json.dumps(row)}: {json.dumps(found)}" for row, found in results.items() if found)
                write_text(options.output, "{\n" + ",\n".join(lines) + "\n}\n")
    print(*table(recorded(options.output)), sep="\n")


if __name__ == "__main__":
    main()
