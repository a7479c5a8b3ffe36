"""The page Training without a browser: the shipped checkpoint's run, any folder, and what is said where there is
nothing.
"""

import json
import os
import shutil
import time
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from core.paper import TABLE_3 as PAPER_TABLE_3
from core.runlog import format_log
from tests.viz_app.pages import Start, healthy, opened, state_of
from viz_app.features.training import run_records
from viz_app.session.models import opened_model
from viz_app.session.open_models import OpenModels

LINES = [
    {"kind": "train", "step": 25, "nll": 3.0, "rate": 1e-4, "tokens_per_second": 900.0},
    {"kind": "valid", "step": 50, "nll": 1.5, "perplexity": 4.4817},
    {"kind": "sample", "step": 50, "source": "A <b>dog</b>.", "reference": "Ein Hund.", "translation": "Ein *Hund*."},
]
TABLE_3 = """row,change,parameters,perplexity,bleu,hours,paper_perplexity,paper_bleu,paper_parameters
base,,2000000,9.0,20.0,0.5,4.92,25.8,65
A-h1,1 head,2500000,10.5,18.5,0.4,5.29,24.9,
"""


@pytest.fixture
def shipped(tiny_checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkpoint to start with, alone in its folder; Table 3 is to be found in `table3` beside it."""
    monkeypatch.setattr(run_records, "SHIPPED_TABLE_3", tmp_path / "table3")
    shutil.copy(tiny_checkpoint, tmp_path / "tiny.safetensors")
    monkeypatch.setenv("HEADLIGHT_CHECKPOINT", str(tmp_path / "tiny.safetensors"))
    return tmp_path / "tiny.safetensors"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """The folder of a run that is at step 50 of 100."""
    folder = tmp_path / "my-run"
    folder.mkdir()
    (folder / "log.jsonl").write_text(format_log(LINES) + '{"kind": "tra', encoding="utf-8")
    facts = {
        "preset": "tiny",
        "config": {"d_model": 32},
        "recipe": {"steps": 100, "warmup": 10, "rate_scale": 1.0, "cooldown": 0},
    }
    (folder / "recipe.json").write_text(json.dumps(facts), encoding="utf-8")
    return folder


@pytest.fixture
def app(start: Start, shipped: Path) -> AppTest:
    return opened(start(shipped, beam_size="1", text="Where?"), "training")


def view(app: AppTest, name: str) -> AppTest:
    app.segmented_control(key="training_view").set_value(name)
    return healthy(app.run())


def test_a_card_is_shown_without_its_metadata_pictures_and_links_to_files(app: AppTest, shipped: Path) -> None:
    links = "[en-de](en-de.md) from [Tatoeba](https://tatoeba.org)"
    card = f"---\nlicense: other\n---\n\n# A model\n\n![Curves](a.svg)\n\nText of {links}.\n"
    shipped.with_suffix(".md").write_text(card, encoding="utf-8")
    (shown,) = [text for text in view(app, "Card").markdown if "# A model" in text.value]
    assert "license" not in shown.value
    assert "Curves" not in shown.value
    assert "Text of en-de from [Tatoeba](https://tatoeba.org)." in shown.value


def test_a_checkpoint_without_log_and_card_says_how_to_make_them(app: AppTest) -> None:
    assert "has no log" in app.info[0].value
    assert "train card" in view(app, "Card").info[0].value
    assert "train table3" in view(app, "Table 3").info[0].value
    assert len(view(app, "Learning rate").get("plotly_chart")) == 1  # needs no log


def test_what_was_shipped_is_shown(app: AppTest, shipped: Path) -> None:
    shipped.with_suffix(".log.jsonl").write_text(format_log(LINES), encoding="utf-8")
    shipped.with_suffix(".md").write_text("# tiny\n\n![curves](tiny.svg)\n\nTrained on *nothing*.\n", encoding="utf-8")
    run_records.SHIPPED_TABLE_3.mkdir()
    (run_records.SHIPPED_TABLE_3 / "table3.csv").write_text(TABLE_3, encoding="utf-8")
    assert len(healthy(app.run()).get("plotly_chart")) == 1
    assert [text.value for text in view(app, "Card").markdown if "Trained" in text.value] == [
        "# tiny\n\nTrained on *nothing*."
    ]
    assert app.dataframe.len == 0
    assert list(view(app, "Table 3").dataframe[0].value["row"]) == ["base", "A-h1"]


def test_another_shipped_checkpoint_has_records_of_its_own(app: AppTest) -> None:
    app.query_params["checkpoint"] = "multi30k"
    view(app, "Card")
    assert any("# multi30k.safetensors" in text.value for text in app.markdown)
    assert not any("no records of its run" in text.value for text in app.caption)


def test_an_uploaded_checkpoint_has_no_records(app: AppTest, shipped: Path, mask_predict_checkpoint: Path) -> None:
    shipped.with_suffix(".log.jsonl").write_text(format_log(LINES), encoding="utf-8")
    state_of(app, OpenModels).add(opened_model([mask_predict_checkpoint], "uploaded.safetensors"))
    healthy(app.run())
    note = f"{mask_predict_checkpoint.name} has no records of its run: these are those of {shipped.name}, the shipped"
    assert any(note in text.value.replace("\\", "") for text in app.caption)


def test_one_of_several_experiments_is_selected(app: AppTest) -> None:
    """The one with the most results is shown first."""
    for name, row in (("narrow", "base"), ("wide", "base-of-wide")):
        (run_records.SHIPPED_TABLE_3 / name).mkdir(parents=True)
        (run_records.SHIPPED_TABLE_3 / name / "table3.csv").write_text(TABLE_3.replace("base", row), encoding="utf-8")
    assert view(app, "Table 3").dataframe[0].value["row"][0] == "base-of-wide"
    box = app.selectbox(key="experiment")
    assert box.options == ["wide", "narrow"]
    box.set_value(run_records.SHIPPED_TABLE_3 / "narrow")
    assert healthy(app.run()).dataframe[0].value["row"][0] == "base"


def test_a_run_in_progress_is_followed_and_its_half_written_line_left_out(app: AppTest, run: Path) -> None:
    app.text_input(key="run_folder").set_value(str(run))
    healthy(app.run())
    assert any("step 50 of 100, in progress" in text.value.replace("\\", "") for text in app.caption)
    assert len(app.dataframe[0].value) == 2
    assert view(app, "Learning rate").slider(key="rate_warmup_my-run").value == 10
    assert view(app, "Samples").table[0].value.to_numpy().tolist() == [["50", "Ein \\*Hund\\*\\."]]


def test_a_folder_that_is_no_run_is_explained_and_stays_typed(app: AppTest, tmp_path: Path) -> None:
    app.text_input(key="run_folder").set_value(str(tmp_path / "none"))
    healthy(app.run())
    assert "There is no folder" in app.error[0].value
    assert app.text_input(key="run_folder").value == str(tmp_path / "none")


def test_a_run_that_went_on_with_a_checkpoint_says_so() -> None:
    facts = {"init": {"file": "en-de.safetensors", "steps": 4450}}
    assert (
        run_records.start_note(facts, 100)
        == "It started from en-de.safetensors, trained for 4,450 steps, which are not in this log."
    )
    longer = {"init": {"file": "en-de.safetensors", "steps": 3600, "init": facts["init"]}}
    assert "trained for 8,050 steps" in run_records.start_note(longer, 100)
    assert [
        run_records.start_note(facts, 100)
        for facts in ({}, {"init": None}, {"init": {}}, {"init": "x"}, {"init": {"steps": "<b>"}})
    ] == [""] * 5


def test_a_log_of_all_runs_of_a_training_says_where_they_began() -> None:
    facts = {"steps": 500, "init": {"steps": 3600, "init": {"steps": 4450}}}
    lines = [{"kind": "train", "step": step, "nll": 1.0} for step in (25, 8050, 8075, 8550)]
    assert run_records.start_note(facts, 8550).endswith("They began at these steps: 0 · 4,450 · 8,050.")
    assert [line["step"] for line in run_records.last_run(facts, lines)] == [25, 500]
    own = lines[:1]  # a log of the last run alone
    assert run_records.last_run(facts, own) == own
    assert run_records.last_run({}, lines) == lines


def test_a_run_counts_as_in_progress_while_it_writes(run: Path) -> None:
    assert run_records.run_in(run).is_in_progress
    for seconds in (-2 * run_records.IN_PROGRESS_SECONDS, 2 * run_records.IN_PROGRESS_SECONDS):
        written = time.time() + seconds  # later than now if the clock was set back
        os.utime(run / "log.jsonl", (written, written))
        found = run_records.run_in(run)
        assert found.age > 0
        assert not found.is_in_progress


def test_damaged_files_are_named(run: Path, tmp_path: Path) -> None:
    (run / "log.jsonl").write_text("no json\n{}\n", encoding="utf-8")
    with pytest.raises(run_records.RunRecordError, match=r"line 1 is not JSON"):
        run_records.run_in(run)
    with pytest.raises(run_records.RunRecordError, match=r"neither log.jsonl nor recipe.json"):
        run_records.run_in(tmp_path)
    (tmp_path / "table3.csv").write_text("row,bleu\nbase,1\n", encoding="utf-8")
    with pytest.raises(run_records.RunRecordError, match="has no column change, hours"):
        run_records.table_3(tmp_path)


def test_a_text_with_an_apostrophe_for_spreadsheets_is_read_without_it(tmp_path: Path) -> None:
    (tmp_path / "table3.csv").write_text(TABLE_3.replace("1 head", "'=1 head"), encoding="utf-8")
    table = run_records.table_3(tmp_path)
    assert table is not None
    assert table["change"].tolist() == ["", "=1 head"]
    assert table["paper_parameters"].isna().tolist() == [False, True]


def test_the_runs_of_a_folder_of_runs(run: Path, tmp_path: Path) -> None:
    assert run_records.runs_in(tmp_path) == [run]
    assert run_records.runs_in(run) == [run]
    assert run_records.runs_in(tmp_path / "none") == []


@pytest.mark.parametrize("folder", run_records.tables_in(run_records.SHIPPED_TABLE_3), ids=lambda path: path.name)
def test_the_shipped_rows_of_table_3_are_the_papers(folder: Path) -> None:
    table = run_records.table_3(folder)
    assert table is not None
    assert table["row"][0] == "base"
    assert [(paper.perplexity, paper.bleu) for paper in map(PAPER_TABLE_3.__getitem__, table["row"])] == [
        *zip(table["paper_perplexity"], table["paper_bleu"], strict=True)
    ]
    assert table["steps"].nunique() == 1  # one budget
