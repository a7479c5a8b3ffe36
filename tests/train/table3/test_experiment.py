import csv
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

import train.loop
from core.analysis.model_variations import TABLE_3, read_runs
from core.formats.checkpoint import load_checkpoint
from core.model.preset_configs import PRESETS
from train.__main__ import main
from train.precision import ProductTimes
from train.recipe import Recipe
from train.runs.run_folder import RunFolder
from train.table3 import experiment
from train.table3.experiment import Budget, scaled


def arguments(data: Path, folder: Path, *more: str, budget: str = "1") -> list[str]:
    scale = ["--scale=16", "--depth-scale=2", "--batch-tokens=200", "--max-length=60", "--sentences=2", "--beam-size=1"]
    return ["table3", f"--data={data}", "-o", str(folder), f"--budget={budget}", *scale, *more]


def test_rows_are_trained_scored_and_put_beside_the_papers(
    prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    draw_rows = experiment.draw_rows
    monkeypatch.setattr(experiment, "draw_rows", lambda *_: None)
    assert main(arguments(prepared, tmp_path, "--rows", "C-N2", "base")) == 0
    with (tmp_path / "table3.csv").open(encoding="utf-8", newline="") as file:
        base, shallow = csv.DictReader(file)
    assert (base["row"], shallow["row"]) == ("base", "C-N2")  # in the order of the paper's table
    assert (base["shape"][:31], shallow["shape"][:31]) == (
        "3 + 3 layers, d_model 32, d_ff ",
        "1 + 1 layers, d_model 32, d_ff ",
    )
    assert (base["steps"], base["sentences"]) == ("1", "2")
    assert float(base["perplexity"]) > 1
    model = load_checkpoint(RunFolder(tmp_path / "C-N2").snapshots()[-1]).model
    assert (
        int(shallow["parameters"])
        == sum(parameter.numel() for parameter in model.parameters())
        < int(base["parameters"])
    )
    assert "C-N2: perplexity" in capsys.readouterr().out

    def evaluate(*_: object) -> None:
        raise AssertionError("a scored row is not scored again")

    monkeypatch.setattr(experiment, "evaluate", evaluate)
    monkeypatch.setattr(experiment, "draw_rows", draw_rows)
    before = (tmp_path / "table3.csv").read_bytes()
    assert main(arguments(prepared, tmp_path, "--rows", "base")) == 0
    assert (tmp_path / "table3.csv").read_bytes() == before  # earlier rows are kept
    assert (tmp_path / "table3.svg").read_text(encoding="utf-8").startswith("<?xml")


# rows that differ in nothing but the number of heads: one layer is enough
SHALLOW = ("--depth-scale", "6")


@pytest.fixture
def no_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw no figure, which takes longer than training."""
    monkeypatch.setattr(experiment, "draw_rows", lambda *_: None)


@pytest.mark.usefixtures("no_figure")
def test_each_row_is_trained_with_each_seed(prepared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = ("--rows", "A-h1", "base", *SHALLOW)
    assert main(arguments(prepared, tmp_path, *rows)) == 0  # before more seeds are wanted
    of_first = (tmp_path / "A-h1" / "score.json").read_bytes()
    assert main(arguments(prepared, tmp_path, *rows, "--seed", "1", "2", "1")) == 0
    assert (tmp_path / "A-h1" / "score.json").read_bytes() == of_first
    assert "A-h1, seed 2: perplexity" in capsys.readouterr().out
    with (tmp_path / "table3.csv").open(encoding="utf-8", newline="") as file:
        runs = list(csv.DictReader(file))
    assert [(run["row"], run["seed"]) for run in runs] == [("base", "1"), ("base", "2"), ("A-h1", "1"), ("A-h1", "2")]
    assert len({run["perplexity"] for run in runs}) == 4
    models = [load_checkpoint(RunFolder(tmp_path / name).snapshots()[-1]).model for name in ("base", "base-seed-2")]
    assert not models[0].embedding.tokens.weight.equal(models[1].embedding.tokens.weight)


@pytest.mark.usefixtures("no_figure")
def test_all_rows_compute_in_the_precision_of_the_first(
    prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is measured later, and whichever rows are requested next."""
    for rows, bfloat16 in ((["A-h1", "base"], 50.0), (["A-h4"], 0.25)):
        monkeypatch.setattr(
            train.loop, "measure_precisions", lambda *_, bfloat16=bfloat16: ProductTimes(bfloat16, 1.0, 200)
        )
        assert main(arguments(prepared, tmp_path, "--rows", *rows, *SHALLOW)) == 0
    assert [RunFolder(tmp_path / row).record.recipe()["precision"] for row in ("base", "A-h1", "A-h4")] == [
        "float32"
    ] * 3


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--rows", "A-h2"], "A-h2: no such row; there are base, A-h1"),
        (["--rows", "A-h32", "--scale", "32"], r"A-h32: d_k \(16\) cannot be divided by 32"),
        (["--budget", "1h"], r"the budget \(1h\) must be a number of steps, such as 2000, or of minutes, such as 30m"),
        (["--source", "a.en"], "--source and --target go together"),
        (["--data", "none"], "none has no manifest.json: run `python -m train prepare` there"),
    ],
)
def test_errors_come_before_any_training(
    prepared: Path, tmp_path: Path, more: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*arguments(prepared, tmp_path / "out"), *more]) == 1
    assert re.search(message, capsys.readouterr().err)
    assert not (tmp_path / "out").exists()


