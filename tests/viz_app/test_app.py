"""The pages without a browser: their contents, the state they keep, and their messages about errors."""

import logging
import re
import shutil
import tomllib
from collections import Counter
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest
from streamlit import config
from streamlit.elements.lib import policies
from streamlit.runtime.scriptrunner_utils.exceptions import StopException
from streamlit.testing.v1 import AppTest

from core.files.budget import MIB
from core.files.process_memory import PROCESS
from tests.viz_app.pages import (
    Start,
    added,
    comes_to,
    healthy,
    html_of,
    opened,
    picture_files,
    reading,
    show_translation,
    state_of,
    to_page,
    translations,
    upload,
)
from viz_app.frame.examples import EXAMPLES
from viz_app.page_list import VIEWS
from viz_app.session import model_paths, readings, uploads
from viz_app.session.fields import Visit
from viz_app.session.readings import Current

README = Path(__file__).parents[2] / "README.md"
README_LINKS = re.findall(r"\]\((http://localhost:8501/[^)]+)\)", README.read_text("utf-8"))


def test_first_screen_shows_a_translation_and_a_head(start: Start) -> None:
    app = healthy(start(beam_size="2").run())
    assert app.text_input(key="text").value == EXAMPLES[0]
    assert "figure1" in [each.key for each in app.get("bidi_component")]
    opened(app, "translate")
    assert len(translations(app)) == 2
    assert 'class="hypotheses"' in html_of(app)
    (example,) = [text.value for text in app.markdown if "Example: head" in text.value]
    assert len(app.dataframe[0].value.columns) == 5
    assert opened(app, "heads").multiselect(key="heads_cross").value == re.findall(r"L\d H\d", example)[:1]
    app.session_state["settings"] = True  # opened
    healthy(app.run().slider(key="beam_size").set_value(1).run())
    assert len(translations(app)) == 1


@pytest.mark.parametrize("page", ["translate", "heads"])
def test_a_page_takes_every_text(app: AppTest, page: str) -> None:
    opened(app, page)
    for text in (
        "",
        "   ",
        "\U0001f600 \U0001f469\u200d\U0001f467",
        "<b>*_`$x$ :red[a] </script>",
        "\u0645\u0631\u062d\u0628\u0627",
        "a\u0000b\n\tc",
    ):
        healthy(app.text_input(key="text").set_value(text).run())
        assert app.text_input(key="text").value == text
        assert not app.error


def test_that_there_is_no_sentence_is_said_once_on_every_page_with_its_box(start: Start) -> None:
    app = start(text="")
    for view in VIEWS:
        opened(app, view.name)
        said = [each.value for each in (*app.info, *app.caption) if "sentence above" in each.value]
        if view.has_sentence and "translation" in view.models:
            assert said == ["There is nothing to translate yet: type a sentence above, or pick an example."], view.name
        assert not app.error


def test_settings_that_are_not_the_default_ones_are_said_and_go_back_by_a_click(app: AppTest) -> None:
    healthy(comes_to(app, length_penalty="0.9", min_length="3").run())
    note = app.button(key="default-settings")
    assert note.label == "Searched with beam size 2, length penalty 0.9, minimum length 3: reset"
    healthy(note.click().run())
    assert reading(app).search == readings.Search("Where?")
    assert "default-settings" not in {each.key for each in app.button}


def test_text_that_is_too_long_is_refused_below_the_box_and_kept(app: AppTest) -> None:
    long = "very " * 600
    opened(app, "heads").text_input(key="text").set_value(long)
    healthy(app.run())
    assert "at most 512 can be translated at once" in app.error[0].value
    assert app.text_input(key="text").value == long


