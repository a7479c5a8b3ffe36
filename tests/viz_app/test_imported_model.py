"""A model of another project, opened in the sidebar, on every page, until it is closed."""

import gc
import weakref
import zipfile
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from core.cli import commands as cli
from tests.core.formats.marian_models import Pairs, write_model
from tests.viz_app.pages import Start, added, comes_to, healthy, html_of, opened, reading, state_of, upload
from viz_app.controls import job_control
from viz_app.page_list import VIEWS
from viz_app.session import model_paths
from viz_app.views.models.over_training import measurement
from viz_app.views.models.over_training.measurement import MeasurementSlot
from viz_app.views.models.parsing import parser_model


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, parallel_text: Pairs) -> Path:
    """A Marian model with two vocabularies, two target languages, and 1 + 2 layers."""
    folder = tmp_path_factory.mktemp("marian") / "opus-mt-en-mul"
    write_model(folder, parallel_text, two=True, codes=[">>deu<<", ">>bar<<"], decoder_layers=2)
    return folder


@pytest.fixture
def app(start: Start, monkeypatch: pytest.MonkeyPatch) -> AppTest:
    """Opened on the tiny checkpoint, by a visitor who may type paths."""
    monkeypatch.setattr(model_paths, "may_type_path", lambda: True)
    few = {"iterations": "2", "paper_text_3": "A dog.", "picture_view": "table", "positions_view": "similarity"}
    return healthy(start(text="The house.", beam_size="1", **few).run())


def open_path(app: AppTest, path: object) -> AppTest:
    next(box for box in app.text_input if box.placeholder == "~/models/opus-mt-en-de").set_value(str(path))
    return healthy(app.button(key="open_path_button").click().run())


@pytest.mark.usefixtures("small_pages")
def test_every_page_shows_it_and_its_memory_is_free_when_it_is_closed(app: AppTest, folder: Path) -> None:
    open_path(app, folder)
    assert "opus-mt-en-mul" in html_of(app)
    assert "1 + 2 layers" in html_of(app)
    assert "Marian (OPUS-MT) in Hugging Face&#x27;s layout" in html_of(app)
    for page in VIEWS:
        if page != VIEWS[0]:
            opened(app, page.name)
        assert not app.error, f"{page.name}: {app.error[0].value}"
        assert reading(app).translation.source_tokens[0] == ">>deu<<", page.name
        if page.name == "positions":
            assert any("The model's own have the order halves" in each.value for each in app.caption)
    translator = weakref.ref(reading(app).model.translator)
    healthy(app.button(key="close").click().run())
    assert reading(app).model.name == "tiny.safetensors"
    assert reading(app).translation.source == "The house."
    gc.collect()
    assert translator() is None


def test_a_folder_an_archive_and_files_are_one_model(app: AppTest, folder: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "opus.zip", "w") as archive:
        for path in folder.iterdir():
            archive.write(path, f"opus/{path.name}")
    upload(app, *folder.iterdir())
    first = reading(app).model
    assert first.name == f"en-de ({len(list(folder.iterdir()))} files)"
    for bring in (upload, open_path):
        bring(app, tmp_path / "opus.zip")
        assert reading(app).model.translator is first.translator
    offered = app.selectbox(key="open_model").options
    assert offered[:2] == ["tiny.safetensors", f"{first.name} · English to German"]
    assert first.name not in "".join(offered[2:])
    assert not app.sidebar.error


def test_a_file_that_was_refused_keeps_out_no_model_that_comes_after_it(app: AppTest, folder: Path) -> None:
    added(app, ("config.json", b"{}"))
    assert len(app.sidebar.error) == 1
    added(app, *((path.name, path.read_bytes()) for path in folder.iterdir()))
    assert not app.sidebar.error
    assert reading(app).model.name == f"en-de ({len(list(folder.iterdir()))} files)"
    opened(app, "corpus")  # of several files
    assert any("Strongest examples" in each.value for each in app.markdown), "it offers to build an index"


