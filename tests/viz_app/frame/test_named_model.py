"""A parser as the current model: its own search on all pages, and a note on those about translations."""

from pathlib import Path

import pytest

from core.parsing.parser import BEAM_SIZE, Parser
from tests.viz_app.pages import Start, healthy, opened, reading
from viz_app.frame import badges, share_menu
from viz_app.page_list import VIEWS
from viz_app.session import models

TEXT = "It rains."


def test_a_parser_searches_among_trees_and_its_attention_is_that_of_the_tree(
    start: Start, tree_checkpoint: Path
) -> None:
    app = opened(start(tree_checkpoint, text=TEXT, beam_size="1"), "heads")
    about = reading(app)
    expected = Parser(about.model.translator).parse(TEXT)
    assert about.hypothesis.token_ids == expected.token_ids
    assert about.hypothesis.log_prob == pytest.approx(expected.log_prob)
    assert about.translation.source == expected.text == "It rains ."
    assert all(check.passed for check in badges.checks(about))
    assert share_menu.record(about).settings["beam_size"] == BEAM_SIZE  # not that of the sliders


def test_pages_about_translations_lead_to_the_page_and_the_model_that_fit(
    start: Start, tree_checkpoint: Path, tiny_checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(models, "translation_checkpoint", lambda: tiny_checkpoint)
    app = start(tree_checkpoint, text=TEXT)
    others = [page for page in VIEWS if "parser" not in page.models]
    assert others
    for page in others:
        opened(app, page.name)
        assert "is a parser: it writes trees, not translations" in app.info[0].value
        assert page.title in app.info[0].value
    healthy(app.button(key="translation_model").click().run())
    assert reading(app).model.name == tiny_checkpoint.name
    assert not any("is a parser" in info.value for info in app.info)


def test_no_token_of_a_tree_is_forced(start: Start, tree_checkpoint: Path) -> None:
    app = healthy(start(tree_checkpoint, text=TEXT, target="7.2").run())
    assert "writes trees, of which no token can be forced" in app.error[0].value
    assert reading(app).forced is None
