"""The rows of Table 3: the paper's, and those of experiments, against an independent computation."""

import io
from pathlib import Path

import pandas as pd
import pytest

from core.analysis.model_variations import (
    TABLE_3,
    Trained,
    as_in_paper,
    read_runs,
    seed_range,
    table_3_lines,
    trained_rows,
)
from core.files.shipped_files import shipped_folder

RUNS = """row,seed,shape,parameters,hours,perplexity,bleu
base,1,'=3,2000000,0.5,9.0,20.0
base,2,'=3,2000000,0.5,9.25,22.0
A-h1,1,x,2500000,0.4,10.5,18.5
A-h1,2,x,2500000,0.4,10.25,18.0
big,1,x,2500000,0.4,7.0,25.0
"""


def test_of_the_papers_rows_big_is_the_best() -> None:
    assert max(TABLE_3, key=lambda name: TABLE_3[name].bleu) == "big"
    assert min(TABLE_3, key=lambda name: TABLE_3[name].perplexity) == "big"


def test_a_line_has_the_mean_of_its_seeds_and_the_difference_from_base(tmp_path: Path) -> None:
    for name in ("narrow", "wide"):
        (tmp_path / name).mkdir()
    (tmp_path / "narrow" / "table3.csv").write_text(RUNS, encoding="utf-8")
    (tmp_path / "wide" / "table3.csv").write_text(RUNS.partition("A-h1")[0], encoding="utf-8")
    assert read_runs(tmp_path / "narrow" / "table3.csv")[0]["shape"] == "=3"
    table = pd.DataFrame(table_3_lines(trained_rows(tmp_path)))
    assert [*table["row"].unique()] == [*TABLE_3]
    assert [*table[table["row"] == "base"]["experiment"]] == ["narrow", "wide"]
    assert table[~table["row"].isin(["base", "A-h1", "big"])][["experiment", "bleu"]].isna().all(axis=None)
    found = table[table["experiment"] == "narrow"].set_index("row")
    runs = pd.read_csv(io.StringIO(RUNS)).groupby("row", sort=False)
    for score in ("perplexity", "bleu"):
        means = runs[score].mean()
        assert found[score].to_dict() == means.to_dict()
        assert found[f"{score}_vs_base"].to_dict() == (means - means["base"]).to_dict()
        assert found[f"{score}_lowest"].to_dict() == runs[score].min().to_dict()
        assert found[f"{score}_highest"].to_dict() == runs[score].max().to_dict()
    assert [*found["as_in_paper"]] == [None, True, True]


def test_a_difference_within_that_of_two_seeds_is_of_no_direction() -> None:
    def row(name: str, difference: float) -> Trained:
        scores = {"perplexity": [5.0, 5.1]}
        return Trained(name, "x", "", scores, {"perplexity": difference})

    assert seed_range([row("base", 0.0), Trained("A-h1", "x", "", {"perplexity": [9.0]}, {})]) == 0.1
    assert seed_range([]) == 0
    assert [as_in_paper(row("A-h1", at), 0.1) for at in (-0.2, -0.1, 0.1, 0.2)] == [False, None, None, True]
    assert [as_in_paper(row("big", at), 0.1) for at in (-0.2, 0.2)] == [True, False]
    assert as_in_paper(row("E-learned", 9.0), 0.1) is None  # no difference in the paper
    assert as_in_paper(Trained("big", "x", "", {"perplexity": [1.0]}, {}), 0.0) is None


@pytest.mark.parametrize(
    "path", sorted(shipped_folder("docs/table3").glob("*/*.csv")), ids=lambda path: path.parent.name
)
def test_the_runs_of_a_shipped_experiment_can_be_compared(path: Path) -> None:
    runs = pd.DataFrame(read_runs(path))
    assert set(runs["row"]) <= TABLE_3.keys()
    assert "base" in set(runs["row"])
    assert not runs.duplicated(["row", "seed"]).any()
    assert (runs[["steps", "test_set", "sentences", "beam_size", "bleu_signature"]].nunique() == 1).all()
