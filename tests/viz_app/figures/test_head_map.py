from typing import Any

import numpy as np
import pytest
import torch

from core.capture import AttentionMap
from viz_app.figures.head_map import head_map
from viz_app.figures.theme import DARK, LIGHT

EVIL = "<b>x</b>"


def test_the_drawing_holds_the_weights_and_a_fixed_scale(make_map: Any) -> None:
    attention = make_map(7, 4)
    heat = head_map(attention, 1, LIGHT).data[0]
    np.testing.assert_array_equal(heat.z, attention.weights[1].numpy())
    assert heat.z.dtype == np.float32
    assert (heat.zmin, heat.zmax) == (0, 1)
    assert head_map(attention, 1, LIGHT, diverging=True).data[0].zmin == -1


def test_words_that_repeat_keep_a_row_and_a_column_each(make_map: Any) -> None:
    layout = head_map(make_map(7, 6), 0, LIGHT).layout
    assert layout.xaxis.tickvals == tuple(range(6))
    assert layout.yaxis.tickvals == tuple(range(7))
    assert layout.xaxis.ticktext.count("the") == 5


def test_decoder_rows_name_what_was_fed_and_what_was_predicted() -> None:
    attention = AttentionMap("cross", 0, torch.ones(1, 2, 1), ("<s>", "\u2581Hund"), ("\u2581dog",), ("\u2581Hund", "</s>"))
    layout = head_map(attention, 0, LIGHT).layout
    assert "Hund" in layout.yaxis2.ticktext[1]
    assert "Hund" in layout.yaxis3.ticktext[0]
    assert layout.yaxis3.side == "right"
    assert [annotation.text for annotation in layout.annotations] == ["fed", "predicts"]
    assert "fed" in layout.yaxis.ticktext[0]
    assert "predicts <b>Hund</b>" in layout.yaxis.ticktext[0]


def test_encoder_rows_have_one_name(make_map: Any) -> None:
    layout = head_map(make_map(5, 5, kind="encoder_self"), 0, LIGHT).layout
    assert "yaxis3" not in layout
    assert not layout.annotations


def test_tokens_are_text_wherever_they_stand(make_map: Any) -> None:
    figure = head_map(make_map(4, 4, token=f"\u2581{EVIL}"), 0, LIGHT)
    assert EVIL not in figure.to_json().replace("\\u003c", "<").replace("\\u003e", ">")
    assert "&lt;b&gt;x&lt;/b&gt;" in figure.layout.xaxis.ticktext
    assert "&lt;/s&gt;" in figure.layout.xaxis2.ticktext[-1]


def test_long_sentences_write_fewer_names_and_hover_them_all(make_map: Any) -> None:
    layout = head_map(make_map(200, 200), 0, DARK, query=101, key=101).layout
    assert len(layout.yaxis2.tickvals) < 100
    assert 101 in layout.yaxis2.tickvals
    assert 101 in layout.xaxis2.tickvals
    assert len(layout.yaxis.ticktext) == len(layout.xaxis.ticktext) == 200


def test_a_long_word_is_cut_beside_the_map() -> None:
    attention = AttentionMap("encoder_self", 0, torch.ones(1, 1, 1), ("\u2581" + "a" * 40,), ("\u2581" + "a" * 40,))
    layout = head_map(attention, 0, LIGHT).layout
    assert layout.xaxis2.ticktext == ("a" * 13 + "\u2026",)
    assert layout.xaxis.ticktext == ("a" * 40,)


def test_the_selected_row_and_column_are_framed(make_map: Any) -> None:
    shapes = head_map(make_map(), 0, LIGHT, query=2, key=1).layout.shapes
    assert [(shape.x0, shape.x1, shape.y0, shape.y1) for shape in shapes[1:]] == [(-0.5, 3.5, 1.5, 2.5), (0.5, 1.5, -0.5, 4.5)]


@pytest.mark.parametrize("head", [3, -1])
def test_a_head_that_is_not_there_is_refused(make_map: Any, head: int) -> None:
    with pytest.raises(ValueError, match=f"layer 1 has 3 heads, there is no head {head + 1}"):
        head_map(make_map(), head, LIGHT)
