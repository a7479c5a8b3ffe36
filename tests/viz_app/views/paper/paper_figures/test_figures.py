import re
import xml.etree.ElementTree as ElementTree
from typing import Any

import pytest
import torch

from core.capture import AttentionMap
from viz_app.drawing.export.head_pictures import FORMATS, Format
from viz_app.views.paper.paper_figures.figures import LinePanel, appendix_figure, appendix_table, figure_width

SVG = "{http://www.w3.org/2000/svg}"
BEGINNINGS = {"svg": b"<?xml", "pdf": b"%PDF", "png": b"\x89PNG"}


def texts(file: bytes) -> list[str]:
    return ["".join(node.itertext()) for node in ElementTree.fromstring(file).iter(f"{SVG}text")]


@pytest.mark.parametrize("file_format", FORMATS)
def test_panels_come_in_every_format_without_a_picture_of_dots_and_the_same_each_time(
    make_map: Any, file_format: Format
) -> None:
    panels = [LinePanel(make_map(), (0,)), LinePanel(make_map(), (0, 1, 2), (1, 3))]
    file = appendix_figure(panels, file_format)
    assert file.startswith(BEGINNINGS[file_format])
    assert b"<image" not in file
    assert b"/Subtype /Image" not in file
    assert file_format != "svg" or file == appendix_figure(panels, "svg")  # where every part has a name


def test_words_are_upright_text_above_and_below_and_heads_have_names(make_map: Any) -> None:
    file = appendix_figure([LinePanel(make_map(5, 4, token="▁<b>$x$</b>", kind="encoder_self"), (0, 2))], "svg")
    assert texts(file).count("<b>$x$</b>") == 2 * 4  # of five tokens the last is `</s>`
    assert {"L1 H1", "L1 H3"} <= set(texts(file))
    rotated = [
        node
        for node in ElementTree.fromstring(file).iter(f"{SVG}text")
        if "rotate(-90" in ElementTree.tostring(node, encoding="unicode")
    ]
    assert len(rotated) == 2 * 5


def test_the_table_holds_the_lines_of_the_words(make_map: Any) -> None:
    attention = make_map(5, 4, layer=4)
    table = appendix_table([LinePanel(attention, (1,)), LinePanel(attention, (0, 2), (1, 3))])
    assert table.groupby("panel").size().to_dict() == {0: 5 * 4, 1: 2 * 2 * 4}
    assert set(table[table["panel"] == 1]["query_position"]) == {1, 3}
    assert table[table["panel"] == 1]["weight"].tolist() == pytest.approx(
        attention.weights[[0, 2]][:, [1, 3]].flatten().tolist()
    )


@pytest.mark.parametrize("size", [1, 40])
def test_any_length_can_be_drawn(make_map: Any, size: int) -> None:
    panels = [LinePanel(make_map(size, size, num_heads=1), (0,), (0,))]
    assert appendix_figure(panels, "svg").startswith(b"<?xml")
    assert figure_width(panels) > 0.19 * size


def test_a_word_that_looks_at_nothing_shown_has_no_lines(make_map: Any) -> None:
    attention = make_map(5, 4)
    attention.weights[1, 3] = 0  # all of it was on a token that is hidden
    assert set(texts(appendix_figure([LinePanel(attention, (1,), (3,))], "svg"))) >= {"L1 H2", "the"}


def test_what_is_not_there_is_refused(make_map: Any) -> None:
    with pytest.raises(ValueError, match="layer 1 has 3 heads, there is no head 4"):
        appendix_figure([LinePanel(make_map(), (3,))], "svg")
    with pytest.raises(ValueError, match="there is no word 5: the sentence has words 0 to 4"):
        appendix_figure([LinePanel(make_map(5, 4), (0,), (0, 5))], "svg")
    with pytest.raises(ValueError, match="a figure needs at least one panel"):
        appendix_figure([], "svg")
    with pytest.raises(ValueError, match="unknown format 'gif'"):
        appendix_figure([LinePanel(make_map(), (0,))], "gif")  # type: ignore[arg-type]


def test_of_cross_attention_the_source_stands_above_the_target() -> None:
    """As on every other picture; in self-attention the queries stand above, as in the paper."""

    def height(file: bytes, word: str) -> float:
        node = next(each for each in ElementTree.fromstring(file).iter(f"{SVG}text") if each.text == word)
        return float(re.search(r"translate\([\d.]+ ([\d.]+)\)", ElementTree.tostring(node, "unicode"))[1])  # type: ignore[index]

    source, fed, target = ("\u2581dog",), ("<s>",), ("\u2581Hund",)
    cross = AttentionMap("cross", 0, torch.ones(1, 1, 1), fed, source, target)
    for queries in ((), (0,)):
        file = appendix_figure([LinePanel(cross, (0,), queries)], "svg")
        assert height(file, "dog") < height(file, "Hund")
    decoder = AttentionMap("decoder_self", 0, torch.ones(1, 1, 1), fed, fed, target)
    assert height(appendix_figure([LinePanel(decoder, (0,))], "svg"), "Hund") < height(
        appendix_figure([LinePanel(decoder, (0,))], "svg"), "<s>"
    )