def test_scaling_keeps_heads_and_ratios() -> None:
    for row in TABLE_3:
        config = PRESETS[row]
        small = scaled(config, width=4, depth=2)
        assert (small.num_heads, small.dropout, small.positions) == (config.num_heads, config.dropout, config.positions)
        (_, d_k, d_v), (_, small_d_k, small_d_v) = config.encoder_heads, small.encoder_heads
        assert (4 * small.d_model, 4 * small.d_ff, 4 * small_d_k, 4 * small_d_v) == (
            config.d_model,
            config.d_ff,
            d_k,
            d_v,
        )
        assert (2 * small.num_encoder_layers, 2 * small.num_decoder_layers) == (
            config.num_encoder_layers,
            config.num_decoder_layers,
        )
    assert scaled(PRESETS["base"]) == PRESETS["base"]
    with pytest.raises(ValueError, match=r"num_encoder_layers \(6\) cannot be divided by 4"):
        scaled(PRESETS["base"], depth=4)


def test_a_budget_is_steps_or_minutes() -> None:
    recipe = Recipe()
    assert Budget.parse("1000").applied(recipe, {}) == replace(recipe, steps=1_000, warmup=200)
    assert Budget.parse("100000").applied(recipe, {}).warmup == 4_000
    assert Budget.parse("1000").applied(recipe, {"warmup": 50}).warmup == 50
    assert Budget.parse("2.5m").applied(recipe, {}).minutes == 2.5
    for wrong in ("0", "0m", "-1", "1.5", "m"):
        with pytest.raises(ValueError, match="must be a number of steps"):
            Budget.parse(wrong)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "Expecting value"),
        (b"\xff", "'utf-8' codec"),
        (b"[]", "it is a list"),
        (b"{}", "parameters is None, not a number"),
        ({"bleu": "high"}, "bleu is 'high', not a number"),
        ({"hours": [1]}, r"hours is \[1\], not a number"),
        ({"parameters": True}, "parameters is True, not a number"),
    ],
)
def test_a_score_without_numbers_is_named(content: bytes | dict[str, object], reason: str, tmp_path: Path) -> None:
    run, numbers = tmp_path / "base", {"perplexity": 1.5, "bleu": 1, "parameters": 3, "hours": 0.1}
    run.mkdir()
    (run / "recipe.json").write_text('{"seed": 1}')
    (run / "score.json").write_text(json.dumps(numbers))
    assert experiment.read_rows(tmp_path) == [{"row": "base", "seed": 1, **numbers}]
    (run / "score.json").write_bytes(json.dumps(numbers | content).encode() if isinstance(content, dict) else content)
    with pytest.raises(ValueError, match=rf"base/score\.json is damaged: {reason}.*; remove it, and run the same co"):
        experiment.read_rows(tmp_path)


@pytest.mark.usefixtures("no_figure")
def test_finished_runs_are_added_to_the_table_of_another_folder(tmp_path: Path) -> None:
    """In the place of the same runs before; a name that is a formula is a text."""
    line = {"shape": "", "parameters": 3, "steps": "2", "test_set": "=cmd", "sentences": "2", "beam_size": "4"}
    line |= {"hours": 0.1, "perplexity": 1.5, "bleu": -0.5, "bleu_signature": ""}
    before = [{"row": "base", "seed": seed, **line} for seed in (1, 2)]
    experiment.write_table(tmp_path, before)
    assert b",'=cmd," in (tmp_path / "table3.csv").read_bytes()
    for row, seed in (("A-h1", 1), ("base", 2)):
        run = tmp_path / "runs" / row
        run.mkdir(parents=True)
        (run / "recipe.json").write_text(json.dumps({"seed": seed}))
        (run / "score.json").write_text(json.dumps({**line, "bleu": 7.0, "change": "of an earlier version"}))
    experiment.add_runs(tmp_path, tmp_path / "runs")
    assert read_runs(tmp_path / "table3.csv") == [
        before[0],
        before[1] | {"bleu": 7.0},
        {"row": "A-h1", "seed": 1, **line, "bleu": 7.0},
    ]
