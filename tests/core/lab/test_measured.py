"""What was measured is what the documentation quotes, and each training has its row."""

from pathlib import Path

from benchmarks.lab import ROWS, table
from core.lab.measured import measured, recorded, row_name
from core.lab.variants import VARIANTS, Settings


def test_the_documentation_has_the_table_and_all_variants_are_in_it() -> None:
    rows = recorded()
    assert "\n".join(table(rows)) in Path("docs/lab.md").read_text("utf-8")
    assert rows.keys() <= {row_name(task, names, Settings(**sizes)) for task, names, sizes in ROWS}
    assert {*VARIANTS} <= {name for row in rows for name in row.split()}


def test_a_median_with_its_range() -> None:
    found = measured([[[0.0, 0.2, share], loss, 0.5] for share, loss in ((0.3, 3), (0.9, 1), (0.4, 2))])
    assert found == (3, ((0, 0, 0), (0.2, 0.2, 0.2), (0.4, 0.3, 0.9)), (2, 1, 3), (0.5, 0.5, 0.5))


def test_the_row_of_a_training() -> None:
    assert row_name("sort", ["no_norm"], Settings(seed=7)) == "sort no_norm"
    assert row_name("sort", [], Settings(num_heads=1, d_model=256)) == "sort d_model=256 num_heads=1"


def test_what_the_documentation_says_is_seen() -> None:
    last = {row: found.exact[-1] for row, found in recorded().items()}
    useless = ("no_causal_mask", "no_positions", "no_cross_attention", "no_residual")
    assert last["reverse no_warmup"].median < 0.1  # with some seeds it learns something
    assert max(last[f"reverse {name}"].greatest for name in useless) < 0.1
    assert min(last[row].median for row in ("reverse", "sort no_positions", "reverse norm_before no_warmup")) > 0.7
    assert recorded()["reverse no_causal_mask"].loss.median < 0.7 < 1.5 < recorded()["reverse no_warmup"].loss.median
