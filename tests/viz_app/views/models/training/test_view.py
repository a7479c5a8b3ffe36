"""The page Training without a browser: the shipped checkpoint's run, any folder, and messages if there is nothing."""

import json
import os
import shutil
import time
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from core.files.runlog import format_log
from tests.viz_app.pages import Start, comes_to, healthy, opened, picture_files, state_of
from viz_app.language import tr
from viz_app.session import environment, model_paths
from viz_app.session.model_opening import opened_model
from viz_app.session.open_models import OpenModels
from viz_app.views.models import path_box
from viz_app.views.models.training import run_records

LINES = [
    {"kind": "train", "step": 25, "nll": 3.0, "rate": 1e-4, "tokens_per_second": 900.0},
    {"kind": "valid", "step": 50, "nll": 1.5, "perplexity": 4.4817},
    {"kind": "sample", "step": 50, "source": "A <b>dog</b>.", "reference": "Ein Hund.", "translation": "Ein *Hund*."},
]


@pytest.fixture
def shipped(tiny_checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkpoint to start with, alone in its folder."""
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
def app(start: Start, shipped: Path, monkeypatch: pytest.MonkeyPatch) -> AppTest:
    """The page for a visitor on this machine."""
    monkeypatch.setattr(model_paths, "may_type_path", lambda: True)
    return opened(start(shipped, beam_size="1", text="Where?"), "training")


def view(app: AppTest, name: str) -> AppTest:
    return healthy(app.segmented_control(key="training_view").set_value(name).run())


def test_a_card_is_shown_without_its_metadata_pictures_and_links_to_files(app: AppTest, shipped: Path) -> None:
    shipped.with_suffix(".log.jsonl").write_text(format_log(LINES), encoding="utf-8")
    assert picture_files(healthy(app.run()))
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
    assert picture_files(view(app, "Learning rate"))  # needs no log


def test_another_shipped_checkpoint_has_records_of_its_own(app: AppTest) -> None:
    comes_to(app, checkpoint="multi30k")
    view(app, "Card")
    assert any("# multi30k.safetensors" in text.value for text in app.markdown)
    assert not any("no records of its run" in text.value for text in app.caption)


def test_an_uploaded_checkpoint_has_no_records(app: AppTest, shipped: Path, mask_predict_checkpoint: Path) -> None:
    shipped.with_suffix(".log.jsonl").write_text(format_log(LINES), encoding="utf-8")
    state_of(app, OpenModels).add(opened_model([mask_predict_checkpoint], "uploaded.safetensors"))
    healthy(app.run())
    note = f"{mask_predict_checkpoint.name} has no records of its run: these are those of {shipped.name}, the shipped"
    assert any(note in text.value.replace("\\", "") for text in app.caption)


def test_a_run_in_progress_is_followed_without_its_half_written_line_and_a_folder_that_is_no_run_explained(
    app: AppTest, run: Path, tmp_path: Path
) -> None:
    healthy(app.text_input(key="run_folder").set_value(str(run)).run())
    assert any("step 50 of 100, in progress" in text.value.replace("\\", "") for text in app.caption)
    assert len(app.dataframe[0].value) == 2
    assert view(app, "Learning rate").slider(key="rate_warmup_my-run").value == 10
    assert view(app, "Samples").table[0].value.to_numpy().tolist() == [["50", "Ein \\*Hund\\*\\."]]
    healthy(app.text_input(key="run_folder").set_value(str(tmp_path / "none")).run())
    assert "There is no file or folder" in app.error[0].value
    assert app.text_input(key="run_folder").value == str(tmp_path / "none")
    app.text_input(key="run_folder").set_value(str(tmp_path / "tiny.safetensors"))
    assert "There is no folder" in healthy(app.run()).error[0].value


def test_no_link_opens_a_path(app: AppTest, start: Start, shipped: Path, run: Path, irregular: list[str]) -> None:
    for path in (*irregular, str(run)):
        app = opened(start(shipped, beam_size="1", text="Where?", run_folder=path, run="my-run"), "training")
        assert app.info[0].value == tr(path_box.TYPE_IT)
        assert "run_folder" not in app.query_params
        assert app.text_input(key="run_folder").value == ""
        assert "has no log" in app.info[1].value  # the shipped one
    app.text_input(key="run_folder").set_value(str(run))
    assert not healthy(app.run()).info
    assert any("step 50 of 100" in text.value for text in app.caption)


def test_nothing_of_a_typed_path_is_in_the_address(app: AppTest, run: Path, tmp_path: Path) -> None:
    shutil.copytree(run, tmp_path / "secret-run")
    view(app, "Learning rate")
    app.slider(key="rate_warmup_tiny.safetensors").set_value(20)
    assert healthy(app.run()).query_params["rate_warmup_tiny.safetensors"] == "20"
    healthy(app.text_input(key="run_folder").set_value(str(tmp_path)).run())
    healthy(app.selectbox(key="run").set_value("secret-run").run())
    healthy(app.slider(key="rate_warmup_secret-run").set_value(20).run())
    assert app.slider(key="rate_warmup_secret-run").value == 20
    assert not any("run" in name or "rate" in name for name in app.query_params)


def test_no_device_pipe_or_socket_is_a_run(app: AppTest, irregular: list[str], tmp_path: Path) -> None:
    for path in irregular:
        app.text_input(key="run_folder").set_value(path)
        assert "reads no device, named pipe or socket" in healthy(app.run()).error[0].value
    for name in ("log.jsonl", "recipe.json"):
        (tmp_path / name).symlink_to("/dev/zero")
        app.text_input(key="run_folder").set_value(str(tmp_path))
        view(app, "Curves")
        assert f"{name} is not a regular file of the folder" in app.error[0].value.replace("\\", "")
        (tmp_path / name).unlink()


def test_a_link_opens_a_run_that_the_app_offers_and_no_other(
    app: AppTest, start: Start, shipped: Path, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_paths, "may_type_path", lambda: False)
    app = opened(start(shipped, run_folder=str(run)), "training")
    assert app.info[0].value == tr(path_box.NOT_OFFERED)
    shutil.copytree(run, tmp_path / "offered" / "runs" / "first")
    shutil.copytree(run, tmp_path / "offered" / "runs" / "second")
    (tmp_path / "offered" / "runs" / "outside").symlink_to(run)
    (tmp_path / "offered" / "model.safetensors").touch()
    monkeypatch.setenv(environment.FOLDERS_VARIABLE, str(tmp_path / "offered"))
    app = opened(start(shipped, run_folder="runs", run="second"), "training")
    assert app.selectbox(key="run_folder").options == ["runs"]
    assert app.selectbox(key="run").options == ["first", "second"]
    assert any("second, preset tiny: step 50 of 100" in text.value.replace("\\", "") for text in app.caption)
    for name in (str(run), str(tmp_path / "offered" / "runs"), "runs/first", "..", "nowhere"):
        app = opened(start(shipped, run_folder=name), "training")
        assert app.info[0].value == tr(path_box.NOT_OFFERED)
        assert "run_folder" not in app.query_params


ODD_FACTS = {
    "[" * 100_000: "nested too deeply",
    "[]": "it is a list, expected a JSON object",
    '{"recipe": []}': "has [] for recipe, expected settings by name",
    '{"recipe": {"steps": "many"}}': "has 'many' for recipe.steps, expected a number from 1 to 1,000,000,000",
    '{"recipe": {"steps": true}}': "has True for recipe.steps",
    '{"recipe": {"warmup": 0}}': "has 0 for recipe.warmup",
    '{"recipe": {"rate_scale": 1e999}}': "has inf for recipe.rate_scale",
    '{"recipe": {"cooldown": null}}': "has None for recipe.cooldown",
    '{"recipe": {"cooldown": 1.5}}': "has 1.5 for recipe.cooldown",
    '{"config": {"d_model": 1e9}}': "has 1000000000.0 for config.d_model",
    '{"config": {"d_model": 0}}': "has 0 for config.d_model",
    '{"preset": "a", "preset": "b"}': "the key 'preset' occurs twice",
    "\xe9": "recipe.json cannot be read: 'utf-8' codec can't decode",
    " " * 2**20 + "{}": "recipe.json is larger than 1 MB",
}


@pytest.mark.parametrize("facts", ODD_FACTS, ids=range(len(ODD_FACTS)))
def test_odd_facts_of_a_run_are_a_sentence(app: AppTest, run: Path, facts: str) -> None:
    (run / "recipe.json").write_bytes(facts.encode("latin-1"))
    app.text_input(key="run_folder").set_value(str(run))
    for name in ("Curves", "Learning rate"):
        (error,) = view(app, name).error
        assert "my-run/recipe.json" in error.value.replace("\\", "") or "1 MB" in error.value
        assert ODD_FACTS[facts] in error.value.replace("\\", "")


def test_facts_that_are_strange_but_no_numbers_are_shown(app: AppTest, run: Path) -> None:
    facts = {"preset": {"\ud800": "x" * 10_000}, "init": {"file": "\ud800", "steps": 10**4000}, "steps": -1}
    recipe = {"steps": 10**9, "warmup": 10**9, "rate_scale": 0, "cooldown": 10**9}
    (run / "recipe.json").write_text(json.dumps({**facts, "recipe": recipe}), encoding="utf-8")
    app.text_input(key="run_folder").set_value(str(run))
    for name in ("Curves", "Learning rate", "Samples", "Card"):
        assert not view(app, name).error
    assert max(len(text.value) for text in app.caption) < 1000


ODD_LINES = {
    "no json": "line 1 is not JSON",
    f'{{"kind": "train", "step": {10**4000}}}': "has the step 1000",
    '{"kind": "valid", "step": 1, "perplexity": [1]}': "'perplexity' is [1], expected a number",
    f'{{"kind": "train", "step": 1, "nll": {10**4000}}}': "'nll' is 1000",
    '{"kind": "sample", "step": 1, "source": "a", "reference": "\\ud800", "translation": "b"}': "expected a text",
    '{"kind": "train", "step": 1, "\\ud800": 1}': "names of numbers",
    " " * 2**24: "log.jsonl is larger than 16 MB",
}


@pytest.mark.parametrize("line", ODD_LINES, ids=range(len(ODD_LINES)))
def test_odd_lines_of_a_log_are_a_sentence(app: AppTest, run: Path, line: str) -> None:
    (run / "log.jsonl").write_text(f"{line}\n", "utf-8")
    app.text_input(key="run_folder").set_value(str(run))
    (error,) = healthy(app.run()).error
    assert "log.jsonl" in error.value.replace("\\", "")
    assert ODD_LINES[line] in error.value.replace("\\", "")


def test_numbers_of_a_log_that_are_not_finite_are_drawn(app: AppTest, run: Path) -> None:
    values = ("NaN", "Infinity", "-Infinity", "1e308", "9223372036854775807", "0")
    measures = ("nll", "perplexity", "rate", "tokens_per_second")
    text = "".join(
        f'{{"kind": "train", "step": 2147483647, {", ".join(f"{name!r}: {value}" for name in measures)}}}\n'
        for value in values
    )
    (run / "log.jsonl").write_text(text.replace("'", '"'), encoding="utf-8")
    app.text_input(key="run_folder").set_value(str(run))
    view(app, "Learning rate")
    view(app, "Curves")
    for measure in measures:
        app.segmented_control(key="training_measure").set_value(measure)
        assert picture_files(healthy(app.run()))


def test_a_card_that_cannot_be_read_is_a_sentence(app: AppTest, run: Path) -> None:
    card = run / "card.md"
    app.text_input(key="run_folder").set_value(str(run))
    for content, reason in ((b"caf\xe9", "'utf-8' codec can't decode byte"), (b" " * (2**20 + 1), "larger than 1 MB")):
        card.write_bytes(content)
        (error,) = view(app, "Card").error
        assert "card.md" in error.value.replace("\\", "")
        assert reason in error.value.replace("\\", "")
        assert not view(app, "Curves").error
    card.unlink()
    card.symlink_to("/dev/zero")
    assert "has no card" in view(app, "Card").info[0].value


def test_a_card_loads_no_picture_and_costs_its_length(app: AppTest, run: Path) -> None:
    text = "![a][b] ![a [b]](https://example.org/a.png) ![c](d.png)\n\n[b]: https://example.org/b.png\n"
    (run / "card.md").write_text(text + "![" * 2**17 + "[a](" * 2**17, encoding="utf-8")
    shown = run_records.card_text(run_records.run_in(run))  # minutes, if each bracket is sought an end
    assert "![" not in shown
    assert "d.png" not in shown


def test_folders_with_odd_entries_are_listed(app: AppTest, run: Path, tmp_path: Path) -> None:
    os.mkdir(os.fsencode(tmp_path) + b"/\xff")
    shutil.copy(run / "recipe.json", os.fsencode(tmp_path) + b"/\xff/recipe.json")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "nowhere").symlink_to("no-such-folder")
    app.text_input(key="run_folder").set_value(str(tmp_path))
    assert not view(app, "Curves").error


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
    mean = facts | {"averaged": [{"file": "other", "run": {"steps": 7}}, {"file": "own"}]}
    assert run_records.start_note(mean, 8557).endswith("They began at these steps: 0 · 4,450 · 8,050 · 8,057.")
    assert [line["step"] for line in run_records.last_run(facts, lines)] == [25, 500]
    own = lines[:1]  # a log of the last run alone
    assert run_records.last_run(facts, own) == own
    assert run_records.last_run({}, lines) == lines


def test_a_run_counts_as_in_progress_while_it_writes(run: Path) -> None:
    assert run_records.run_in(run).is_in_progress
    for seconds in (-2 * run_records.LEAST_SECONDS, 2 * run_records.LEAST_SECONDS):
        written = time.time() + seconds  # later than now if the clock was set back
        os.utime(run / "log.jsonl", (written, written))
        found = run_records.run_in(run)
        assert found.age > 0
        assert not found.is_in_progress
    slow = {"kind": "train", "nll": 1.0, "seconds_per_step": 60.0}
    lines = [json.dumps(slow | {"step": step}) for step in (1, 2)]
    (run / "log.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    os.utime(run / "log.jsonl", (time.time() - 120, time.time() - 120))
    assert run_records.run_in(run).is_in_progress  # it writes a line a minute


def test_the_runs_of_a_folder_of_runs(run: Path, tmp_path: Path) -> None:
    assert run_records.runs_in(tmp_path) == [run]
    assert run_records.runs_in(run) == [run]
    with pytest.raises(ValueError, match=r"neither log.jsonl nor recipe.json"):
        run_records.run_in(tmp_path)
    assert run_records.runs_in(tmp_path / "none") == []
