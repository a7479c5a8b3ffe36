"""Every picture can be taken along: as files and a slide, which the browser makes, and as the numbers behind it."""

from collections import Counter
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.viz_app.pages import Start, opened, picture_files, reading
from viz_app.views.models.parsing import parser_model

PICTURES = {"overview": 1, "translate": 2, "heads": 2, "beam": 1, "switches": 3, "alignment": 1, "compare": 3}


def labels(app: AppTest) -> Counter[str]:
    return Counter(button.proto.label for button in app.get("download_button"))  # type: ignore[attr-defined]


def test_every_picture_has_a_key_and_its_numbers(start: Start) -> None:
    app = start(text="A dog runs.", beam_size="2")
    for page, count in PICTURES.items():
        found = picture_files(opened(app, page))
        assert len(found) == count, page
        keys = {each.key for each in app.get("bidi_component")}
        assert {data["picture"] for data in found.values()} - keys <= {"switched-changes", "effects"}, page
        assert labels(app)["CSV"] == count - (page == "overview"), page


def test_nothing_is_computed_before_it_is_asked_for() -> None:
    def page() -> None:
        from viz_app.controls.downloads import downloads

        def fails() -> None:
            raise AssertionError("computed")

        downloads("both", "drawing", table=fails, of_sentence=False)  # type: ignore[arg-type]
        downloads("table", table=fails, of_sentence=False)  # type: ignore[arg-type]

    app = AppTest.from_function(page).run()
    assert not app.exception
    assert [*picture_files(app)] == ["both"]
    assert labels(app) == {"CSV": 2}


def test_a_slide_is_captioned_with_sentence_head_and_model(
    start: Start, tree_checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parser_model, "SHIPPED", tree_checkpoint)
    app = opened(start(**VIEW), "heads")
    target = reading(app).hypothesis.text
    caption = f"Cross attention, L2 H1: \u201cA dog runs.\u201d \u2192 \u201c{target}\u201d (tiny.safetensors)"
    assert picture_files(app)[HEAD]["caption"] == caption
    opened(app, "parsing")
    # not by the current model
    assert picture_files(app)["tree"]["caption"] == "Tree of \u201cA dog runs .\u201d by tiny-trees.safetensors"


HEAD = "cross-layer1-head0"
VIEW = {"text": "A dog runs.", "beam_size": "2", "heads_cross": "L2 H1"}


def slides(app: AppTest) -> list[str]:
    return [name for name, data in picture_files(app).items() if data["shown"]]


def test_a_slide_has_an_address_and_a_name_of_no_picture_gets_the_page_and_a_message(start: Start) -> None:
    assert slides(opened(start(**VIEW), "heads")) == []
    app = opened(start(**VIEW, slide=HEAD), "heads")  # somebody follows a link
    assert slides(app) == [HEAD]
    assert app.query_params["slide"] == HEAD
    assert not app.error
    app = opened(start(**VIEW, slide="none-*such*"), "heads")
    assert slides(app) == []
    assert "no such picture" in app.error[0].value
    assert r"none\-\*such\*" in app.error[0].value
    assert HEAD in picture_files(app)


@pytest.mark.usefixtures("short_turns")
def test_a_picture_that_is_still_computed_is_waited_for(start: Start) -> None:
    """The page draws again when it is ready."""
    app = opened(start(text="A dog runs.", beam_size="1", slide="contrast-curves"), "contrast")
    assert not app.error
