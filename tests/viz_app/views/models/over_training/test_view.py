"""The page "Over training" without a browser."""

import shutil
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from core.analysis.declaration import FIRST
from tests.viz_app.pages import Start, comes_to, healthy, opened, state_of
from viz_app.controls import job_control
from viz_app.drawing.display_text import plain
from viz_app.language import tr
from viz_app.session import environment, model_paths, models
from viz_app.views.models import path_box
from viz_app.views.models.over_training import histories, measurement, selection
from viz_app.views.models.over_training.histories import Upload
from viz_app.views.models.over_training.measurement import Measurement, MeasurementSlot
from viz_app.views.models.over_training.selection import Playing, SelectedHeads


@pytest.fixture(autouse=True)
def _few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measure one sentence in one run of the page, for a visitor on this machine."""
    monkeypatch.setattr(model_paths, "may_type_path", lambda: True)
    monkeypatch.setattr(measurement, "SHIPPED", ("Where?",))
    monkeypatch.setattr(job_control, "TURN", 60.0)


def typed(app: AppTest, path: Path) -> AppTest:
    """The same with a path typed into the box, as on an earlier visit to the page."""
    app.session_state["history"] = str(path)
    return app


def test_steps_a_head_and_all_views_are_chosen_and_play_goes_through_the_steps(
    start: Start, history_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = opened(typed(start(beam_size="1", text="Where?"), history_file), "over_training")
    assert app.select_slider(key="trained_steps").value == 300
    assert any("the same translation as at the end" in each.value for each in app.caption)
    app.select_slider(key="trained_steps").set_value(0)
    state_of(app, SelectedHeads)["cross"] = (1, 2)
    healthy(app.run())
    assert app.query_params["trained_head"] == "2.3"
    assert any(each.value.startswith("Step 0: ") for each in app.caption)
    assert any("**Cross L2 H3** at the end, step 300" in each.value for each in app.markdown)
    for view, shown in (("Score", "have a role"), ("Layers", "each layer"), ("Loss", "Loss of the run")):
        healthy(app.segmented_control(key="trained_view").set_value(view).run())
        assert any(shown in each.value for each in app.markdown)
    healthy(app.segmented_control(key="trained_view").set_value("Layers").run())
    for step in (0, 300):
        healthy(app.select_slider(key="trained_steps").set_value(step).run())
        found = state_of(app, MeasurementSlot).measured
        assert found is not None
        assert plain(found.sentence.readings[step].lens.answer(FIRST)) in [each.value for each in app.caption]
    healthy(app.segmented_control(key="trained_view").set_value("Translations").run())
    assert list(app.dataframe[-1].value["step"]) == [0, 100, 300]

    monkeypatch.setattr(selection, "PAUSE", 600.0)
    healthy(app.button(key="trained_play").click().run())
    assert slider_value(app) == 0  # from the end it begins at the start
    healthy(app.run())
    assert slider_value(app) == 0  # drawn again too early
    monkeypatch.setattr(selection, "PAUSE", 0.0)
    seen = [slider_value(healthy(app.run())) for _ in range(3)]
    assert seen == [100, 300, 300]
    assert app.button(key="trained_play").label == "Play"
    assert not state_of(app, Playing).is_on


def slider_value(app: AppTest) -> object:
    return app.select_slider(key="trained_steps").value


def test_the_address_holds_step_head_and_score(start: Start, history_file: Path) -> None:
    address = {"kind": "encoder_self", "trained_steps": "100", "trained_head": "1.2", "trained_score": "entropy"}
    app = opened(typed(start(beam_size="1", text="Where?", **address), history_file), "over_training")
    assert app.select_slider(key="trained_steps").value == 100
    assert any("**Encoder L1 H2** at step 100" in each.value for each in app.markdown)
    assert app.selectbox(key="trained_score").value == "entropy"
    healthy(app.selectbox(key="trained_score").set_value("agreement").run())
    assert any("Self-attention links no words" in each.value for each in app.caption)
    healthy(comes_to(app, trained_head="9.1").run())
    assert "trained_head" not in app.query_params


def test_a_stopped_measurement_shows_the_last_snapshot(
    start: Start, history_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_control, "TURN", 0.0)
    measurement._sample.clear()  # of other tests
    app = start(beam_size="1", text="A sentence that no test measures.", trained_steps="100")
    opened(typed(app, history_file), "over_training")  # draws the sentence at the last snapshot, then reads the sample
    job = measured(app).job
    assert any("at step 300" in each.value for each in app.markdown)
    assert "trained_score" not in [each.key for each in app.selectbox]
    assert (measured(app).steps, job.done) == ((300,), 1)
    healthy(app.button(key="over_training").click().run())  # Stop
    assert not job.running
    assert any("Step 100 is not measured yet" in each.value for each in app.caption)


def test_a_long_sentence_is_refused(start: Start, history_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measurement, "MAX_TOKENS", 2)
    app = opened(typed(start(beam_size="1", text="A dog that no test measures."), history_file), "over_training")
    assert any(
        "at most 2 are followed over a training run: shorten it" in each.value.replace("\\", "") for each in app.error
    )


def test_what_is_no_history_is_refused(start: Start, tiny_checkpoint: Path) -> None:
    app = opened(typed(start(beam_size="1", text="Where?"), tiny_checkpoint), "over_training")
    assert any("is not a history" in each.value.replace("\\", "") for each in app.error)
    healthy(app.text_input(key="history").set_value("/nowhere").run())
    assert any("There is no file or folder /nowhere" in each.value.replace("\\", "") for each in app.error)


def test_no_link_opens_a_path(
    start: Start, history_file: Path, irregular: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(histories, "shipped_history", lambda model: None)
    for path in (*irregular, str(history_file)):
        app = opened(start(beam_size="1", text="Where?", history=path), "over_training")
        assert app.info[0].value == tr(path_box.TYPE_IT)
        assert "history" not in app.query_params
        assert app.text_input(key="history").value == ""
        assert not app.select_slider
    healthy(app.text_input(key="history").set_value(str(history_file)).run())
    assert app.select_slider(key="trained_steps").value == 300
    assert "history" not in app.query_params
    assert not app.info


def test_a_link_opens_a_history_that_the_app_offers_and_no_other(
    start: Start, run_history: Path, history_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_paths, "may_type_path", lambda: False)
    monkeypatch.setattr(histories, "shipped_history", lambda model: None)
    app = opened(start(beam_size="1", text="Where?", history=str(history_file)), "over_training")
    assert app.info[0].value == tr(path_box.NOT_OFFERED)
    folder = tmp_path / "offered"
    shutil.copytree(run_history, folder / "my-run")
    shutil.copy(history_file, folder)
    (folder / "model.safetensors").touch()
    monkeypatch.setenv(environment.FOLDERS_VARIABLE, str(folder))
    for name in ("my-run", history_file.name):
        app = opened(start(beam_size="1", text="Where?", history=name), "over_training")
        assert app.select_slider(key="trained_steps").value == 300
        assert app.query_params["history"] == name
        assert app.selectbox(key="history").options == ["my-run", history_file.name]
    for name in ("other", str(folder / "my-run"), str(history_file), "../offered/my-run", "/dev/zero"):
        app = opened(start(beam_size="1", text="Where?", history=name), "over_training")
        assert app.info[0].value == tr(path_box.NOT_OFFERED)
        assert "history" not in app.query_params
        assert not app.select_slider


def test_the_history_is_that_of_the_current_model_or_a_shipped_one(
    start: Start, tiny_checkpoint: Path, history_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = {name: tmp_path / f"{name}.safetensors" for name in ("current", histories.FALLBACK)}
    for path in paths.values():
        shutil.copy(tiny_checkpoint, path)
    monkeypatch.setattr(models, "shipped_paths", lambda: paths)
    current = models.model_at(paths["current"])
    assert histories.shipped_history(current) is None
    for name in (histories.FALLBACK, "current"):
        history = shutil.copy(history_file, tmp_path / f"{name}.history.zip")
        assert histories.shipped_history(current) == history
    for checkpoint, name in ((tiny_checkpoint, histories.FALLBACK), *((path, name) for name, path in paths.items())):
        app = opened(start(checkpoint, beam_size="1", text="Where?"), "over_training")
        assert app.text_input(key="history").placeholder == f"that of the shipped {name}"
        notes = [each.value for each in app.caption if "not of the current checkpoint" in each.value]
        assert notes == [tr(histories.OTHER_MODEL, name=name)] * (checkpoint == tiny_checkpoint)


def test_the_page_says_that_parameters_are_rounded(start: Start, run_history: Path, history_file: Path) -> None:
    for history, is_rounded in ((history_file, True), (run_history, False)):
        app = opened(typed(start(beam_size="1", text="Where?"), history), "over_training")
        assert any("rounded to 8 bits" in each.value for each in app.caption) == is_rounded


def test_without_a_history_the_page_says_how_to_make_one_and_an_upload_is_opened_or_refused(
    start: Start, monkeypatch: pytest.MonkeyPatch, history_file: Path, tiny_checkpoint: Path
) -> None:
    monkeypatch.setattr(histories, "shipped_history", lambda model: None)
    app = opened(start(beam_size="1", text="Where?"), "over_training")
    assert "No snapshots of a training run are shipped" in app.info[0].value
    app.file_uploader(key="history_upload").set_value((history_file.name, history_file.read_bytes(), "application/zip"))
    healthy(app.run())
    assert app.select_slider(key="trained_steps").value == 300
    upload = state_of(app, Upload)
    assert upload.training is not None
    assert upload.training.path == Path("tiny.history.zip")
    app.file_uploader(key="history_upload").set_value(("a.zip", tiny_checkpoint.read_bytes(), "application/zip"))
    healthy(app.run())
    message = app.error[0].value.replace("\\", "")
    assert message.startswith("a.zip is not a history")
    assert message.endswith(". tiny.history.zip is still used.")
    assert app.select_slider(key="trained_steps").value == 300
    assert upload.training.history.checkpoint(300)  # its file is still there
    monkeypatch.setattr(histories, "shipped_history", lambda model: history_file)
    healthy(app.file_uploader(key="history_upload").set_value(None).run())
    assert not app.error
    assert upload.training is None
    healthy(app.file_uploader(key="history_upload").set_value(("b.zip", b"no archive", "application/zip")).run())
    assert app.error[0].value.replace("\\", "").endswith(f". {history_file.name} is still used.")
    assert app.select_slider(key="trained_steps").value == 300


def measured(app: object) -> Measurement:
    found = state_of(app, MeasurementSlot).measured  # type: ignore[arg-type]
    assert found is not None
    return found
