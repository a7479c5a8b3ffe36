"""The page Parsing without a browser."""

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.viz_app.pages import Start, reading, state_of, to_page
from viz_app.controls.search_progress import StoppedSearches
from viz_app.views.models.parsing import parser_model

TREE_TEXT = "It rains."


@pytest.fixture
def page(start: Start, tree_checkpoint: Path) -> AppTest:
    """The page on a checkpoint that writes trees."""
    return start(tree_checkpoint, beam_size="1", hypotheses="1", text=TREE_TEXT)


def opened(page: AppTest) -> AppTest:
    to_page(page, "parsing").run()
    assert not page.exception, page.exception[0].message
    return page


def test_a_sentence_becomes_a_tree_of_its_words(page: AppTest) -> None:
    opened(page)
    (brackets,) = [code.value for code in page.code]
    assert brackets.startswith("(")
    assert all(f"(XX {word})" in brackets for word in ("It", "rains", "."))
    page.segmented_control(key="parsing_view").set_value("Table").run()
    assert not page.exception
    table = page.dataframe[0].value
    assert table["text"][0] == "It rains ."
    assert list(table.columns)[:3] == ["label", "depth", "first_word"]
    assert set(page.dataframe[1].value["attends_to"]) >= {"It", "rains"}


def test_a_parse_that_was_stopped_stays_so_until_it_is_asked_for(page: AppTest) -> None:
    opened(page)
    # as a click on Stop leaves it
    state_of(page, StoppedSearches).searches["parsing"] = (reading(page).model.digest, TREE_TEXT)
    assert "Stopped." in [caption.value for caption in page.run().caption]
    assert not page.code
    page.button(key="again_parsing").click().run()
    assert len(page.code) == 1


def test_a_translation_checkpoint_gives_a_sentence_or_the_shipped_parser(
    page: AppTest, monkeypatch: pytest.MonkeyPatch, tiny_checkpoint: Path, tree_checkpoint: Path, tmp_path: Path
) -> None:
    monkeypatch.setenv("HEADLIGHT_CHECKPOINT", str(tiny_checkpoint))
    monkeypatch.setattr(parser_model, "SHIPPED", tmp_path / "none.safetensors")
    opened(page)
    (message,) = [info.value for info in page.info]
    assert "translates, it does not parse: its vocabulary has no brackets" in message.replace("\\", "")
    assert "The shipped model none is not in this installation: `HEADLIGHT_SHARE` can name" in message
    assert not page.code
    monkeypatch.setattr(parser_model, "SHIPPED", tree_checkpoint)
    page.run()
    assert not page.exception
    assert len(page.code) == 1
    captions = [caption.value.replace("\\", "") for caption in page.caption]
    assert any("Parsed by tiny-trees" in caption for caption in captions)
    assert "tiny.safetensors translates, it writes no trees: tiny-trees.safetensors does here." in captions
    page.button(key="use_parser").click().run()
    assert not page.exception
    assert reading(page).model.name == "tiny-trees.safetensors"
    assert not [button for button in page.button if button.key == "use_parser"]
