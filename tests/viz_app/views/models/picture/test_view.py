"""The page Read a picture without a browser, and the other pages while the model reads pictures."""

import io
import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from streamlit.testing.v1 import AppTest

from core.images.line_reader import LineReader
from core.images.picture import line_image
from core.images.rendering import Style, render
from core.translator import Translator
from tests.viz_app.pages import Start, healthy, opened, reading, state_of, to_page
from viz_app.drawing.display_text import plain
from viz_app.page_list import VIEWS
from viz_app.session import models
from viz_app.session.readings import Current
from viz_app.views.models.picture import reader_model


@pytest.fixture
def page(start: Start, line_checkpoint: Path) -> AppTest:
    return opened(
        start(line_checkpoint, picture_text="Hi", picture_font="DejaVuSerif", picture_view="table"), "picture"
    )


def read_text(page: AppTest) -> str:
    return re.findall("It reads \u201c(.*)\u201d; least certain", " ".join(each.value for each in page.markdown))[0]


def image(text: str, style: Style) -> np.ndarray:
    return line_image(render(text, style), 24)


def test_a_text_is_drawn_and_read(page: AppTest, line_checkpoint: Path) -> None:
    reader = LineReader(Translator.from_checkpoint(line_checkpoint))
    expected = reader.read(image("Hi", Style(font="DejaVuSerif")))
    assert read_text(page) == plain(expected.text)
    assert any("Not as drawn" in caption.value for caption in page.caption)
    page.segmented_control(key="picture_view").set_value("Pictures")
    drawn = [str(each.proto.body) for each in healthy(page.run()).get("html")]
    assert sum('class="characters"' in each for each in drawn) == 1
    page.slider(key="picture_noise").set_value(20)
    page.selectbox(key="picture_head").set_value("L2 H3")
    page.segmented_control(key="picture_view").set_value("Table")
    healthy(page.run())
    noisy = reader.read(image("Hi", Style(font="DejaVuSerif", noise=0.2)))
    assert read_text(page) == plain(noisy.text)
    table = page.dataframe[0].value
    assert table["position"].max() == len(noisy.token_ids) - noisy.finished
    assert set(table["layer"]) == {0, 1}


def test_an_uploaded_picture_is_read(page: AppTest, line_checkpoint: Path) -> None:
    page.segmented_control(key="picture_source").set_value("Upload a picture")
    healthy(page.run())
    file = io.BytesIO()
    Image.fromarray(render("up", Style())).save(file, "PNG")
    page.file_uploader(key="picture_file").set_value(("up.png", file.getvalue(), "image/png"))
    healthy(page.run())
    reader = LineReader(Translator.from_checkpoint(line_checkpoint))
    assert read_text(page) == plain(reader.read(image("up", Style())).text)
    page.file_uploader(key="picture_file").set_value(("up.png", file.getvalue()[:60], "image/png"))
    healthy(page.run())
    assert "The PNG file is damaged" in page.error[0].value


@pytest.mark.parametrize(
    ("text", "message"), [("a\u4e2d", "DejaVuSans has no"), ("W" * 80, "The image is .* pixels wide, at most 1360")]
)
def test_what_cannot_be_drawn_or_read_is_said(start: Start, line_checkpoint: Path, text: str, message: str) -> None:
    app = opened(start(line_checkpoint, picture_text=text, picture_size="19"), "picture")
    assert re.search(message, app.error[0].value.replace("\\", ""))


def test_a_translation_checkpoint_gives_the_shipped_reader_or_says_what_to_do(
    start: Start, line_checkpoint: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(reader_model, "SHIPPED", tmp_path / "none.safetensors")
    app = opened(start(text="Where?", beam_size="2", picture_text="Hi", picture_view="table"), "picture")
    assert "translates, it does not read pictures" in app.info[0].value
    monkeypatch.setattr(reader_model, "SHIPPED", line_checkpoint)
    healthy(app.run())
    assert any("tiny-lines" in caption.value.replace("\\", "") for caption in app.caption)
    assert reading(app).model.name == "tiny.safetensors"


@pytest.mark.usefixtures("small_pages")
def test_pages_about_text_lead_to_the_page_and_the_model_that_fit(
    page: AppTest, tiny_checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(models, "translation_checkpoint", lambda: tiny_checkpoint)
    for each in VIEWS:
        to_page(page, each.name)
        healthy(page.run())
        assert not page.error
        noted = any("reads pictures of text, it does not translate" in info.value for info in page.info)
        assert noted == ("pictures" not in each.models), each
    to_page(page, "translate")
    page.run()
    healthy(page.button(key="translation_model").click().run())
    assert reading(page).model.name == tiny_checkpoint.name
    assert state_of(page, Current).reading is not None
    assert not page.info