def test_a_path_that_is_refused_stays_in_its_box_and_the_model_stays_too(
    app: AppTest, folder: Path, tmp_path: Path
) -> None:
    open_path(app, folder)
    open_path(app, tmp_path / "nowhere")
    (message,) = [error.value.replace("\\", "") for error in app.sidebar.error]
    assert "There is no file or folder" in message
    assert message.endswith("opus-mt-en-mul is still used.")
    assert [box.value for box in app.sidebar.text_input] == [str(tmp_path / "nowhere")]
    healthy(app.run())
    assert app.sidebar.error, "it stays until something else is opened"
    open_path(app, tmp_path)
    assert "its files (none) are of no known format" in app.sidebar.error[0].value.replace("\\", "")
    open_path(app, folder)
    assert not app.sidebar.error
    assert [box.value for box in app.sidebar.text_input] == [""]


def test_folders_of_the_server_are_offered_in_place_of_a_path(
    start: Start, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADLIGHT_FOLDERS", str(folder.parent))
    app = healthy(start(text="The house.", beam_size="1").run())
    assert not app.sidebar.text_input
    (offered,) = [box for box in app.sidebar.selectbox if box.key not in ("open_model", "language")]
    assert offered.options == [folder.name]
    offered.select(folder.name)
    healthy(app.button(key="open_path_button").click().run())
    assert reading(app).model.path == str(folder.resolve())


def test_the_target_language_is_selected_and_leaves_with_the_model(app: AppTest, folder: Path) -> None:
    open_path(app, folder)
    assert app.text_input(key="text").value == ">>deu<< The house."
    languages = app.selectbox(key="target_language")
    assert languages.options == ["deu", "bar"]
    languages.select_index(1)
    healthy(app.run())
    assert app.text_input(key="text").value == ">>bar<< The house."
    healthy(app.text_input(key="text").set_value("A new sentence.").run())
    assert reading(app).translation.source == ">>bar<< A new sentence."
    healthy(app.selectbox(key="open_model").select("tiny.safetensors").run())
    assert app.text_input(key="text").value == "A new sentence."
    assert not [box for box in app.selectbox if box.key == "target_language"]


def test_the_app_may_start_with_it(start: Start, folder: Path, tmp_path: Path) -> None:
    assert cli.main(["convert", str(folder), str(tmp_path / "marian.safetensors")]) == 0
    app = healthy(start(tmp_path / "marian.safetensors", text="The house.", beam_size="1").run())
    assert reading(app).translation.source == ">>deu<< The house."
    assert "Marian (OPUS-MT)" in html_of(app)


def test_it_is_compared_with_a_model_of_other_tokens(app: AppTest, folder: Path) -> None:
    open_path(app, folder)
    opened(comes_to(app, against="checkpoint"), "compare")
    assert app.selectbox(key="second_checkpoint").options == ["tiny.safetensors"]
    titles = " ".join(text.value for text in app.markdown).replace("\\", "")
    assert "**First**: opus-mt-en-mul" in titles
    assert "**Second**: tiny.safetensors" in titles


def test_a_parser_and_a_training_in_its_place_read_no_language_code(
    app: AppTest, folder: Path, tree_checkpoint: Path, history_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parser_model, "SHIPPED", tree_checkpoint)
    monkeypatch.setattr(measurement, "SHIPPED", ("Where?",))
    monkeypatch.setattr(job_control, "TURN", 0.0)
    open_path(app, folder)
    opened(app, "parsing")
    assert reading(app).translation.source == ">>deu<< The house."
    (brackets,) = [code.value for code in app.code]
    assert "The" in brackets
    assert "deu" not in brackets
    app.session_state["history"] = str(history_file)
    opened(app, "over_training")
    assert reading(app).translation.source == ">>deu<< The house."
    found = state_of(app, MeasurementSlot).measured
    assert found is not None
    assert found.search.text == "The house."


def test_the_report_has_a_column_for_every_open_model(app: AppTest, folder: Path) -> None:
    open_path(app, folder)
    opened(app, "checkpoint")
    table = next(element.proto.body for element in app.html if "facts-table" in element.proto.body)
    assert "<th>opus-mt-en-mul</th><th>tiny.safetensors</th><th>Paper, base model</th>" in table
    assert "<td>en to de</td>" in table
    assert "all sines before all cosines" in table
    sentences = [button for button in app.button if button.key and button.key.startswith("trial_")]
    assert len(sentences) == 3
    assert all(button.label.replace("\\", "").startswith(">>deu<< ") for button in sentences)
    sentences[0].click()
    healthy(app.run())
    assert reading(app).translation.source == ">>deu<< The weather is nice today."
    assert not app.error
