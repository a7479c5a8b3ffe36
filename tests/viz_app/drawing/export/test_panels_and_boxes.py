"""Many small maps, switches and tokens as files."""

import re
from typing import Any

import numpy as np
import pytest

from core.analysis.heads.head import Head
from viz_app.drawing.export.ablation import export_changes, export_switches, switches_table
from viz_app.drawing.export.map_panels import export_panels
from viz_app.drawing.export.token_steps import export_steps
from viz_app.drawing.theme import DARK

HEADS = [Head("encoder_self", 0, 0), Head("encoder_self", 0, 1), Head("cross", 1, 0)]


def panels(count: int, size: int = 3) -> list[tuple[str, Any]]:
    values = np.full((size, size), 0.5, dtype=np.float32)
    return [(f"P{index}$x", values) for index in range(count)]


@pytest.mark.parametrize("file_format", ["svg", "png"])
def test_panels_are_drawn_without_a_picture_of_dots(file_format: Any) -> None:
    file = export_panels([panels(2), panels(1)], file_format, DARK, row_names=["L1", "L2"], column_names=["H1", "H2"])
    assert file.startswith({"svg": b"<?xml", "png": b"\x89PNG"}[file_format])
    assert b"<image" not in file


def test_panels_bear_their_names_and_tokens_and_leave_free_what_is_no_number() -> None:
    with_gap = [("here", np.array([[1.0, np.nan], [0.25, 0.75]], dtype=np.float32))]
    drawn = export_panels(
        [panels(2, 2), with_gap], "svg", most=2.0, tokens=(["\u2581red", "\u2581fox"], ["\u2581ran", "</s>"])
    ).decode()
    assert all(f">{text}<" in drawn for text in ("P0$x", "P1$x", "here", "red", "fox", "ran", "&lt;/s&gt;"))
    assert "NaN" not in drawn


def test_long_sentences_are_reduced_and_their_tokens_left_out() -> None:
    drawn = export_panels([panels(1, 200)], "svg", tokens=(["\u2581red"] * 200, ["\u2581red"] * 200))
    assert b">red<" not in drawn
    assert len(drawn) < 100_000


def test_switches_show_what_they_are_set_to_or_what_they_do() -> None:
    gates, effects = {HEADS[1]: 0.0, HEADS[2]: 0.5}, {HEADS[0]: -1.23, HEADS[1]: 4.0}
    drawn = export_switches(HEADS, gates, effects, "svg").decode()
    assert all(f">{text}<" in drawn for text in ("Encoder", "Cross", "L1", "L2", "off", "0.5"))
    assert "1.2" in drawn
    table = switches_table(HEADS, gates, effects)
    assert table["gate"].tolist() == [1.0, 0.0, 0.5]
    assert table["change_when_off"].fillna(9).tolist() == [-1.23, 4.0, 9]


def test_a_long_text_goes_on_in_the_next_line() -> None:
    short, long = (export_changes(["\u2581word"] * count, [0.5] * count, "svg").decode() for count in (3, 40))
    height = [float(re.findall(r'<svg [^>]*height="([0-9.]+)pt"', file)[0]) for file in (short, long)]
    assert height[1] > 2 * height[0]
    assert export_changes(["a"], [0.0], "png").startswith(b"\x89PNG")
    with pytest.raises(ValueError, match="unknown format 'gif'"):
        export_changes(["a"], [0.0], "gif")  # type: ignore[arg-type]


def test_an_unsure_token_is_tinted_and_a_sure_one_is_not() -> None:
    drawn = export_steps(["\u2581dog", "s"], [0.0, -0.6931472], "svg").decode()
    assert all(f">{text}<" in drawn for text in ("dog", "1.00", "0.50"))
    assert drawn.count("fill: #f7e2b2") == 1  # 0.3 of the way from white to #e69f00
