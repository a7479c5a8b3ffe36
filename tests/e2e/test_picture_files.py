"""Files of pictures are what the browser has drawn: the same text at the same places, and the same pixels."""

import io
import re
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Locator, Page
from pypdf import PdfReader

from tests.e2e.idle import open_page, wait_until_idle

NEAR = 2.0  # pixels
DIFFERENT = 0.015  # mean of the differences of channels from 0 to 1: edges of letters alone
COARSE = 4  # pixels of the screen that are compared as one
SENTENCE = "text=A+small+dog+runs%3A+%3Cb%3E.&beam_size=2"
PAGES = [  # one for each kind of picture
    "overview?",
    "heads?heads_cross=L2+H1&word=target.2&",
    "heads?heads_cross=L2+H1&view=map&kind=decoder_self&words=false&",
    "heads?kind=joint&joint_layer=1&",
    "translate?samples=true&",
    "beam?",
    "beam?beam_view=tree&",
    "contrast?",
    "switches?heads_off=L1+H1&",
    "alignment?",
    "positions?",
    "positions?positions_view=first_layer&",
    "step_through?",
    "head_paths?",
    "paper_figures?",
    "heads?view=bertviz&bertviz_view=model&",
    "picture?picture_text=house&",
]
# Those with another way of drawing: elements, curves, a canvas, Plotly, an image. A PDF is made of the SVG alone.
PRINTED = ("overview?", PAGES[1], "heads?kind=joint&joint_layer=1&", "positions?", "picture?picture_text=house&")
# What a visitor sees of a picture, independently of how files are made.
HIDE = """place => {
  const all = node => [node, ...[...(node.shadowRoot ?? node).children].flatMap(all)];
  for (const node of all(place)) if (node.matches("[data-control], input")) node.style.setProperty("display", "none");
}"""
TEXTS = """place => {
  const all = node => [...(node.shadowRoot ?? node).childNodes].flatMap(
    child => child.nodeType === 3 ? [child] : child.nodeType === 1 ? all(child) : []);
  const skipped = "style, script, title, .hoverlayer, .tapped, .spoken";
  return all(place).flatMap(text => {
    const parent = text.parentElement ?? text.getRootNode().host;
    const range = document.createRange();
    range.selectNodeContents(text);
    const { left, top, width, height } = range.getBoundingClientRect();
    const options = { opacityProperty: true, visibilityProperty: true };
    const isSeen = width && height && !parent.closest(skipped) && parent.checkVisibility(options);
    const { fill } = getComputedStyle(parent);
    const isDrawn = !parent.closest("svg") || fill !== "none";
    const box = parent.getBoundingClientRect();
    const isCut = getComputedStyle(parent).overflow !== "visible" && parent.scrollWidth > parent.clientWidth;
    return isSeen && isDrawn && text.data.trim() ? [[text.data.trim(), left, top, height, isCut]] : [];
  });
}"""


@pytest.mark.parametrize("address", PAGES)
def test_files_are_what_is_on_the_screen(page: Page, app: str, requests: list[str], address: str) -> None:
    page.set_viewport_size({"width": 1280, "height": 3000})  # nothing of a picture is out of the window
    open_page(page, f"{app}/{address}{SENTENCE}")
    wait_until_idle(page)
    rows = page.locator(".files[data-picture]").all()
    assert rows
    for row in rows:
        key = re.sub(r"[^\w-]", "-", row.get_attribute("data-picture") or "", flags=re.ASCII)
        picture = page.locator(f".st-key-{key}")
        svg, png = (downloaded(page, row, name) for name in ("SVG", "PNG"))
        pdf = downloaded(page, row, "PDF") if address in PRINTED else None
        picture.evaluate(HIDE)
        root = ElementTree.fromstring(svg)
        texts = picture.evaluate(TEXTS)
        x, y = origin(root)
        written = written_texts(root, np.array([[1, 0, x], [0, 1, y], [0, 0, 1]]))
        missing = [each for each in texts if not is_written(each, written)]
        assert not missing, f"{key}: {missing}"
        assert b"url(http" not in svg
        if pdf:
            drawn = {*PdfReader(io.BytesIO(pdf)).pages[0].extract_text()}
            seen = {*"".join(text for text, *_, is_cut in texts if not is_cut and text.isascii())} - {" "}
            assert not {letter for letter in seen if not {letter, letter.upper()} & drawn}, key
        assert difference(page, root, png) < DIFFERENT, key
    assert set(requests) <= {urlsplit(app).netloc}


def downloaded(page: Page, row: Locator, button: str) -> bytes:
    with page.expect_download() as download:
        row.get_by_role("button", name=button, exact=True).click()
    assert download.value.suggested_filename.endswith(f".{button.lower()}")
    return Path(download.value.path()).read_bytes()


def origin(root: Any) -> tuple[float, float]:
    """The place on the page of the corner of a picture."""
    move = next(each.get("transform") for each in root if each.tag.endswith("}g"))
    x, y = map(float, re.findall(r"-?[\d.]+", move))
    return -x, -y


def is_written(text: tuple[str, float, float, float, bool], written: list[tuple[str, float, float, bool]]) -> bool:
    """Whether a text of the page begins at the same place in the file."""
    content, left, top, height, is_cut = text
    start = content.split()[0][: 2 if is_cut else None].casefold()
    return any(
        drawn.startswith(start) and (is_turned or (abs(x - left) < NEAR and top <= y <= top + height + NEAR))
        for drawn, x, y, is_turned in written
    )


def written_texts(element: Any, matrix: Any = None) -> list[tuple[str, float, float, bool]]:
    """The texts of a file without spaces, where their base lines begin on the page, and whether they are rotated."""
    matrix = np.eye(3) if matrix is None else matrix
    for name, numbers in re.findall(r"(\w+)\(([^)]*)\)", element.get("transform", "")):
        values = [float(each) for each in numbers.split()]
        a, b, c, d, e, f = {"matrix": values, "translate": [1, 0, 0, 1, *values], "rotate": [0, 1, -1, 0, 0, 0]}[name]
        matrix = matrix @ np.array([[a, c, e], [b, d, f], [0, 0, 1]])
    if element.tag.endswith("}text"):
        x, y, _ = matrix @ [float(element.get("x")), float(element.get("y")), 1]
        return [("".join((element.text or "").split()).casefold(), x, y, abs(matrix[0, 1]) > 0.1)]
    return [text for child in element for text in written_texts(child, matrix)]


def difference(page: Page, root: Any, png: bytes) -> float:
    """How the picture as PNG differs from a screenshot of its place."""
    (x, y), (width, height) = origin(root), (float(root.get("width")), float(root.get("height")))
    page.mouse.move(0, 0)
    shot = Image.open(io.BytesIO(page.screenshot(clip={"x": x, "y": y, "width": width, "height": height})))
    file = Image.open(io.BytesIO(png)).convert("RGB").reduce(2)
    one, other = (np.asarray(each.convert("RGB").reduce(COARSE), float) for each in (shot, file))
    return float(np.abs(one - other).mean()) / 255
