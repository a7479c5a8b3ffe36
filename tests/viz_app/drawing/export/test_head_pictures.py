import io
import re
import xml.etree.ElementTree as ElementTree
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from viz_app.drawing.export.head_pictures import Format, drawn_lines, export_csv, export_lines, export_map
from viz_app.drawing.export.selection import VEIL, Selected
from viz_app.drawing.theme import DARK

BEGINNINGS = {"svg": b"<?xml", "pdf": b"%PDF", "png": b"\x89PNG"}


@pytest.mark.parametrize("file_format", ["svg", "png"])
def test_the_same_head_is_the_same_file_each_time(make_map: Any, file_format: Format) -> None:
    file = export_lines(make_map(), [0, 2], file_format)
    assert file.startswith(BEGINNINGS[file_format])
    assert file == export_lines(make_map(), [0, 2], file_format)


@pytest.mark.parametrize("file_format", ["svg", "pdf"])
def test_the_same_map_is_the_same_file_each_time(make_map: Any, file_format: Format) -> None:
    """Nothing in it is a picture of dots, so that it stays sharp."""
    file = export_map(make_map(2, 2), 0, file_format, diverging=True)
    assert file.startswith(BEGINNINGS[file_format])
    assert b"<image" not in file
    assert b"/Subtype /Image" not in file
    assert file == export_map(make_map(2, 2), 0, file_format, diverging=True)


def test_tokens_are_text_and_no_formula(make_map: Any) -> None:
    attention = make_map(2, 2, token="\u2581<b>$x_1$</b>")
    for file in (export_map(attention, 0, "svg"), export_lines(attention, [0], "svg")):
        texts = [
            "".join(node.itertext()) for node in ElementTree.fromstring(file).iter("{http://www.w3.org/2000/svg}text")
        ]
        assert any("<b>$x_1$</b>" in text for text in texts)
        assert b"<b>" not in file


def test_a_map_has_its_themes_colours(make_map: Any) -> None:
    corner = Image.open(io.BytesIO(export_map(make_map(1, 1), 0, "png", DARK))).convert("RGB").getpixel((0, 0))
    assert corner == tuple(int(DARK.background[start : start + 2], 16) for start in (1, 3, 5))


@pytest.mark.parametrize(("kind", "size"), [("encoder_self", (1, 1)), ("cross", (1, 1)), ("cross", (2, 30))])
def test_any_length_can_be_exported(make_map: Any, kind: str, size: tuple[int, int]) -> None:
    attention = make_map(*size, kind=kind)
    assert export_map(attention, 0, "svg")
    assert export_lines(attention, [0, 1, 2], "svg", top_mass=0.9)


def test_a_head_without_a_line_is_exported(make_map: Any) -> None:
    attention = make_map()
    attention.weights[1] = 0
    assert export_lines(attention, [0, 1], "svg").startswith(b"<?xml")


def test_csv_is_every_weight(make_map: Any) -> None:
    attention = make_map(layer=2)
    table = pd.read_csv(io.BytesIO(export_csv(attention, [1])))
    np.testing.assert_allclose(table["weight"], attention.weights[1].flatten(), rtol=1e-6)
    assert table[["kind", "layer", "head"]].drop_duplicates().to_numpy().tolist() == [["cross", 2, 1]]


def test_a_head_or_a_format_that_is_not_there_is_refused(make_map: Any) -> None:
    with pytest.raises(ValueError, match="layer 1 has 3 heads, there is no head 4"):
        export_lines(make_map(), [0, 3], "svg")
    with pytest.raises(ValueError, match="unknown format 'gif', expected one of svg, pdf, png"):
        export_map(make_map(), 0, "gif")  # type: ignore[arg-type]


def texts_of(file: bytes) -> list[str]:
    nodes = ElementTree.fromstring(file).iter("{http://www.w3.org/2000/svg}text")
    return ["".join(node.itertext()).strip() for node in nodes]


def test_with_words_selected_only_their_lines_are_drawn_each_with_its_own_weight(make_map: Any) -> None:
    """As on the screen: no mean of two rows, and no line of another word."""
    attention = make_map(6, 5)
    selected: Selected = {"query": [1, 4], "key": [2]}
    lines = drawn_lines(attention, [0, 2], 0.0, selected=selected)
    assert {(query, key) for _, query, key, _ in lines} == {
        (query, key) for query in (1, 4) for key in range(5)
    }  # the selected column is where they end
    columns = drawn_lines(attention, [0], 0.0, selected={"query": [], "key": [2]})
    assert {(query, key) for _, query, key, _ in columns} == {(query, 2) for query in range(6)}
    assert all(weight == attention.weights[(0, 2)[place], query, key] for place, query, key, weight in lines)
    alone: Selected = {"query": [1], "key": []}
    one = drawn_lines(attention, [0], 0.0, selected=alone)
    numbers = texts_of(export_lines(attention, [0], "svg", min_weight=0.0, selected=alone))
    assert {f"{weight:.3f}" for *_, weight in one} <= set(numbers)
    assert not any("." in text and text[0].isdigit() for text in texts_of(export_lines(attention, [0], "svg")))


def test_of_two_words_both_are_bold_and_the_number_of_the_line_between_them(make_map: Any) -> None:
    attention = make_map(6, 5)
    file = export_lines(attention, [0], "svg", min_weight=0.0, selected={"query": [1], "key": [2]}).decode()
    bold = re.findall(r"font-weight: 700[^>]*>([^<]*)<", file)
    assert f"{float(attention.weights[0, 1, 2]):.3f}" in bold
    assert len(bold) == 4  # the name of the head, two words, one number


def test_of_the_decoder_no_masked_weight_is_drawn(make_map: Any) -> None:
    attention = make_map(6, 6, kind="decoder_self")
    assert all(key <= query for _, query, key, _ in drawn_lines(attention, [0, 1, 2], 0.0))


@pytest.mark.parametrize("draw", ["map", "lines"])
def test_what_went_to_hidden_tokens_is_in_the_file(make_map: Any, draw: str) -> None:
    attention = make_map(4, 5).select(range(4), range(3))
    file = export_map(attention, 1, "svg") if draw == "map" else export_lines(attention, [1], "svg")
    assert attention.hidden is not None
    assert {f"{share:.2f}" for share in attention.hidden[1].tolist()} <= set(texts_of(file))
    assert "hidden" in texts_of(file)


def test_a_map_hatches_what_is_masked_and_dims_what_is_not_selected(make_map: Any) -> None:
    def veils(file: bytes) -> int:
        return file.count(f"opacity: {VEIL}".encode())

    decoder = make_map(4, 4, kind="decoder_self")
    assert b"<pattern" in export_map(decoder, 0, "svg")
    assert b"<pattern" not in export_map(make_map(4, 4), 0, "svg")
    assert veils(export_map(decoder, 0, "svg")) == 0
    assert veils(export_map(decoder, 0, "svg", selected={"query": [1], "key": [2]})) == 4  # the corners of the cross
    assert veils(export_map(decoder, 0, "svg", selected={"query": [0], "key": []})) == 1
