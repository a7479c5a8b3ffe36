"""Every picture can be taken along, as SVG, PDF, PNG and the numbers behind it."""

from collections import Counter
from functools import partial
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.viz_app.pages import Start, healthy, opened, reading
from viz_app.controls import downloads
from viz_app.views.models.parsing import parser_model

PICTURES = {
    "translate": 2,
    "heads": 2,
    "beam": 1,
    "switches": 3,
    "alignment": 1,
    "compare": 3,
    "positions": 1,
    "paper_figures": 1,
}


def labels(app: AppTest) -> Counter[str]:
    return Counter(button.proto.label for button in app.get("download_button"))  # type: ignore[attr-defined]


def test_every_picture_of_every_page_comes_in_every_format(start: Start) -> None:
    app = start(text="A dog runs.", beam_size="2", paper_text_3="A dog runs.")
    for page, pictures in PICTURES.items():
        opened(app, page)
        assert [labels(app)[name] for name in ("SVG", "PDF", "PNG", "CSV")] == [pictures] * 4, page


def test_nothing_is_drawn_before_it_is_asked_for() -> None:
    def page() -> None:
        from viz_app.controls.downloads import downloads

        def fails(*_: object) -> None:
            raise AssertionError("drawn")

        downloads("both", fails, fails)  # type: ignore[arg-type]
        downloads("table", table=fails)  # type: ignore[arg-type]

    app = AppTest.from_function(page).run()
    assert not app.exception
    assert labels(app) == {"SVG": 1, "PDF": 1, "PNG": 1, "CSV": 2}


def test_a_slide_is_captioned_with_sentence_head_and_model(
    start: Start, tree_checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    captions: dict[str, str] = {}

    def record(name: str, _files: object, show_slide: partial[None], _python: object) -> None:
        captions[name] = show_slide.args[2]()

    monkeypatch.setattr(downloads, "export_row", record)
    monkeypatch.setattr(parser_model, "SHIPPED", tree_checkpoint)
    app = start(text="A dog runs.", beam_size="2", heads_cross="L2 H1")
    opened(app, "heads")
    caption = captions["cross-layer1-head0"]
    target = reading(app).hypothesis.text
    assert caption == f"Cross attention, L2 H1: \u201cA dog runs.\u201d \u2192 \u201c{target}\u201d (tiny.safetensors)"
    opened(app, "parsing")
    assert captions["tree"] == "Tree of \u201cA dog runs .\u201d by tiny-trees.safetensors"  # not by the current model


@pytest.fixture
def slides(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The slides that were opened."""
    opened_slides: list[str] = []
    monkeypatch.setattr(downloads, "slide_dialog", lambda name, *_: opened_slides.append(name))
    return opened_slides


HEAD = "cross-layer1-head0"
VIEW = {"text": "A dog runs.", "beam_size": "2", "heads_cross": "L2 H1"}


def test_a_slide_has_an_address(start: Start, slides: list[str]) -> None:
    app = opened(start(**VIEW), "heads")
    assert slides == []
    app.button(key=f"slide_{HEAD}").click()
    assert healthy(app.run()).query_params["slide"] == HEAD
    assert slides == [HEAD]
    opened(start(**VIEW, slide=HEAD), "heads")  # somebody else follows the link
    assert slides == [HEAD] * 2


def test_a_name_of_no_picture_gets_the_page_and_a_message(start: Start, slides: list[str]) -> None:
    app = opened(start(**VIEW, slide="none-*such*"), "heads")
    assert slides == []
    assert "no such picture" in app.error[0].value
    assert r"none\-\*such\*" in app.error[0].value
    assert app.button(key=f"slide_{HEAD}")
    assert not opened(start(**VIEW, slide=HEAD), "heads").error


@pytest.mark.usefixtures("short_turns")
def test_a_picture_that_is_still_computed_is_waited_for(start: Start, slides: list[str]) -> None:
    """The page draws again when it is ready."""
    app = opened(start(text="A dog runs.", beam_size="1", slide="contrast-curves"), "contrast")
    assert not app.error