def test_a_sentence_for_which_there_is_no_memory_is_refused_below_the_box(
    app: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened(app, "heads")
    monkeypatch.setattr(PROCESS, "limit", PROCESS.held + 2 * MIB)
    healthy(app.text_input(key="text").set_value("Where is the dog? " * 12).run())
    assert "This pass of the model would take" in app.error[0].value
    assert "shorten the sentence, close a model, or start the app with" in app.error[0].value
    app.text_input(key="text").set_value("Where?")
    assert not healthy(app.run()).error


@pytest.mark.parametrize("link", README_LINKS)
def test_a_link_of_the_readme_opens_a_page_that_knows_its_settings(start: Start, link: str) -> None:
    address = urlsplit(link.replace("L5", "L2"))  # the tiny model has fewer layers
    settings = dict(parse_qsl(address.query))
    app = opened(start(**settings), address.path.strip("/") or VIEWS[0].name)
    drawn = state_of(app, Visit).values
    for name, value in settings.items():
        assert name in drawn, f"the page has no setting {name}"
        # Values that a setting cannot have are deleted, as are those that it has anyway.
        assert app.query_params.get(name, [str(drawn[name])]) in (value, [value]), name


@pytest.mark.parametrize("value", ["nan", "17", "0", "many", "4.5"])
def test_an_impossible_setting_in_the_address_is_ignored(start: Start, value: str) -> None:
    app = healthy(start(text="Where?", beam_size=value).run())
    assert app.session_state["beam_size"] == 4
    assert "beam_size" not in app.query_params


def test_the_chosen_hypothesis_is_what_all_pages_are_about(app: AppTest) -> None:
    app.run()
    show_translation(app, 1)
    chosen = reading(app)
    assert chosen.hypothesis == chosen.translation.hypotheses[1]
    opened(app, "heads")
    assert reading(app).index == 1
    healthy(app.text_input(key="text").set_value("A new sentence.").run())
    assert reading(app).index == 0


def test_sessions_have_readings_of_their_own(start: Start) -> None:
    texts = ("Where?", "A dog runs.")
    apps = [healthy(start(beam_size="1", text=text).run()) for text in texts]
    assert [reading(app).translation.source for app in apps] == list(texts)
    assert state_of(apps[0], Current) is not state_of(apps[1], Current)


def test_heads_are_chosen_by_name_and_stay_chosen_across_pages(app: AppTest) -> None:
    opened(app, "heads")
    names = app.multiselect(key="heads_cross")
    assert len(names.options) == 8 + 4  # every head, and what many can be combined to
    assert len(names.value) == 1
    names.set_value(["L1 H2", "L2 H4"])
    app.query_params["heads_cross"] = ["L1 H2", "L2 H4"]  # a browser writes it there by itself
    healthy(app.run())
    to_page(app, "positions").run()
    to_page(app, "heads").run()
    assert healthy(app).multiselect(key="heads_cross").value == ["L1 H2", "L2 H4"]


@pytest.mark.parametrize("view", ["Lines", "Map", "Table"])
def test_every_kind_of_attention_in_every_view(app: AppTest, view: str) -> None:
    app.query_params["view"] = view.lower()
    to_page(app, "heads")
    shown = {"encoder_self": (True,), "decoder_self": (False,), "cross": (True, False)}
    for kind, is_merged in ((kind, is_merged) for kind, both in shown.items() for is_merged in both):
        app.session_state["kind"] = kind
        app.session_state["words"] = app.session_state["hide_special"] = is_merged
        healthy(app.run())
        assert app.selectbox(key="mass").disabled == (view != "Lines")
        assert Counter(button.label for button in app.get("download_button"))["CSV"] == 2
        assert len(picture_files(app)) == (1 if view == "Table" else 2)  # the grid of all heads, and the selected heads


@pytest.mark.parametrize(
    ("method", "per_layer", "views"),
    [
        ("norms", False, ["Table"]),
        ("gradient", False, ["Lines", "Map", "Table"]),
        ("rollout", True, ["Lines", "Map", "Table"]),
        ("rolled_contributions", True, ["Table"]),
    ],
)
def test_every_method_is_shown_with_its_rank_correlation(
    app: AppTest, method: str, per_layer: bool, views: list[str]
) -> None:
    app.session_state["weights"] = method
    opened(app, "heads")
    assert app.selectbox(key="sort").disabled == per_layer
    box = "layers_cross" if per_layer else "heads_cross"
    names = app.multiselect(key=box).options
    assert len(names) == (2 if per_layer else 8) + 4
    correlation = r"[Rr]ank correlation with the raw weights:? \u2212?[01]\.\d\d"

    def said() -> int:
        return sum(bool(re.search(correlation, caption.value)) for caption in app.caption)

    assert said() == 2  # of all heads, and of the selected one
    for view in views:
        app.session_state["view"] = view
        healthy(app.multiselect(key=box).set_value(names[:-4]).run())
        assert said() == 1 + len(names[:-4])
    expected = [{"L1"}, {"L2"}] if per_layer else [set(names[:4]), set(names[4:8])]
    assert [set(table.value["head"]) for table in app.dataframe if "weight" in table.value] == expected


def test_an_uploaded_checkpoint_becomes_the_current_model_until_it_is_closed(
    app: AppTest, other_checkpoint: Path
) -> None:
    opened(app, "heads")
    assert "2 + 2 layers, 4 heads" in html_of(app)
    upload(app, ("other.safetensors", other_checkpoint.read_bytes()))
    assert "other.safetensors" in html_of(app)
    assert "1 + 1 layers, 2 heads" in html_of(app)
    assert len(app.multiselect(key="heads_cross").options) == 2 + 4
    assert len(app.multiselect(key="heads_cross").value) == 1
    assert app.file_uploader[0].value == []
    healthy(app.button(key="close").click().run())
    assert "2 + 2 layers, 4 heads" in html_of(app)
    assert len(app.multiselect(key="heads_cross").value) == 1


def test_an_upload_that_a_click_interrupted_is_read_after_all(
    app: AppTest, other_checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise StopException

    app.run()
    with monkeypatch.context() as patch:
        patch.setattr(uploads, "uploaded_models", interrupted)
        upload(app, ("other.safetensors", other_checkpoint.read_bytes()))
    assert "1 + 1 layers, 2 heads" in html_of(app.run())


@pytest.mark.parametrize("by_path", [False, True])
def test_a_folder_or_archive_with_several_models_lists_them_to_choose_from(
    app: AppTest,
    other_checkpoint: Path,
    tiny_checkpoint: Path,
    tmp_path: Path,
    by_path: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = tmp_path / "both"
    folder.mkdir()
    shutil.copy(other_checkpoint, folder / "other.safetensors")
    shutil.copy(tiny_checkpoint, folder / "again.safetensors")
    monkeypatch.setattr(model_paths, "may_type_path", lambda: True)
    app.run()
    if by_path:
        app.text_input(key="path-0").set_value(str(folder))
        healthy(app.button(key="open_path_button").click().run())
        healthy(app.run())
    else:
        upload(app, ("both", Path(shutil.make_archive(str(folder), "zip", folder)).read_bytes()))
    assert "holds 2 models: choose one of them." in " ".join(each.value for each in app.sidebar.markdown)
    assert not app.sidebar.error  # a question is no error
    healthy(app.button(key="choose both other.safetensors").click().run())
    assert "1 + 1 layers, 2 heads" in html_of(app)
    assert not app.sidebar.error
    assert not any(button.key and button.key.startswith("choose") for button in app.button)


def test_a_bad_file_is_refused_with_its_reason_and_the_old_model_stays(
    app: AppTest, other_checkpoint: Path, overflowing_checkpoint: Path
) -> None:
    app.run()
    upload(app, ("other.safetensors", other_checkpoint.read_bytes()))
    upload(app, ("bad*name*.safetensors", b"no checkpoint at all"))
    reason, stays = app.sidebar.error[0].value.rsplit(". ", 1)
    assert "not a safetensors file" in reason
    assert r"Headlight opens its own \.safetensors files" in reason
    assert not reason.endswith(".")
    assert stays.endswith(" is still used.")
    assert "1 + 1 layers, 2 heads" in html_of(app)
    upload(app, ("bad.safetensors", other_checkpoint.read_bytes()[:-100]))
    assert "bad" in app.sidebar.error[0].value
    assert "1 + 1 layers, 2 heads" in html_of(app)
    assert "parts of one model" not in app.sidebar.error[0].value
    upload(app, ("config.json", b"{}"))
    added(app, ("vocab.json", b"{}"))
    assert r"The 2 files above were read as parts of one model\: remove" in app.sidebar.error[0].value
    upload(app, ("large.safetensors", overflowing_checkpoint.read_bytes()))
    added(app, ("again.safetensors", overflowing_checkpoint.read_bytes()))
    reason = app.sidebar.error[0].value  # each is a model
    assert "2 files are refused for one reason\\: large\\.safetensors, again\\.safetensors\\. Of the first" in reason
    assert reason.count("holds the weight") == 1
    assert "parts of one model" not in app.sidebar.error[0].value
    upload(app, ("large.safetensors", overflowing_checkpoint.read_bytes()))
    assert r"holds the weight 3e\+38, at most 65504 is read" in app.sidebar.error[0].value
    assert "1 + 1 layers, 2 heads" in html_of(app)
    assert not app.exception


def test_without_any_checkpoint_the_page_says_what_to_do(
    app: AppTest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, other_checkpoint: Path
) -> None:
    monkeypatch.setenv("HEADLIGHT_CHECKPOINT", str(tmp_path / "none.safetensors"))
    healthy(app.run())
    assert "There is no checkpoint" in app.error[0].value
    assert all(way in app.error[0].value for way in ("Upload", "HEADLIGHT_SHARE"))
    upload(app, ("other.safetensors", other_checkpoint.read_bytes()))
    assert not app.error
    assert "1 + 1 layers, 2 heads" in html_of(app)


def test_a_broken_checkpoint_to_start_with_is_named(
    app: AppTest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    broken = tmp_path / "broken.safetensors"
    broken.write_bytes(b"PK\x03\x04 a pickle in a zip")
    monkeypatch.setenv("HEADLIGHT_CHECKPOINT", str(broken))
    healthy(app.run())
    assert "is a zip archive or a PyTorch file" in app.error[0].value


@pytest.mark.parametrize("settings", [{}, None], ids=["Streamlit's own settings", "the app's settings"])
def test_an_example_is_taken_without_a_warning(
    start: Start, settings: dict[str, bool] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Streamlit warns once a process of a widget that has a default and is given another value."""
    file = Path(__file__).parents[2] / "viz_app" / ".streamlit" / "config.toml"
    if settings is None:
        settings = tomllib.loads(file.read_text(encoding="utf-8"))["global"]
    get = config.get_option
    monkeypatch.setattr(config, "get_option", lambda name: settings.get(name.removeprefix("global."), get(name)))
    monkeypatch.setattr(policies, "_shown_default_value_warning", False)
    warned = list[str]()
    logger = logging.getLogger("streamlit.elements.lib.policies")
    monkeypatch.setattr(logger, "filter", lambda record: warned.append(record.getMessage()))
    app = healthy(start(beam_size="1").run())
    healthy(app.button(key=f"example: {EXAMPLES[1]}").click().run())
    assert app.text_input(key="text").value == reading(app).translation.source == EXAMPLES[1]
    assert ('The widget with key "text"' in "".join(warned)) == (not settings)
