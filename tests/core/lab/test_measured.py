"""What was measured is what the documentation quotes, and each training has its row."""

from pathlib import Path

import pytest

from benchmarks.lab import ROWS, table
from core.lab.measured import FILE, Measured, Result, read, recorded, row_name
from core.lab.variants import VARIANTS, Settings


def test_the_documentation_has_the_table_and_all_variants_are_in_it() -> None:
    text, results = Path("docs/lab.md").read_text("utf-8"), read(FILE)
    assert "\n".join(table(results)) in text
    assert results.keys() <= {row_name(task, names, Settings(**sizes)) for task, names, sizes in ROWS}
    assert {*VARIANTS} <= {name for row in results for name in row.split()}


def test_a_median_with_its_range() -> None:
    measured = Measured.of([Result([0.0, 0.2, share], loss, 0.5) for share, loss in ((0.3, 3), (0.9, 1), (0.4, 2))])
    assert measured == (3, ((0, 0, 0), (0.2, 0.2, 0.2), (0.4, 0.3, 0.9)), (2, 1, 3), (0.5, 0.5, 0.5))


@pytest.mark.parametrize(
    ("settings", "row"),
    [(Settings(seed=7), "sort no_norm"), (Settings(num_heads=1, d_model=256), "sort no_norm d_model=256 num_heads=1")],
)
def test_the_row_of_a_training(settings: Settings, row: str) -> None:
    assert row_name("sort", ["no_norm"], settings) == row


def test_what_the_documentation_says_is_seen() -> None:
    last = {row: measured.exact[-1] for row, measured in recorded().items()}
    useless = ("no_causal_mask", "no_positions", "no_cross_attention", "no_warmup")
    assert max(last[f"reverse {name}"].greatest for name in useless) < 0.1
    assert min(last[row].median for row in ("reverse", "sort no_positions", "reverse norm_before no_warmup")) > 0.7
    assert recorded()["reverse no_causal_mask"].loss.median < 0.7 < 2 < recorded()["reverse no_warmup"].loss.median
